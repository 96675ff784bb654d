/**
 * What a partition's registration becomes by a change record (Kafka:
 * PartitionRegistration.merge).
 */
import { TidemarkError } from '../../errors.ts'
import type { LeaderRecoveryState, PartitionRegistration } from '../registration.ts'
import { leaderRecoveryStates, type PartitionChangeRecord } from './metadata-records.ts'

/**
 * Every change makes the partition epoch grow by one; the leader epoch grows exactly if the
 * record sets the leader, even to the same broker or to none.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE when the record's recovery state isn't one.
 */
export function mergePartitionChange(
  registration: PartitionRegistration,
  change: PartitionChangeRecord,
): PartitionRegistration {
  return {
    index: registration.index,
    topicId: registration.topicId,
    topic: registration.topic,
    partition: registration.partition,
    replicas: change.replicas ?? registration.replicas,
    inSyncReplicas: change.isr ?? registration.inSyncReplicas,
    addingReplicas: change.addingReplicas ?? registration.addingReplicas,
    removingReplicas: change.removingReplicas ?? registration.removingReplicas,
    leader: change.leader ?? registration.leader,
    leaderRecoveryState:
      change.leaderRecoveryState === undefined
        ? registration.leaderRecoveryState
        : recoveryStateOf(change.leaderRecoveryState),
    leaderEpoch: registration.leaderEpoch + (change.leader === undefined ? 0 : 1),
    partitionEpoch: registration.partitionEpoch + 1,
    eligibleLeaderReplicas: change.eligibleLeaderReplicas ?? registration.eligibleLeaderReplicas,
    lastKnownLeader: change.lastKnownElr ?? registration.lastKnownLeader,
  }
}

/** @throws {TidemarkError} CORRUPT_MESSAGE when the number isn't one of Kafka's two. */
export function recoveryStateOf(value: number): LeaderRecoveryState {
  if (value === leaderRecoveryStates.recovered) return 'recovered'
  if (value === leaderRecoveryStates.recovering) return 'recovering'
  throw new TidemarkError('CORRUPT_MESSAGE', `leader recovery state ${value} is neither 0 nor 1`)
}
