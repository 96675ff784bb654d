/** What the controller's image holds of a partition, and what brokers learn of it. Plain data. */
import type { BrokerEpoch, BrokerId, LeaderEpoch, PartitionEpoch, PartitionIndex } from '../ids.ts'

export const leaderNone = -1 as BrokerId

export type LeaderRecoveryState = 'recovered' | 'recovering'

/**
 * A partition's record at the controller (Kafka: `PartitionRegistration`). `replicas[0]` is the
 * preferred leader.
 */
export interface PartitionRegistration {
  readonly index: PartitionIndex
  readonly topicId: string
  readonly topic: string
  readonly partition: number
  readonly replicas: readonly BrokerId[]
  /** Ordered; a mere reorder counts as a change. */
  readonly inSyncReplicas: readonly BrokerId[]
  readonly addingReplicas: readonly BrokerId[]
  readonly removingReplicas: readonly BrokerId[]
  /** `leaderNone` (-1): offline. */
  readonly leader: BrokerId
  readonly leaderRecoveryState: LeaderRecoveryState
  readonly leaderEpoch: LeaderEpoch
  readonly partitionEpoch: PartitionEpoch
  readonly eligibleLeaderReplicas: readonly BrokerId[]
  readonly lastKnownLeader: readonly BrokerId[]
}

export interface BrokerRegistration {
  readonly brokerId: BrokerId
  readonly brokerEpoch: BrokerEpoch
  readonly incarnationId: string
  readonly fenced: boolean
  readonly inControlledShutdown: boolean
}

/** What a leader asks of its own, possibly old, view of the brokers. */
export interface BrokerView {
  /** Registered, unfenced and not in controlled shutdown. */
  isActive(broker: BrokerId): boolean
  /**
   * Epoch of the registration if the broker is unfenced; undefined for fenced and unknown brokers.
   */
  aliveEpoch(broker: BrokerId): BrokerEpoch | undefined
}
