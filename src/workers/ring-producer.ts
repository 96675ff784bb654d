/**
 * RingProducer: one thread's door to all leaders. It claims room in a leader's ring, lets the
 * caller encode straight into it, commits, and hands back acknowledgements. It knows no topics and
 * no promises: those are its callers' (the application's producer, the load generator).
 */
import { errorNumber } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { brokerId } from '../ids.ts'
import { invariant } from '../invariant.ts'
import { limits } from '../limits.ts'
import type { BatchMemory } from '../log/batch-memory.ts'
import { AckRing } from './ack-ring.ts'
import { BatchRing, type Claim, frame } from './batch-ring.ts'
import type { ClusterMemory } from './cluster-memory.ts'
import { Doorbell, ringDoorbell } from './doorbell.ts'
import { ProgressBoard } from './progress-board.ts'

/** What `tryClaim` says. Back pressure is a return value with a name, not an exception. */
export type ClaimResult =
  | 'claimed'
  | 'backPressured'
  | 'tooManyOutstanding'
  | 'leaderUnknown'
  | 'leaderNotAvailable'

export type AckVisitor = (ticket: number, errorNumber: number, baseOffset: number) => void

/** What is outstanding at one broker. */
interface Outstanding {
  readonly ring: BatchRing
  readonly acks: AckRing
  count: number
  era: number
}

const networkException = errorNumber('NETWORK_EXCEPTION')

export class RingProducer {
  readonly slot: number
  readonly doorbell: Doorbell
  readonly #board: ProgressBoard
  readonly #leaders: Outstanding[]
  /** Leader of an outstanding ticket, by `ticket & mask`; 0: none. */
  readonly #ticketLeader: Uint8Array
  readonly #ticketAt: Int32Array
  readonly #mask: number
  readonly #claim: Claim = { position: 0, units: 0 }
  #claimLeader = 0
  #nextTicket = 0

  /** @param slot this thread's number among the clients, used by nobody else */
  constructor(memory: ClusterMemory, slot: number) {
    invariant(slot >= 0 && slot < limits.producersMax, 'producer slot is within its limit')
    this.slot = slot
    this.#board = new ProgressBoard(memory.board)
    this.doorbell = new Doorbell(this.#board.words, this.#board.clientDoorbellBase(slot))
    this.#leaders = memory.rings.map((buffers, row) => {
      const ring = new BatchRing(buffers)
      return { ring, acks: new AckRing(memory.acks, slot, row), count: 0, era: ring.era }
    })
    const tickets = memory.acks.capacity * 2 ** Math.ceil(Math.log2(memory.acks.brokers))
    this.#ticketLeader = new Uint8Array(tickets)
    this.#ticketAt = new Int32Array(tickets)
    this.#mask = tickets - 1
  }

  get outstanding(): number {
    let count = 0
    for (const leader of this.#leaders) count += leader.count
    return count
  }

  leaderOf(partition: PartitionIndex): BrokerId {
    return this.#board.leader(partition)
  }

  /** Largest batch a claim may hold. */
  get batchBytesMax(): number {
    return this.#leaders[0]!.ring.batchBytesMax
  }

  /**
   * Reserves room for a batch of at most `batchBytes` in the ring of the partition's leader. On
   * `claimed` encode at `claimMemory`, `claimPosition` and call `commit` or `abort` before anything
   * else.
   */
  tryClaim(partition: PartitionIndex, batchBytes: number): ClaimResult {
    const leader = this.#board.leader(partition)
    if (leader < 1) return 'leaderUnknown'
    const at = this.#leaders[leader - 1]!
    // The ticket's place must be free too: an older one may still wait for a slow leader.
    const place = this.#nextTicket & this.#mask
    if (at.count >= at.acks.capacity || this.#ticketLeader[place] !== 0) return 'tooManyOutstanding'
    if (!at.ring.tryClaim(this.slot, batchBytes, this.#claim)) {
      return at.ring.closed ? 'leaderNotAvailable' : 'backPressured'
    }
    this.#claimLeader = leader
    // While the claim is held the ring cannot be reset, so this era is the claim's.
    if (at.ring.era !== at.era) {
      if (at.count > 0) {
        at.ring.abort(this.slot, this.#claim)
        return 'leaderNotAvailable'
      }
      at.era = at.ring.era
    }
    return 'claimed'
  }

  get claimMemory(): BatchMemory {
    return this.#leaders[this.#claimLeader - 1]!.ring.memory
  }

  get claimPosition(): number {
    return this.#leaders[this.#claimLeader - 1]!.ring.batchPosition(this.#claim.position)
  }

  /**
   * Hands the claimed batch to the leader and wakes it.
   *
   * @param acks -1 (all), 0 or 1; with 0 no acknowledgement will come
   * @returns ticket by which its acknowledgement is known
   */
  commit(partition: PartitionIndex, batchBytes: number, acks: number, timeoutMs: number): number {
    const leader = this.#claimLeader
    const at = this.#leaders[leader - 1]!
    const { headers } = at.ring
    const header = at.ring.headerIndex(this.#claim.position)
    const ticket = this.#nextTicket
    this.#nextTicket = (this.#nextTicket + 1) | 0
    headers[header + frame.partition] = partition
    headers[header + frame.batchBytes] = batchBytes
    headers[header + frame.producerSlot] = this.slot
    headers[header + frame.ticket] = ticket
    headers[header + frame.acks] = acks
    headers[header + frame.timeoutMs] = timeoutMs
    if (acks !== 0) {
      this.#ticketLeader[ticket & this.#mask] = leader
      this.#ticketAt[ticket & this.#mask] = ticket
      at.count++
    }
    at.ring.commit(this.slot, this.#claim)
    ringDoorbell(this.#board.words, this.#board.doorbellBase(leader as BrokerId))
    return ticket
  }

  abort(): void {
    this.#leaders[this.#claimLeader - 1]!.ring.abort(this.slot, this.#claim)
  }

  /**
   * Visits the acknowledgements that have come. Those that cannot come any more, because the
   * leader's thread died, are visited with NETWORK_EXCEPTION: the batch may or may not be in the
   * log.
   */
  poll(visit: AckVisitor): number {
    let count = 0
    for (let row = 0; row < this.#leaders.length; row++) {
      const at = this.#leaders[row]!
      // Before the drain: an era seen now began after all acknowledgements of the one before.
      const { era } = at.ring
      if (at.count > 0) {
        count += at.acks.drain((ticket, error, baseOffset) => {
          this.#forget(ticket, at)
          visit(ticket, error, baseOffset)
        })
      }
      if (era !== at.era) {
        at.era = era
        count += this.#failOutstanding(brokerId(row + 1), at, visit)
      }
    }
    return count
  }

  #forget(ticket: number, at: Outstanding): void {
    const place = ticket & this.#mask
    invariant(
      this.#ticketLeader[place] !== 0 && this.#ticketAt[place] === ticket,
      () => `acknowledgement of ticket ${ticket} is expected`,
    )
    this.#ticketLeader[place] = 0
    at.count--
  }

  #failOutstanding(leader: BrokerId, at: Outstanding, visit: AckVisitor): number {
    const failed: number[] = []
    for (let place = 0; place <= this.#mask && at.count > 0; place++) {
      if (this.#ticketLeader[place] !== leader) continue
      const ticket = this.#ticketAt[place]!
      this.#forget(ticket, at)
      failed.push(ticket)
    }
    for (const ticket of failed) visit(ticket, networkException, -1)
    return failed.length
  }
}
