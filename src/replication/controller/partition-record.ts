/** A partition's registration as a record and back (Kafka: PartitionRegistration.toRecord). */
import type { PartitionIndex } from '../../ids.ts'
import type { PartitionRegistration } from '../registration.ts'
import { recoveryStateOf } from './merge-partition-change.ts'
import { leaderRecoveryStates, type PartitionRecord } from './metadata-records.ts'

/** @throws {TidemarkError} CORRUPT_MESSAGE when the recovery state isn't one. */
export function registrationOf(
  record: PartitionRecord,
  topic: string,
  index: PartitionIndex,
): PartitionRegistration {
  return {
    index,
    topicId: record.topicId,
    topic,
    partition: record.partitionId,
    replicas: record.replicas,
    inSyncReplicas: record.isr,
    addingReplicas: record.addingReplicas,
    removingReplicas: record.removingReplicas,
    leader: record.leader,
    leaderRecoveryState: recoveryStateOf(
      record.leaderRecoveryState ?? leaderRecoveryStates.recovered,
    ),
    leaderEpoch: record.leaderEpoch,
    partitionEpoch: record.partitionEpoch,
    eligibleLeaderReplicas: record.eligibleLeaderReplicas ?? [],
    lastKnownLeader: record.lastKnownElr ?? [],
  }
}

/** For a snapshot: with the index, which elsewhere follows from the order in the log. */
export function partitionRecordOf(registration: PartitionRegistration): PartitionRecord {
  const { leaderRecoveryState, eligibleLeaderReplicas, lastKnownLeader } = registration
  return {
    type: 'partition',
    partitionId: registration.partition,
    topicId: registration.topicId,
    replicas: registration.replicas,
    isr: registration.inSyncReplicas,
    removingReplicas: registration.removingReplicas,
    addingReplicas: registration.addingReplicas,
    leader: registration.leader,
    leaderEpoch: registration.leaderEpoch,
    partitionEpoch: registration.partitionEpoch,
    partitionIndex: registration.index,
    ...(leaderRecoveryState === 'recovered'
      ? {}
      : { leaderRecoveryState: leaderRecoveryStates[leaderRecoveryState] }),
    ...(eligibleLeaderReplicas.length === 0 ? {} : { eligibleLeaderReplicas }),
    ...(lastKnownLeader.length === 0 ? {} : { lastKnownElr: lastKnownLeader }),
  }
}
