/**
 * FollowedPartitions: where this broker stands in each partition that it follows. Structure of
 * arrays, indexed by partition.
 *
 *   stage 'none'      not a follower of it
 *         'waiting'   told whom to follow; the leader has not begun that epoch yet
 *         'following' reconciled with the leader's epochs; appends come from ring or disk
 *         'failed'    its log failed on this disk
 *
 * One number joins ring and disk without gap or duplicate: `ringEndOffset`, the end of all that has
 * passed by in the ring (or had been in the leader's log when the ring was joined). A frame is
 * appended exactly if it begins at the log's end; a partition whose log ends before `ringEndOffset`
 * is *behind* and read from disk until it isn't. It makes no difference whether a batch comes the
 * one way or the other, or both.
 */
import type { BrokerId, LeaderEpoch, PartitionIndex } from '../ids.ts'

export const followStage = { none: 0, waiting: 1, following: 2, failed: 3 } as const

export class FollowedPartitions {
  readonly stage: Uint8Array
  readonly leader: Uint8Array
  readonly leaderEpoch: Int32Array
  readonly ringEndOffset: Float64Array
  readonly #isBehind: Uint8Array
  /** Partitions that are behind, without order; may name some that have caught up since. */
  readonly behind: number[] = []
  /** Partitions in stage 'waiting'. */
  readonly waiting = new Set<PartitionIndex>()
  /** All partitions followed, by leader id. */
  readonly byLeader: Set<PartitionIndex>[]

  constructor(partitionsMax: number, brokers: number) {
    this.stage = new Uint8Array(partitionsMax)
    this.leader = new Uint8Array(partitionsMax)
    this.leaderEpoch = new Int32Array(partitionsMax).fill(-1)
    this.ringEndOffset = new Float64Array(partitionsMax)
    this.#isBehind = new Uint8Array(partitionsMax)
    this.byLeader = Array.from({ length: brokers + 1 }, () => new Set())
  }

  /** Told to follow `leader` in `leaderEpoch`; -1: nobody leads. */
  follow(partition: PartitionIndex, leader: BrokerId, leaderEpoch: LeaderEpoch): void {
    this.stop(partition)
    this.leaderEpoch[partition] = leaderEpoch
    if (leader < 1) return
    this.leader[partition] = leader
    this.stage[partition] = followStage.waiting
    this.waiting.add(partition)
    this.byLeader[leader]!.add(partition)
  }

  /**
   * Reconciled: appends may come. Whatever the leader's log held until `leaderEndOffset` has passed
   * by.
   */
  begin(partition: PartitionIndex, leaderEndOffset: number): void {
    this.waiting.delete(partition)
    this.stage[partition] = followStage.following
    this.ringEndOffset[partition] = leaderEndOffset
  }

  stop(partition: PartitionIndex): void {
    this.byLeader[this.leader[partition]!]!.delete(partition)
    this.waiting.delete(partition)
    this.stage[partition] = followStage.none
    this.leader[partition] = 0
    this.leaderEpoch[partition] = -1
  }

  fail(partition: PartitionIndex): void {
    this.waiting.delete(partition)
    this.stage[partition] = followStage.failed
  }

  isFollowing(partition: PartitionIndex): boolean {
    return this.stage[partition] === followStage.following
  }

  markBehind(partition: PartitionIndex): void {
    if (this.#isBehind[partition] === 1) return
    this.#isBehind[partition] = 1
    this.behind.push(partition)
  }

  /** Takes the list of partitions that may be behind; they must be marked again if they stay so. */
  takeBehind(): PartitionIndex[] {
    const taken = this.behind.splice(0) as PartitionIndex[]
    for (const partition of taken) this.#isBehind[partition] = 0
    return taken
  }
}
