/**
 * A partition as its user may want to see it, from the committed registration and the shared words.
 */
import { TidemarkError } from './errors.ts'
import type { BrokerId, LeaderEpoch, PartitionEpoch } from './ids.ts'
import type { PartitionRegistration } from './replication/registration.ts'
import { brokerState, type ProgressBoard } from './workers/progress-board.ts'

export interface ReplicaDescription {
  readonly brokerId: BrokerId
  readonly isRunning: boolean
  readonly isInSync: boolean
  /** First offset it has or may have; 0 as well where nothing is known of it yet. */
  readonly logStartOffset: number
  readonly logEndOffset: number
  /** Records behind the leader; 0 for the leader itself. */
  readonly lagRecords: number
}

export interface PartitionDescription {
  readonly topic: string
  readonly partition: number
  /** -1: nobody leads. */
  readonly leader: BrokerId
  readonly leaderEpoch: LeaderEpoch
  readonly partitionEpoch: PartitionEpoch
  readonly inSyncReplicas: readonly BrokerId[]
  readonly logEndOffset: number
  readonly highWatermark: number
  readonly replicas: readonly ReplicaDescription[]
}

/** @throws {TidemarkError} UNKNOWN_TOPIC_OR_PARTITION when it is gone */
export function describePartition(
  registration: PartitionRegistration | undefined,
  board: ProgressBoard,
): PartitionDescription {
  if (registration === undefined) {
    throw new TidemarkError('UNKNOWN_TOPIC_OR_PARTITION', 'the partition is gone')
  }
  const { index, leader, topic, partition, leaderEpoch, partitionEpoch } = registration
  const logEndOffset = leader < 1 ? -1 : board.logEndOffset(leader, index)
  const highWatermark = leader < 1 ? -1 : board.highWatermark(leader, index)
  const replicas = registration.replicas.map((brokerId) => {
    const own = board.logEndOffset(brokerId, index)
    return {
      brokerId,
      isRunning: board.state(brokerId) === brokerState.running,
      isInSync: registration.inSyncReplicas.includes(brokerId),
      logStartOffset: Math.max(0, board.logStartOffset(brokerId, index)),
      logEndOffset: own,
      lagRecords: Math.max(0, logEndOffset - own),
    }
  })
  return {
    topic,
    partition,
    leader,
    leaderEpoch,
    partitionEpoch,
    inSyncReplicas: registration.inSyncReplicas,
    logEndOffset,
    highWatermark,
    replicas,
  }
}
