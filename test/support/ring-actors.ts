/** Producers, leader and follower of one BatchRing; every byte of a batch tells whose it is. */
import { limits } from '../../src/limits.ts'
import {
  allocateBatchRing,
  BatchRing,
  type BatchRingBuffers,
  type Claim,
  frame,
  unitsBetween,
} from '../../src/workers/batch-ring.ts'

const tailWord = 0
const limitWord = 16
const publishedWord = 32

/** A fresh ring of the smallest size whose positions begin at `start` (any unit). */
export function ringAt(start: number): BatchRingBuffers {
  const buffers = allocateBatchRing(limits.ringBytesMin)
  const control = new Int32Array(buffers.control)
  for (const word of [tailWord, limitWord, publishedWord]) control[word] = start
  return buffers
}

/** Units whose state is not that of free space. */
export function unitsInUse(ring: BatchRing): number {
  let count = 0
  for (let unit = 0; unit < ring.capacityUnits; unit++) if (ring.stateAt(unit) !== 0) count++
  return count
}

export class RingProducerActor {
  readonly ring: BatchRing
  readonly slot: number
  readonly claim: Claim = { position: 0, units: 0 }
  id = 0
  bytes = 0
  holds = false

  constructor(buffers: BatchRingBuffers, slot: number) {
    this.ring = new BatchRing(buffers)
    this.slot = slot
  }

  tryClaim(id: number, bytes: number): boolean {
    this.id = id
    this.bytes = bytes
    this.holds = this.ring.tryClaim(this.slot, bytes, this.claim)
    return this.holds
  }

  commit(): void {
    const { ring, claim, id, bytes } = this
    const header = ring.headerIndex(claim.position)
    ring.headers[header + frame.partition] = id
    ring.headers[header + frame.batchBytes] = bytes
    const at = ring.batchPosition(claim.position)
    ring.memory.bytes.fill(byteOf(id), at, at + bytes)
    ring.commit(this.slot, claim)
    this.holds = false
  }

  abort(): void {
    this.ring.abort(this.slot, this.claim)
    this.holds = false
  }
}

/** Small numbers: read as states they would be frames of few units. */
function byteOf(id: number): number {
  return 1 + (id % 7)
}

export class RingReaderActor {
  readonly ring: BatchRing
  readonly ids: number[] = []
  position: number

  constructor(buffers: BatchRingBuffers) {
    this.ring = new BatchRing(buffers)
    this.position = this.ring.published
  }

  /** Leader: takes at most `count` committed frames and publishes them. */
  take(count: number): number {
    let taken = 0
    while (taken < count) {
      const units = this.ring.stateAt(this.position)
      if (units === 0) break
      this.#visit(units)
      taken++
    }
    this.ring.publish(this.position)
    return taken
  }

  /** Follower: reads at most `count` published frames. */
  read(count: number): number {
    let read = 0
    while (read < count && unitsBetween(this.position, this.ring.published) > 0) {
      this.#visit(this.ring.stateAt(this.position))
      read++
    }
    return read
  }

  #visit(units: number): void {
    const { ring, position } = this
    if (units === 0) throw new Error(`no frame at ${position}`)
    if (units > 0) {
      const header = ring.headerIndex(position)
      const id = ring.headers[header + frame.partition]!
      const bytes = ring.headers[header + frame.batchBytes]!
      if (units !== 1 + Math.ceil(bytes / 64)) throw new Error(`frame ${id} of ${units} units`)
      const at = ring.batchPosition(position)
      if (at + bytes > ring.memory.bytes.length) throw new Error(`frame ${id} leaves the ring`)
      const batch = Buffer.from(ring.memory.bytes.buffer, at, bytes)
      const foreign = batch.equals(Buffer.alloc(bytes, byteOf(id)))
        ? -1
        : batch.findIndex((b) => b !== byteOf(id))
      if (foreign >= 0) throw new Error(`batch ${id} is overwritten at byte ${foreign}`)
      this.ids.push(id)
    }
    this.position = (position + Math.abs(units)) | 0
  }
}
