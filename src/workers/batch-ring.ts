/**
 * BatchRing: the shared memory between the producers of one broker, its leader thread and the
 * follower threads. A batch is encoded into it once; leader and followers write it to their files
 * from there.
 *
 * Space is counted in units of 64 bytes. A frame is one header unit and the batch behind it:
 *
 *   data   │ header (64 B) │ RecordBatch v2 … │ pad to 64 │ header │ …
 *   states │ units         │ 0 0 0 0 0 0 0 0 0 0          │ units  │ …      one Int32 a unit, apart
 *
 * The state word of a frame's first unit is 0 until its producer commits it, then the frame's
 * length in units, or minus that for padding. Free space has only zero states: the leader clears
 * them as it gives space back, so no byte that a user wrote can ever be taken for a frame.
 * Positions are units counted from the ring's start without end, modulo 2^32.
 *
 *   word        writer            meaning
 *   tail        producers (CAS)   end of what is claimed
 *   limit       leader            start of what is in use; tail - limit stays below the capacity
 *   published   leader            end of what followers may read: stamped and in the leader's log
 *   closed      supervisor        1 while the broker has no thread: claims are refused
 *   era         supervisor        counts resets; what an older era left outstanding has no answer
 *   intent      that producer     position and length it is about to claim, length 0: no claim
 *
 * Claim, fill, commit is Aeron's way (BufferClaim): readers stop at the first frame without a
 * state.
 */
import { invariant } from '../invariant.ts'
import { limits } from '../limits.ts'
import type { BatchMemory } from '../log/batch-memory.ts'
import { batchMemory } from '../log/batch-memory.ts'
import { cacheLineWords } from './shared-words.ts'

export const ringUnitBytes = 64

const tailWord = 0
const limitWord = cacheLineWords
const publishedWord = 2 * cacheLineWords
const closedWord = 3 * cacheLineWords
const eraWord = 3 * cacheLineWords + 1
const intentBase = 4 * cacheLineWords
/** Word of an intent that says that its producer's thread has ended. */
const intentDead = 2
const controlWords = intentBase + limits.producersMax * cacheLineWords

/** Words of a frame's header, Int32 in the machine's byte order. */
export const frame = {
  /** Written by the producer before it commits. */
  partition: 0,
  batchBytes: 1,
  producerSlot: 2,
  ticket: 3,
  acks: 4,
  timeoutMs: 5,
  /** Written by the leader before it publishes. */
  status: 6,
  leaderEpoch: 7,
  baseOffset: 8,
  endOffset: 11,
} as const

export const frameAccepted = 0
export const frameRejected = 1

export interface BatchRingBuffers {
  readonly data: SharedArrayBuffer
  readonly control: SharedArrayBuffer
}

/**
 * @param dataBytes size of the ring, a power of two within `limits.ringBytesMin` and
 *   `limits.ringBytesMax`
 */
export function allocateBatchRing(dataBytes: number): BatchRingBuffers {
  invariant(Number.isInteger(Math.log2(dataBytes)), 'ring size is a power of two')
  invariant(
    dataBytes >= limits.ringBytesMin && dataBytes <= limits.ringBytesMax,
    'ring size is within its limits',
  )
  return {
    data: new SharedArrayBuffer(dataBytes),
    control: new SharedArrayBuffer((controlWords + dataBytes / ringUnitBytes) * 4),
  }
}

/**
 * One thread's view of a ring. Which methods it may call follows from its role; see the table
 * above.
 */
export class BatchRing {
  readonly memory: BatchMemory
  readonly headers: Int32Array
  readonly capacityUnits: number
  readonly #control: Int32Array
  readonly #states: Int32Array
  readonly #mask: number

  constructor(buffers: BatchRingBuffers) {
    this.memory = batchMemory(buffers.data)
    this.headers = new Int32Array(buffers.data)
    this.capacityUnits = buffers.data.byteLength / ringUnitBytes
    this.#mask = this.capacityUnits - 1
    this.#control = new Int32Array(buffers.control, 0, controlWords)
    this.#states = new Int32Array(buffers.control, controlWords * 4, this.capacityUnits)
  }

  get tail(): number {
    return Atomics.load(this.#control, tailWord)
  }

  get limit(): number {
    return Atomics.load(this.#control, limitWord)
  }

  get published(): number {
    return Atomics.load(this.#control, publishedWord)
  }

  get closed(): boolean {
    return Atomics.load(this.#control, closedWord) !== 0
  }

  get era(): number {
    return Atomics.load(this.#control, eraWord)
  }

  /** Largest batch that may be claimed. */
  get batchBytesMax(): number {
    return (Math.floor(this.capacityUnits * limits.ringClaimShareMax) - 1) * ringUnitBytes
  }

  /** Byte place of the batch of the frame at `position`. */
  batchPosition(position: number): number {
    return ((position & this.#mask) + 1) * ringUnitBytes
  }

  /** Index of header word 0 of the frame at `position` in `headers`. */
  headerIndex(position: number): number {
    return (position & this.#mask) * (ringUnitBytes / 4)
  }

  // ── producers ────────────────────────────────────────────────────────────────────────────────

  /**
   * Reserves room for a batch of at most `batchBytes`. Lock-free among producers.
   *
   * @returns false: back-pressured or closed, nothing changed
   */
  tryClaim(producerSlot: number, batchBytes: number, claim: Claim): boolean {
    const units = 1 + Math.ceil(batchBytes / ringUnitBytes)
    invariant(batchBytes <= this.batchBytesMax, 'claim within the share of a ring')
    const intent = intentBase + producerSlot * cacheLineWords
    for (;;) {
      const tail = Atomics.load(this.#control, tailWord)
      const roomToEnd = this.capacityUnits - (tail & this.#mask)
      const padding = roomToEnd < units ? roomToEnd : 0
      const total = padding + units
      // One unit stays free: the leader stops at the tail because its state is that of free space.
      if (((tail + total - Atomics.load(this.#control, limitWord)) | 0) >= this.capacityUnits) {
        Atomics.store(this.#control, intent + 1, 0)
        return false
      }
      Atomics.store(this.#control, intent, tail)
      Atomics.store(this.#control, intent + 1, total)
      // After the intent is visible: whoever closes the ring and sees no intent knows nobody will
      // claim.
      if (Atomics.load(this.#control, closedWord) !== 0) {
        Atomics.store(this.#control, intent + 1, 0)
        return false
      }
      const end = (tail + total) | 0
      if (Atomics.compareExchange(this.#control, tailWord, tail, end) !== tail) continue
      if (padding > 0) Atomics.store(this.#states, tail & this.#mask, -padding)
      claim.position = (tail + padding) | 0
      claim.units = units
      return true
    }
  }

  /** Makes the filled claim visible to the leader. Header words must have been written. */
  commit(producerSlot: number, claim: Claim): void {
    Atomics.store(this.#states, claim.position & this.#mask, claim.units)
    Atomics.store(this.#control, intentBase + producerSlot * cacheLineWords + 1, 0)
  }

  /** Gives a claim back as padding: its space passes through the ring unread. */
  abort(producerSlot: number, claim: Claim): void {
    Atomics.store(this.#states, claim.position & this.#mask, -claim.units)
    Atomics.store(this.#control, intentBase + producerSlot * cacheLineWords + 1, 0)
  }

  /**
   * Turns what a dead producer had claimed and not committed into padding. Callable only when
   * its thread has ended, and again until `needsRepair` says no: a living producer that names
   * the same place must have moved on first, and other dead ones must be known as such.
   *
   * Its intent names a range that it may or may not have won. A place without a state between
   * limit and tail belongs to one of those who name it. Among dead ones it is the shortest whose
   * end is the end of a claim, for no other end ever was the tail.
   *
   * @returns whether padding was written
   */
  repairAfterDeath(producerSlot: number): boolean {
    const intent = intentBase + producerSlot * cacheLineWords
    Atomics.store(this.#control, intent + intentDead, 1)
    if (Atomics.load(this.#control, intent + 1) === 0) return this.#settleDead(producerSlot)
    const hole = this.#holeOf(producerSlot)
    const isWon =
      this.stateAt(hole) === 0 &&
      unitsBetween(this.limit, hole) >= 0 &&
      unitsBetween(hole, this.tail) > 0
    if (!isWon) return this.#settleDead(producerSlot)
    let units = 0
    for (let slot = 0; slot < limits.producersMax; slot++) {
      const other = intentBase + slot * cacheLineWords
      if (Atomics.load(this.#control, other + 1) === 0 || this.#holeOf(slot) !== hole) continue
      if (Atomics.load(this.#control, other + intentDead) === 0) return false
      const end = this.#intentEnd(slot)
      const length = unitsBetween(hole, end)
      if (this.#isClaimEnd(end) && (units === 0 || length < units)) units = length
    }
    invariant(units > 0, 'a claim has an end')
    this.#writePadding(hole, units)
    return !this.#settleDead(producerSlot)
  }

  /** Whether `repairAfterDeath` of a dead producer must be called again. */
  needsRepair(producerSlot: number): boolean {
    return Atomics.load(this.#control, intentBase + producerSlot * cacheLineWords + 1) !== 0
  }

  #settleDead(producerSlot: number): false {
    const intent = intentBase + producerSlot * cacheLineWords
    Atomics.store(this.#control, intent + 1, 0)
    Atomics.store(this.#control, intent + intentDead, 0)
    return false
  }

  #intentEnd(slot: number): number {
    const intent = intentBase + slot * cacheLineWords
    return (Atomics.load(this.#control, intent) + Atomics.load(this.#control, intent + 1)) | 0
  }

  /** Where a producer's claim would have no state: behind its padding, if that is written. */
  #holeOf(slot: number): number {
    const intent = intentBase + slot * cacheLineWords
    const start = Atomics.load(this.#control, intent)
    const units = Atomics.load(this.#control, intent + 1)
    const padding = this.capacityUnits - (start & this.#mask)
    const isPadded = padding < units && this.stateAt(start) === -padding
    return isPadded ? (start + padding) | 0 : start
  }

  /** An end of a claim is the tail, has a state, or is named as the start of another claim. */
  #isClaimEnd(position: number): boolean {
    if (position === this.tail || this.stateAt(position) !== 0) return true
    for (let slot = 0; slot < limits.producersMax; slot++) {
      const intent = intentBase + slot * cacheLineWords
      if (Atomics.load(this.#control, intent + 1) === 0) continue
      if (Atomics.load(this.#control, intent) === position) return true
    }
    return false
  }

  /** The later part first: the leader goes on as soon as it sees the earlier. */
  #writePadding(position: number, units: number): void {
    const roomToEnd = this.capacityUnits - (position & this.#mask)
    if (roomToEnd < units) Atomics.store(this.#states, 0, roomToEnd - units)
    Atomics.store(this.#states, position & this.#mask, -Math.min(units, roomToEnd))
  }

  // ── leader and followers ─────────────────────────────────────────────────────────────────────

  /** Length in units of the frame at `position`: 0 not committed yet, negative for padding. */
  stateAt(position: number): number {
    return Atomics.load(this.#states, position & this.#mask)
  }

  /** Leader: lets followers read up to `position`. */
  publish(position: number): void {
    Atomics.store(this.#control, publishedWord, position)
  }

  /** Leader: gives everything before `position` back to the producers. `position` ends a frame. */
  reclaim(position: number): void {
    let at = Atomics.load(this.#control, limitWord)
    if (at === position) return
    while (at !== position) {
      const index = at & this.#mask
      const units = Math.abs(this.#states[index]!)
      invariant(units > 0, 'reclaim walks committed frames')
      // Nobody looks before the limit says that the space is free.
      this.#states[index] = 0
      at = (at + units) | 0
    }
    Atomics.store(this.#control, limitWord, position)
  }

  // ── supervisor, while the leader's thread is dead ────────────────────────────────────────────

  /**
   * Refuses claims from now on; those already held are still committed or aborted by their
   * producers.
   */
  close(): void {
    Atomics.store(this.#control, closedWord, 1)
  }

  /** Whether some producer still holds a claim, or may. */
  isClaimed(): boolean {
    for (let slot = 0; slot < limits.producersMax; slot++) {
      if (Atomics.load(this.#control, intentBase + slot * cacheLineWords + 1) !== 0) return true
    }
    return false
  }

  /**
   * The leader's thread has ended and can answer nothing more: producers learn from the era that
   * what they have outstanding is lost, now and not when the broker comes back.
   */
  endEra(): void {
    invariant(this.closed, 'an era ends when the ring is closed')
    Atomics.add(this.#control, eraWord, 1)
  }

  /**
   * Forgets everything in a closed ring that nobody holds a claim in, begins a new era and takes
   * claims again. Producers learn from the era that what they had outstanding will not be answered.
   */
  reopen(): void {
    invariant(this.closed && !this.isClaimed(), 'a ring is reset when closed and without claims')
    this.#states.fill(0)
    const position = this.tail
    Atomics.store(this.#control, publishedWord, position)
    Atomics.store(this.#control, limitWord, position)
    Atomics.add(this.#control, eraWord, 1)
    Atomics.store(this.#control, closedWord, 0)
  }
}

/** Reused result of `tryClaim`. */
export interface Claim {
  position: number
  units: number
}

/** Distance from `from` to `to` in units; both wrap at 2^32. */
export function unitsBetween(from: number, to: number): number {
  return (to - from) | 0
}
