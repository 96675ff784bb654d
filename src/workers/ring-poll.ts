/**
 * RingPoll: a follower's reading of one leader's ring. Takes published frames from its cursor,
 * bounded, groups them by partition and appends the very same bytes with one `writev` a partition
 * and round.
 *
 * The reader's state is READING from before the first frame is looked at until after the last is
 * written; the leader cannot detach it meanwhile, so no byte is overwritten while it is on its way
 * to disk.
 */
import { isTidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { limits } from '../limits.ts'
import { type BatchRing, frame, frameAccepted, unitsBetween } from './batch-ring.ts'
import type { BrokerTally } from './broker-tally.ts'
import { cut, type FaultWords } from './fault-words.ts'
import type { FollowedPartitions } from './followed-partitions.ts'
import { FrameGroups } from './frame-groups.ts'
import type { LeaderOffsets } from './leader-offsets.ts'
import type { PartitionStore } from './partition-store.ts'
import { type ProgressBoard, readerState } from './progress-board.ts'
import { loadSettled } from './shared-words.ts'

export interface RingPollParts {
  readonly brokerId: BrokerId
  readonly leader: BrokerId
  readonly board: ProgressBoard
  readonly faults: FaultWords
  readonly ring: BatchRing
  readonly followed: FollowedPartitions
  readonly store: PartitionStore
  readonly offsets: LeaderOffsets
  readonly tally: BrokerTally
  /** Tells the leader this broker's end offset of a partition, apart from the ring. */
  readonly report: (partition: PartitionIndex) => void
}

/** How often a reader that may not join the ring yet looks where its leader's logs end. */
export const waitingLookMs = 10

export class RingPoll {
  readonly leader: BrokerId
  readonly #parts: RingPollParts
  readonly #groups: FrameGroups
  /** Where a partition's log will end when this round's frames are written. */
  readonly #expected: Float64Array
  #cursor = 0
  #attached = false
  #isReading = false
  #nextAttachAtMs = 0
  #attachedAtMs = 0
  #attachDelayMs = 0
  #lookAtMs = 0

  constructor(parts: RingPollParts) {
    this.#parts = parts
    this.leader = parts.leader
    this.#groups = new FrameGroups(parts.ring, parts.board.shape.partitionsMax)
    this.#expected = new Float64Array(parts.board.shape.partitionsMax)
  }

  /**
   * Appends at most one round. The new cursor is not stored yet: see `report` and `release`.
   *
   * @returns bytes appended, or -1 when there was nothing to read
   */
  read(nowMs: number): number {
    const { board, faults, brokerId, leader, ring } = this.#parts
    if (faults.fetchCut(leader, brokerId) !== cut.nothing) return -1
    if (!this.#ensureAttached(nowMs)) return -1
    const { published } = ring
    if (unitsBetween(this.#cursor, published) <= 0) return -1
    if (!board.moveReader(leader, brokerId, readerState.idle, readerState.reading)) return -1
    this.#isReading = true
    this.#groups.begin()
    let position = this.#cursor
    let bytes = 0
    while (unitsBetween(position, published) > 0) {
      if (this.#groups.isFull || bytes >= limits.followerRoundBytesMax) break
      const units = ring.stateAt(position)
      // A ring that was reset under our feet: the leader's thread ended.
      if (units === 0) break
      if (units > 0) bytes += this.#takeFrame(position)
      position = (position + Math.abs(units)) | 0
    }
    const { groupCount } = this.#groups
    for (let group = 0; group < groupCount; group++) this.#appendGroup(group)
    for (let group = 0; group < groupCount; group++) this.#publishGroup(group)
    this.#cursor = position
    return bytes
  }

  /** Between the board's `beginPoll` and `endPoll`: tells the leader how far this reader is. */
  report(): void {
    const { board, brokerId, leader } = this.#parts
    if (this.#isReading) board.setCursor(leader, brokerId, this.#cursor)
  }

  /** After the poll ended: the leader may detach again. */
  release(): void {
    if (!this.#isReading) return
    this.#isReading = false
    const { board, brokerId, leader } = this.#parts
    board.moveReader(leader, brokerId, readerState.reading, readerState.idle)
  }

  get hasWork(): boolean {
    const { ring } = this.#parts
    return this.#attached && unitsBetween(this.#cursor, ring.published) > 0
  }

  /** It may not join the ring yet, so nobody rings its bell for what the leader appends. */
  isWaiting(nowMs: number): boolean {
    return nowMs < this.#nextAttachAtMs
  }

  /**
   * Hysteresis: a reader that was detached again soon after it had joined waits longer each time
   * before it asks to join, so that a slow follower does not swing between ring and disk.
   */
  #ensureAttached(nowMs: number): boolean {
    const { board, brokerId, leader, followed } = this.#parts
    const state = board.readerState(leader, brokerId)
    if (state === readerState.idle) {
      if (!this.#attached) this.#onAttached(nowMs)
      return true
    }
    if (state === readerState.attachRequested) return false
    if (this.#attached) {
      this.#attached = false
      const wasShort = nowMs - this.#attachedAtMs < 2_000
      this.#attachDelayMs = wasShort ? Math.min(Math.max(100, this.#attachDelayMs * 2), 2_000) : 0
      this.#nextAttachAtMs = nowMs + this.#attachDelayMs
    }
    if (followed.byLeader[leader]!.size === 0) return false
    if (nowMs < this.#nextAttachAtMs) {
      this.#readOnFromDisk(nowMs)
      return false
    }
    board.moveReader(leader, brokerId, readerState.detached, readerState.attachRequested)
    return false
  }

  /**
   * The leader took us in: everything it had appended before our cursor has passed by. It may have
   * detached us before it saw our last cursor, so it is told where every partition ends.
   */
  #onAttached(nowMs: number): void {
    const { board, brokerId, leader, followed, report } = this.#parts
    this.#attached = true
    this.#attachedAtMs = nowMs
    this.#cursor = board.cursor(leader, brokerId)
    for (const partition of followed.byLeader[leader]!) {
      if (followed.isFollowing(partition)) report(partition)
    }
    this.#noteLeaderEnds()
  }

  /** Waiting must not cost it its place in the ISR: what the leader has is on disk as well. */
  #readOnFromDisk(nowMs: number): void {
    if (nowMs < this.#lookAtMs) return
    this.#lookAtMs = nowMs + waitingLookMs
    this.#noteLeaderEnds()
  }

  #noteLeaderEnds(): void {
    const { board, leader, followed, store } = this.#parts
    for (const partition of followed.byLeader[leader]!) {
      if (!followed.isFollowing(partition)) continue
      const endOffset = board.logEndOffset(leader, partition)
      if (endOffset > followed.ringEndOffset[partition]!)
        followed.ringEndOffset[partition] = endOffset
      if (store.log(partition).logEndOffset < endOffset) followed.markBehind(partition)
    }
  }

  #takeFrame(position: number): number {
    const { ring, followed, leader, store } = this.#parts
    const { headers } = ring
    const header = ring.headerIndex(position)
    if (headers[header + frame.status] !== frameAccepted) return 0
    const partition = headers[header + frame.partition]! as PartitionIndex
    if (!followed.isFollowing(partition) || followed.leader[partition] !== leader) return 0
    const expected = this.#groups.has(partition)
      ? this.#expected[partition]!
      : store.log(partition).logEndOffset
    // Published: the leader is done with the header.
    const baseOffset = loadSettled(headers, header + frame.baseOffset)
    const endOffset = loadSettled(headers, header + frame.endOffset)
    const isSameEpoch = headers[header + frame.leaderEpoch] === followed.leaderEpoch[partition]
    // Of an older tenure: may have been truncated since; what was not was noted at `begin`.
    // Of a newer one: noted when that begins here.
    if (isSameEpoch && endOffset > followed.ringEndOffset[partition]!) {
      followed.ringEndOffset[partition] = endOffset
    }
    if (baseOffset !== expected || !isSameEpoch) {
      if (expected < endOffset) followed.markBehind(partition)
      return 0
    }
    this.#groups.add(partition, position)
    this.#expected[partition] = endOffset
    return headers[header + frame.batchBytes]!
  }

  #appendGroup(group: number): void {
    const { store } = this.#parts
    const partition = this.#groups.partition(group)
    try {
      store.writeReplicated(partition, this.#groups.select(group))
    } catch (error) {
      this.#fail(partition, error)
    }
  }

  /** After all appends of the round: what must be on disk is, before the leader is told. */
  #publishGroup(group: number): void {
    const { ring, store, followed, offsets, tally } = this.#parts
    const groups = this.#groups
    const partition = groups.partition(group)
    if (!followed.isFollowing(partition)) return
    try {
      store.publishReplicated(partition)
      offsets.follow(partition, this.leader)
    } catch (error) {
      this.#fail(partition, error)
      return
    }
    let bytes = 0
    for (let at = groups.first(group); at >= 0; at = groups.next(at)) {
      bytes += ring.headers[ring.headerIndex(groups.position(at)) + frame.batchBytes]!
    }
    tally.add('ringBytes', bytes)
  }

  #fail(partition: PartitionIndex, error: unknown): void {
    if (!isTidemarkError(error)) throw error
    this.#parts.followed.fail(partition)
    this.#parts.store.noteFailure(partition, error)
  }
}
