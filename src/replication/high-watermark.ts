/**
 * The high watermark: the first offset that is not yet on every replica that counts (Kafka:
 * `Partition.maybeIncrementLeaderHW`).
 */
import type { BrokerId, Offset, PartitionIndex } from '../ids.ts'
import type { FollowerProgress } from './follower-progress.ts'
import { type LedPartitions, replicaStride } from './led-partitions.ts'
import type { BrokerView } from './registration.ts'
import { isEligibleReplica } from './replica-eligibility.ts'

export interface HighWatermarkContext {
  readonly table: LedPartitions
  readonly progress: FollowerProgress
  readonly brokers: BrokerView
  readonly replicaLagTimeMaxMs: number
}

/**
 * How far the high watermark could be now; the caller moves it forward only. Allocates nothing.
 *
 * It waits for every member of the *maximal* ISR: a proposed member may already be committed at the
 * controller and be elected. It also waits for a replica outside that is caught up by time and
 * eligible; else, with the leader alone in the ISR, a follower one step behind could never join.
 * Below `min.insync.replicas` (over the *committed* ISR) nothing is committed (KIP-966).
 *
 * @returns -1 when it cannot move: below the minimum, or a member has not fetched in this tenure.
 */
export function reachableHighWatermark(
  context: HighWatermarkContext,
  partition: PartitionIndex,
  nowMs: number,
): Offset {
  const { table, progress } = context
  if (table.isUnderMinInSync(partition)) return -1
  const leaderEndOffset = table.logEndOffset[partition]
  const first = partition * replicaStride
  const count = table.followerCount[partition]
  const mask = table.maximalMask[partition]
  let reachable = leaderEndOffset
  for (let slot = 0; slot < count; slot += 1) {
    const offset = progress.logEndOffset[first + slot]
    if (offset >= reachable) continue
    if ((mask & (1 << slot)) !== 0 || isAboutToJoin(context, first + slot, nowMs)) {
      reachable = offset
    }
  }
  return reachable
}

/** Asked only for replicas below the leader's end, so only time can make them caught up. */
function isAboutToJoin(context: HighWatermarkContext, index: number, nowMs: number): boolean {
  const { table, progress, brokers, replicaLagTimeMaxMs } = context
  const ageMs = nowMs - progress.caughtUpTimeBehindMs(index)
  if (ageMs > replicaLagTimeMaxMs) return false
  return isEligibleReplica(brokers, table.follower[index] as BrokerId, progress.brokerEpoch[index])
}
