/**
 * RingFollowers: the leader's view of who reads its ring. It turns followers' polls into the
 * fetches that the replication rules know, gives ring space back, attaches and detaches.
 *
 * Back-pressure is for the busy, detaching for the stuck: a follower that makes progress is waited
 * for, within a bound; one that stands still, or keeps most of the ring busy for too long, is
 * detached and reads the leader's files instead. So a frozen follower costs the leader a bounded
 * piece of the ring for a bounded time, and nothing after that.
 */
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { brokerId } from '../ids.ts'
import type { PartitionLeaders } from '../replication/partition-leaders.ts'
import { type BatchRing, frame, frameAccepted, unitsBetween } from './batch-ring.ts'
import type { BrokerTally } from './broker-tally.ts'
import { ringDoorbell } from './doorbell.ts'
import { cut, type FaultWords } from './fault-words.ts'
import { type ProgressBoard, readerState } from './progress-board.ts'
import { loadSettled } from './shared-words.ts'

/** Reads of one poll's words before the leader gives up until its next step. */
const snapshotTriesMax = 4
/** A ring this full detaches whoever stands still, long before the usual time. */
const urgentShare = 0.85
const urgentStuckMs = 30
const urgentSlowMs = 100

export interface RingFollowersParts {
  readonly brokerId: BrokerId
  readonly board: ProgressBoard
  readonly faults: FaultWords
  readonly ring: BatchRing
  readonly leaders: PartitionLeaders
  readonly tally: BrokerTally
  readonly config: {
    readonly 'ring.detach.stuck.ms': number
    readonly 'ring.detach.slow.ms': number
  }
}

/** What the leader keeps of one follower. */
interface FollowerView {
  readonly id: BrokerId
  /** Frames before this have been counted; only while attached. */
  walked: number
  pollSequence: number
  progressAtMs: number
  /** Since when it has kept more than half of the ring; 0: it does not. */
  slowSinceMs: number
}

export class RingFollowers {
  readonly #parts: RingFollowersParts
  readonly #followers: FollowerView[]
  readonly #visitReport: (partition: PartitionIndex, logEndOffset: number) => void
  #reporter: BrokerId
  /**
   * Furthest end offset taken in within one poll: ring and reports may tell of one partition both.
   */
  readonly #furthest: Float64Array
  readonly #furthestPoll: Int32Array
  #poll = 0
  /** Partitions whose frames were passed in one poll, each once, and the furthest of those ends. */
  readonly #passed: Int32Array
  #passedCount = 0
  readonly #passedPoll: Int32Array
  readonly #passedEndOffset: Float64Array
  /** What the follower's own word said when the first of them was met. */
  readonly #reachedEndOffset: Float64Array

  constructor(parts: RingFollowersParts) {
    this.#parts = parts
    this.#reporter = parts.brokerId
    const { partitionsMax } = parts.board.shape
    this.#furthest = new Float64Array(partitionsMax)
    this.#furthestPoll = new Int32Array(partitionsMax)
    this.#passed = new Int32Array(partitionsMax)
    this.#passedPoll = new Int32Array(partitionsMax)
    this.#passedEndOffset = new Float64Array(partitionsMax)
    this.#reachedEndOffset = new Float64Array(partitionsMax)
    this.#followers = []
    for (let id = 1; id <= parts.board.shape.brokers; id++) {
      if (id === parts.brokerId) continue
      this.#followers.push({
        id: brokerId(id),
        walked: 0,
        pollSequence: -1,
        progressAtMs: 0,
        slowSinceMs: 0,
      })
    }
    // A report may be of a life that has lost its end since; what the follower has now counts.
    this.#visitReport = (partition, reported) => {
      const now = parts.board.logEndOffset(this.#reporter, partition)
      this.#fetched(partition, Math.min(reported, now))
    }
  }

  /** Takes in all polls since the last call. @returns frames and reports counted */
  observe(nowMs: number): number {
    const { faults, brokerId: me } = this.#parts
    let work = 0
    for (const follower of this.#followers) {
      if ((faults.fetchCut(me, follower.id) & cut.requests) !== 0) continue
      work += this.#attachOnRequest(follower, nowMs)
      work += this.#observeOne(follower, nowMs)
    }
    return work
  }

  #attachOnRequest(follower: FollowerView, nowMs: number): number {
    const { board, brokerId: me, ring, tally } = this.#parts
    if (board.readerState(me, follower.id) !== readerState.attachRequested) return 0
    const { published } = ring
    board.setCursor(me, follower.id, published)
    follower.walked = published
    follower.progressAtMs = nowMs
    follower.slowSinceMs = 0
    board.moveReader(me, follower.id, readerState.attachRequested, readerState.idle)
    tally.add('attaches', 1)
    ringDoorbell(board.words, board.doorbellBase(follower.id))
    return 1
  }

  #observeOne(follower: FollowerView, nowMs: number): number {
    const { board, brokerId: me, leaders } = this.#parts
    for (let tries = 0; tries < snapshotTriesMax; tries++) {
      const sequence = board.pollSequence(follower.id)
      if (sequence === follower.pollSequence) return 0
      if ((sequence & 1) === 1) continue
      const attached = this.#isAttached(follower)
      const cursor = attached ? board.cursor(me, follower.id) : follower.walked
      const reports = board.reportsTail(me, follower.id)
      const pollTimeMs = board.pollTimeMs(follower.id)
      if (board.pollSequence(follower.id) !== sequence) continue
      follower.pollSequence = sequence
      follower.progressAtMs = nowMs
      this.#reporter = follower.id
      this.#poll = (this.#poll + 1) | 0
      const epoch = board.brokerEpoch(follower.id)
      const isCurrent = leaders.beginFetch(follower.id, epoch, Math.min(pollTimeMs, nowMs))
      let work = attached ? this.#walk(follower, cursor, isCurrent) : 0
      work += board.drainReports(
        me,
        follower.id,
        reports,
        isCurrent ? this.#visitReport : ignoreReport,
      )
      if (isCurrent) leaders.endFetch()
      return work
    }
    return 0
  }

  #isAttached(follower: FollowerView): boolean {
    const state = this.#parts.board.readerState(this.#parts.brokerId, follower.id)
    return state === readerState.idle || state === readerState.reading
  }

  /**
   * Counts the frames between the follower's last cursor and its new one; O(1) each. A poll has one
   * offset a partition, that of the last frame, however many passed.
   */
  #walk(follower: FollowerView, cursor: number, isCurrent: boolean): number {
    const { ring } = this.#parts
    const { headers } = ring
    let position = follower.walked
    let frames = 0
    this.#passedCount = 0
    while (unitsBetween(position, cursor) > 0) {
      const units = ring.stateAt(position)
      const header = ring.headerIndex(position)
      if (units > 0 && isCurrent && headers[header + frame.status] === frameAccepted) {
        this.#pass(follower.id, header)
      }
      position = (position + Math.abs(units)) | 0
      frames++
    }
    follower.walked = position
    for (let at = 0; at < this.#passedCount; at++) {
      const partition = this.#passed[at]! as PartitionIndex
      const endOffset = this.#passedEndOffset[partition]!
      if (endOffset >= 0) this.#fetched(partition, endOffset)
    }
    return frames
  }

  /**
   * The cursor passed the frame; only the follower's own word says that the batch is in its log.
   */
  #pass(follower: BrokerId, header: number): void {
    const { ring, board, leaders } = this.#parts
    const { headers } = ring
    const partition = headers[header + frame.partition]! as PartitionIndex
    if (this.#passedPoll[partition] !== this.#poll) {
      this.#passedPoll[partition] = this.#poll
      this.#passed[this.#passedCount++] = partition
      this.#passedEndOffset[partition] = -1
      this.#reachedEndOffset[partition] = board.logEndOffset(follower, partition)
    }
    const endOffset = loadSettled(headers, header + frame.endOffset)
    if (endOffset > this.#reachedEndOffset[partition]!) return
    if (headers[header + frame.leaderEpoch] !== leaders.leaderEpoch(partition)) return
    this.#passedEndOffset[partition] = endOffset
  }

  #fetched(partition: PartitionIndex, logEndOffset: number): void {
    const { board, leaders } = this.#parts
    if (!leaders.isLeader(partition)) return
    // Not reconciled with this leader yet: its end offset is a place in another history.
    if (board.followedEpoch(this.#reporter, partition) !== leaders.leaderEpoch(partition)) return
    const isLater = this.#furthestPoll[partition] === this.#poll
    if (isLater && logEndOffset <= this.#furthest[partition]) return
    this.#furthestPoll[partition] = this.#poll
    this.#furthest[partition] = logEndOffset
    leaders.fetched(partition, logEndOffset)
  }

  /** Gives back what every attached follower has passed. */
  reclaim(): void {
    const { ring } = this.#parts
    const { published } = ring
    let end = published
    for (const follower of this.#followers) {
      if (!this.#isAttached(follower)) continue
      if (unitsBetween(follower.walked, end) > 0) end = follower.walked
    }
    ring.reclaim(end)
  }

  /** Detaches who is stuck or too slow; see the top. @returns how many */
  detach(nowMs: number): number {
    const { ring, board, brokerId: me, tally } = this.#parts
    const { published } = ring
    const isUrgent = unitsBetween(ring.limit, ring.tail) > ring.capacityUnits * urgentShare
    let detached = 0
    for (const follower of this.#followers) {
      if (!this.#isAttached(follower)) continue
      if (!this.#mustDetach(follower, published, isUrgent, nowMs)) continue
      // While it is READING somebody writes these very bytes to disk: it is waited out, one write.
      if (!board.moveReader(me, follower.id, readerState.idle, readerState.detached)) continue
      follower.slowSinceMs = 0
      tally.add('detaches', 1)
      detached++
    }
    return detached
  }

  #mustDetach(
    follower: FollowerView,
    published: number,
    isUrgent: boolean,
    nowMs: number,
  ): boolean {
    const { ring, config } = this.#parts
    const held = unitsBetween(follower.walked, published)
    if (held === 0) {
      follower.slowSinceMs = 0
      return false
    }
    const stillMs = nowMs - follower.progressAtMs
    if (stillMs > config['ring.detach.stuck.ms']) return true
    if (held <= ring.capacityUnits / 2) {
      follower.slowSinceMs = 0
      return false
    }
    if (isUrgent && stillMs > urgentStuckMs) return true
    if (follower.slowSinceMs === 0) follower.slowSinceMs = nowMs
    const slowMs = isUrgent ? urgentSlowMs : config['ring.detach.slow.ms']
    return nowMs - follower.slowSinceMs > slowMs
  }

  /** Wakes the followers that read the ring. */
  wake(): void {
    const { board } = this.#parts
    for (const follower of this.#followers) {
      if (this.#isAttached(follower)) ringDoorbell(board.words, board.doorbellBase(follower.id))
    }
  }
}

function ignoreReport(): void {}
