/** A led partition in words and numbers, for people and tests. Allocates; not for the hot path. */
import type {
  BrokerEpoch,
  BrokerId,
  LeaderEpoch,
  Offset,
  PartitionEpoch,
  PartitionIndex,
} from '../ids.ts'
import { brokerEpochNone, type FollowerProgress } from './follower-progress.ts'
import {
  committedInSyncReplicas,
  type IsrState,
  isPending,
  maximalInSyncReplicas,
} from './isr-state.ts'
import { type LedPartitions, replicaStride } from './led-partitions.ts'

export interface FollowerLag {
  /** The follower's own end as last reported; -1 unknown. */
  readonly logEndOffset: Offset
  readonly records: number
  /** Time since it was caught up; 0 while it is at the leader's end. */
  readonly timeMs: number
  /** 0: never. */
  readonly caughtUpTimeMs: number
}

export interface FollowerDescription extends FollowerLag {
  readonly brokerId: BrokerId
  /** As stated in its latest fetch; undefined: it has not fetched, -1: it doesn't know. */
  readonly brokerEpoch: BrokerEpoch | undefined
}

export interface LeaderDescription {
  readonly partition: PartitionIndex
  readonly leader: BrokerId
  readonly leaderEpoch: LeaderEpoch
  readonly leaderEpochStartOffset: Offset
  readonly partitionEpoch: PartitionEpoch
  readonly logEndOffset: Offset
  readonly highWatermark: Offset
  readonly inSyncReplicas: readonly BrokerId[]
  readonly maximalInSyncReplicas: readonly BrokerId[]
  readonly isrState: IsrState['kind']
  readonly minInSync: number
  readonly isUnderReplicated: boolean
  readonly isUnderMinInSync: boolean
  readonly isAtMinInSync: boolean
  readonly followers: readonly FollowerDescription[]
}

interface DescribedParts {
  readonly table: LedPartitions
  readonly progress: FollowerProgress
}

export function lagOf(
  parts: DescribedParts,
  partition: PartitionIndex,
  follower: BrokerId,
  nowMs: number,
): FollowerLag | undefined {
  const slot = parts.table.slotOf(partition, follower)
  return slot < 0 ? undefined : lagOfSlot(parts, partition, slot, nowMs)
}

export function describeLeader(
  parts: DescribedParts,
  partition: PartitionIndex,
  nowMs: number,
): LeaderDescription | undefined {
  const { table, progress } = parts
  if (table.leading[partition] !== 1) return undefined
  const state = table.isrOf(partition)
  const committed = committedInSyncReplicas(state)
  const minimum = table.effectiveMinInSync(partition)
  const followers: FollowerDescription[] = []
  for (let slot = 0; slot < table.followerCount[partition]; slot += 1) {
    const index = partition * replicaStride + slot
    const epoch = progress.brokerEpoch[index]
    followers.push({
      brokerId: table.follower[index] as BrokerId,
      brokerEpoch: epoch === brokerEpochNone ? undefined : epoch,
      ...lagOfSlot(parts, partition, slot, nowMs),
    })
  }
  return {
    partition,
    leader: table.self,
    leaderEpoch: table.leaderEpoch[partition],
    leaderEpochStartOffset: table.leaderEpochStartOffset[partition],
    partitionEpoch: table.partitionEpoch[partition],
    logEndOffset: table.logEndOffset[partition],
    highWatermark: table.highWatermark[partition],
    inSyncReplicas: committed,
    maximalInSyncReplicas: isPending(state) ? maximalInSyncReplicas(state) : committed,
    isrState: state.kind,
    minInSync: minimum,
    isUnderReplicated: table.replicationFactor[partition] > committed.length,
    isUnderMinInSync: committed.length < minimum,
    isAtMinInSync: committed.length === minimum,
    followers,
  }
}

function lagOfSlot(
  { table, progress }: DescribedParts,
  partition: PartitionIndex,
  slot: number,
  nowMs: number,
): FollowerLag {
  const index = partition * replicaStride + slot
  const logEndOffset = progress.logEndOffset[index]
  const leaderEndOffset = table.logEndOffset[partition]
  const caughtUpTimeMs = progress.caughtUpTimeMs(partition, index)
  const isAtEnd = logEndOffset >= leaderEndOffset
  return {
    logEndOffset,
    records: Math.max(0, leaderEndOffset - Math.max(0, logEndOffset)),
    timeMs: isAtEnd ? 0 : Math.max(0, nowMs - caughtUpTimeMs),
    caughtUpTimeMs,
  }
}
