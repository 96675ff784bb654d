/** When a replica falls out of the in-sync replicas, and when it may come back. Pure. */
import type { Offset } from '../ids.ts'

/**
 * What a follower must have reached to be proposed for the ISR (`isr.expand.criterion`):
 *
 * - `high.watermark`: Apache Kafka's rule, the high watermark and the start of the leader's epoch.
 * - `log.end.offset`: also the leader's log end, by the caught-up rule: this poll found it at the
 *   leader's end, or at the leader's end as of the poll before.
 */
export type ExpandCriterion = 'log.end.offset' | 'high.watermark'

/**
 * Kafka: `Replica.isCaughtUp`. At the leader's log end it is caught up for ever, however long it
 * has not fetched (KAFKA-7152); else by time, and at exactly `lagMaxMs` still. Ahead of the leader
 * is not at its end.
 */
export function isCaughtUp(
  followerEndOffset: Offset,
  leaderEndOffset: Offset,
  caughtUpAgeMs: number,
  lagMaxMs: number,
): boolean {
  return followerEndOffset === leaderEndOffset || caughtUpAgeMs <= lagMaxMs
}

/**
 * Kafka: `Partition.isFollowerInSync`. The epoch start guards against a new leader whose high
 * watermark is behind what its predecessor had committed (KAFKA-7128).
 */
export function hasReachedCommitted(
  followerEndOffset: Offset,
  highWatermark: Offset,
  leaderEpochStartOffset: Offset,
): boolean {
  return followerEndOffset >= highWatermark && followerEndOffset >= leaderEpochStartOffset
}
