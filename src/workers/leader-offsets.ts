/**
 * LeaderOffsets: what a follower takes over from its leader besides batches: high watermark and log
 * start offset (Kafka: `ReplicaFetcherThread.processPartitionData`, where both come with each fetch
 * response).
 *
 * They are read with every append. After the last append of a burst the leader's high watermark
 * still has to reach it: such partitions are *trailing* and looked at again until theirs does. A
 * log start moves seldom and without any append; its leader counts it in one word, and a change of
 * that has all partitions followed from it looked at. So idle partitions cost nothing.
 */
import { isTidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { cut, type FaultWords } from './fault-words.ts'
import type { FollowedPartitions } from './followed-partitions.ts'
import type { PartitionStore } from './partition-store.ts'
import type { ProgressBoard } from './progress-board.ts'

/** Kafka's followers learn of it within `replica.fetch.wait.max.ms`. */
const lookMs = 100
const looksPerStepMax = 256

export interface LeaderOffsetsParts {
  readonly brokerId: BrokerId
  readonly board: ProgressBoard
  readonly faults: FaultWords
  readonly followed: FollowedPartitions
  readonly store: PartitionStore
}

export class LeaderOffsets {
  readonly #parts: LeaderOffsetsParts
  /** By leader id: the value of its word when its partitions were looked at last. */
  readonly #logStartChanges: Int32Array
  readonly #isTrailing: Uint8Array
  #trailing: PartitionIndex[] = []
  #queue: PartitionIndex[] = []
  #lookAtMs = 0

  constructor(parts: LeaderOffsetsParts) {
    const { brokers, partitionsMax } = parts.board.shape
    this.#parts = parts
    this.#logStartChanges = new Int32Array(brokers + 1)
    this.#isTrailing = new Uint8Array(partitionsMax)
  }

  /** When `step` has something to do though nobody rings. */
  get dueAtMs(): number {
    if (this.#queue.length > 0) return 0
    return this.#trailing.length > 0 ? this.#lookAtMs : Number.POSITIVE_INFINITY
  }

  /**
   * Takes over what the leader's words say now: the high watermark, bounded by the own end (it may
   * go down; Kafka: `UnifiedLog.maybeUpdateHighWatermark`), then the log start, bounded by that.
   *
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR
   */
  follow(partition: PartitionIndex, leader: BrokerId): void {
    const { board, store } = this.#parts
    // In this order: the leader's log start is never above its high watermark.
    const logStartOffset = board.logStartOffset(leader, partition)
    const { logEndOffset, logStartOffset: own } = store.log(partition)
    const highWatermark = Math.min(board.highWatermark(leader, partition), logEndOffset)
    store.setHighWatermark(partition, Math.max(highWatermark, own))
    if (logStartOffset > own) {
      store.advanceLogStart(partition, Math.min(logStartOffset, highWatermark))
    }
    if (highWatermark < logEndOffset) this.#trail(partition)
  }

  /** A bounded number of looks, when it is time. @returns how many */
  step(nowMs: number): number {
    if (this.#queue.length === 0) {
      if (nowMs < this.#lookAtMs) return 0
      this.#lookAtMs = nowMs + lookMs
      this.#plan()
    }
    const count = Math.min(looksPerStepMax, this.#queue.length)
    for (let looked = 0; looked < count; looked++) this.#look(this.#queue.pop()!)
    return count
  }

  #plan(): void {
    const { board, followed, brokerId } = this.#parts
    if (this.#trailing.length > 0) {
      this.#queue = this.#trailing
      this.#trailing = []
      for (const partition of this.#queue) this.#isTrailing[partition] = 0
    }
    for (let row = 1; row <= board.shape.brokers; row++) {
      const leader = row as BrokerId
      if (leader === brokerId) continue
      const changes = board.logStartChanges(leader)
      if (changes === this.#logStartChanges[leader]) continue
      this.#logStartChanges[leader] = changes
      for (const partition of followed.byLeader[leader]!) this.#queue.push(partition)
    }
  }

  #look(partition: PartitionIndex): void {
    const { followed, store, faults, brokerId } = this.#parts
    if (!followed.isFollowing(partition)) return
    const leader = followed.leader[partition]! as BrokerId
    if (faults.fetchCut(leader, brokerId) !== cut.nothing) {
      this.#trail(partition)
      return
    }
    try {
      this.follow(partition, leader)
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      followed.fail(partition)
      store.noteFailure(partition, error)
    }
  }

  #trail(partition: PartitionIndex): void {
    if (this.#isTrailing[partition] === 1) return
    this.#isTrailing[partition] = 1
    this.#trailing.push(partition)
  }
}
