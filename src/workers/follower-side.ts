/**
 * FollowerSide: the half of a broker that follows: rings, then the leaders' files, then one
 * consistent poll by which the leaders learn how far it is.
 */
import type { Clock } from '../clock.ts'
import type { ClusterConfig } from '../config.ts'
import { type BrokerId, type PartitionIndex, brokerId as toBrokerId } from '../ids.ts'
import type { OpenFiles } from '../log/open-files.ts'
import { BatchRing } from './batch-ring.ts'
import type { BrokerTally } from './broker-tally.ts'
import { CatchUp } from './catch-up.ts'
import type { ClusterMemory } from './cluster-memory.ts'
import { ringDoorbell } from './doorbell.ts'
import type { FaultWords } from './fault-words.ts'
import type { FollowedPartitions } from './followed-partitions.ts'
import { LazyBell } from './lazy-bell.ts'
import { LeaderOffsets } from './leader-offsets.ts'
import type { PartitionStore } from './partition-store.ts'
import type { ProgressBoard } from './progress-board.ts'
import { RingPoll, waitingLookMs } from './ring-poll.ts'
import { TokenBucket } from './token-bucket.ts'

export interface FollowerSideParts {
  readonly brokerId: BrokerId
  readonly board: ProgressBoard
  readonly faults: FaultWords
  readonly store: PartitionStore
  readonly tally: BrokerTally
  readonly followed: FollowedPartitions
  readonly rings: ClusterMemory['rings']
  readonly files: OpenFiles
  readonly brokerDirectory: (broker: BrokerId) => string
  readonly config: ClusterConfig
  readonly clock: Clock
  /** Whether this broker is in the committed ISR of a partition, as far as it knows. */
  readonly isInSync: (partition: PartitionIndex) => boolean
}

export class FollowerSide {
  readonly offsets: LeaderOffsets
  readonly catchUp: CatchUp
  readonly #parts: FollowerSideParts
  readonly #polls: RingPoll[]
  readonly #throttle = new TokenBucket()
  readonly #catchUpThrottle = new TokenBucket()
  /** Partitions whose end offset the leader must be told apart from the ring. */
  readonly #reports = new Set<PartitionIndex>()
  readonly #leadersBell = new LazyBell()
  #bytes = 0
  /** Tells the leader the end offset of a partition, when it is not the ring that does. */
  readonly report = (partition: PartitionIndex): void => {
    this.#reports.add(partition)
  }

  constructor(parts: FollowerSideParts) {
    this.#parts = parts
    const { brokerId, rings } = parts
    this.offsets = new LeaderOffsets(parts)
    const { offsets, report } = this
    this.#polls = rings.flatMap((buffers, row) => {
      const leader = toBrokerId(row + 1)
      if (leader === brokerId) return []
      return [new RingPoll({ ...parts, leader, offsets, report, ring: new BatchRing(buffers) })]
    })
    this.catchUp = new CatchUp({ ...parts, offsets, stopwatchMs: () => performance.now() })
  }

  /**
   * @param readsDisk whether leaders' files may be read: not while partitions change hands
   * @returns how much was done
   */
  step(nowMs: number, readsDisk: boolean): number {
    const { board, brokerId, clock } = this.#parts
    this.#throttle.setRate(board.throttleBytesPerSec(brokerId), nowMs)
    const isOpen = this.#throttle.isOpen(nowMs)
    this.catchUp.release(nowMs)
    this.offsets.step(nowMs)
    let work = isOpen ? this.#pollRings(nowMs) : 0
    if (isOpen && readsDisk) work += this.#readDisk(nowMs)
    board.beginPoll(brokerId)
    for (const poll of this.#polls) poll.report()
    work += this.#sendReports()
    board.endPoll(brokerId, clock.nowMs())
    for (const poll of this.#polls) poll.release()
    if (work > 0) this.#leadersBell.note(this.#bytes, nowMs)
    this.#bytes = 0
    return work
  }

  /** Wakes the leaders whom the last steps have brought something, now or when more has come. */
  ring(nowMs: number, isIdle: boolean): void {
    if (!this.#leadersBell.take(nowMs, isIdle)) return
    const { board, followed } = this.#parts
    for (const poll of this.#polls) {
      if (followed.byLeader[poll.leader]!.size === 0) continue
      ringDoorbell(board.words, board.doorbellBase(poll.leader))
    }
  }

  /** How long a follower with nothing to do may wait until it polls again. */
  idleMs(nowMs: number): number {
    const { config } = this.#parts
    let pollMs = Math.min(
      config['replica.fetch.wait.max.ms'],
      config['replica.lag.time.max.ms'] / 8,
    )
    if (this.catchUp.hasWork) return 1
    for (const poll of this.#polls) {
      if (poll.isWaiting(nowMs)) pollMs = Math.min(pollMs, waitingLookMs)
    }
    return Math.min(pollMs, this.catchUp.dueAtMs - nowMs, this.offsets.dueAtMs - nowMs)
  }

  /** A new incarnation: leaders count only what is told under its epoch. */
  reportAll(): void {
    const { followed, store } = this.#parts
    for (const [partition] of store.all()) {
      if (followed.isFollowing(partition)) this.#reports.add(partition)
    }
  }

  #pollRings(nowMs: number): number {
    let work = 0
    for (const poll of this.#polls) {
      const bytes = poll.read(nowMs)
      if (bytes < 0) continue
      this.#throttle.pay(bytes)
      this.#bytes += bytes
      work++
    }
    return work
  }

  /**
   * Partitions that lack little share a step: each step is a poll, after which leaders look, wake
   * up, propose.
   */
  #readDisk(nowMs: number): number {
    const { board, brokerId, config } = this.#parts
    if (!this.catchUp.hasWork) return 0
    this.#catchUpThrottle.setRate(board.catchUpBytesPerSec(brokerId), nowMs)
    let work = 0
    let readBytes = 0
    let bytes = 0
    do {
      bytes = this.#readOne(nowMs)
      if (bytes === 0) break
      work++
      readBytes += bytes
      // The next is likely to be as large.
    } while (readBytes + bytes <= config['catch.up.read.bytes'] && this.#throttle.isOpen(nowMs))
    return work
  }

  #readOne(nowMs: number): number {
    const isLimited = !this.#catchUpThrottle.isOpen(nowMs)
    const bytes = this.catchUp.step(nowMs, isLimited, this.report)
    if (!isLimited) this.#catchUpThrottle.pay(bytes)
    this.#throttle.pay(bytes)
    return bytes
  }

  #sendReports(): number {
    if (this.#reports.size === 0) return 0
    const { board, brokerId, followed, store } = this.#parts
    let sent = 0
    for (const partition of this.#reports) {
      const leader = followed.leader[partition]! as BrokerId
      if (followed.isFollowing(partition)) {
        const { logEndOffset } = store.log(partition)
        if (!board.tryReport(leader, brokerId, partition, logEndOffset)) continue
      }
      this.#reports.delete(partition)
      sent++
    }
    return sent
  }
}
