/**
 * Where a follower's log leaves the leader's, by their histories of leader epochs. Pure.
 * Sources: Kafka's `AbstractFetcherThread.getOffsetTruncationState`, KIP-101, KIP-279, KAFKA-7415.
 */
import type { LeaderEpoch, Offset } from '../ids.ts'

/**
 * Epoch and exclusive end as one side knows them; -1, -1: it knows nothing of that epoch or below.
 */
export interface KnownEpochEnd {
  readonly leaderEpoch: LeaderEpoch
  readonly endOffset: Offset
}

export interface FollowerHistory {
  readonly logEndOffset: Offset
  readonly highWatermark: Offset
  /** Largest epoch of its log, -1: none. */
  readonly latestEpoch: LeaderEpoch
  endOffsetFor(leaderEpoch: LeaderEpoch): KnownEpochEnd
}

export type Divergence =
  | { readonly kind: 'none' }
  /**
   * Cut to `offset`, then ask again: `isComplete` false means that a lower epoch must be compared.
   */
  | { readonly kind: 'truncate'; readonly offset: Offset; readonly isComplete: boolean }

/**
 * Compares a follower that is about to read from its log end with the leader's answer for the
 * follower's latest epoch.
 *
 * @param leader what the leader says of `follower.latestEpoch`
 */
export function findDivergence(follower: FollowerHistory, leader: KnownEpochEnd): Divergence {
  const { logEndOffset, latestEpoch } = follower
  if (latestEpoch === -1) return cutTo(follower.highWatermark, logEndOffset)
  if (leader.leaderEpoch === latestEpoch && leader.endOffset >= logEndOffset) {
    return { kind: 'none' }
  }
  if (leader.endOffset === -1 || leader.leaderEpoch === -1) {
    return cutTo(follower.highWatermark, logEndOffset)
  }
  const own = follower.endOffsetFor(leader.leaderEpoch)
  if (own.endOffset === -1) return cutTo(Math.min(leader.endOffset, logEndOffset), logEndOffset)
  if (own.leaderEpoch !== leader.leaderEpoch) {
    const offset = Math.min(own.endOffset, logEndOffset)
    return { kind: 'truncate', offset, isComplete: false }
  }
  const offset = Math.min(own.endOffset, leader.endOffset, logEndOffset)
  return { kind: 'truncate', offset, isComplete: true }
}

function cutTo(offset: Offset, logEndOffset: Offset): Divergence {
  if (offset >= logEndOffset) return { kind: 'none' }
  return { kind: 'truncate', offset, isComplete: true }
}
