/** What `PartitionLeaders` is made of, and what its changes of role take and tell. */
import type { BrokerEpoch, BrokerId, Offset } from '../ids.ts'
import type { ExpandCriterion } from './in-sync-rules.ts'
import type { FollowerSight } from './lagging-replicas.ts'
import type { BrokerView } from './registration.ts'

export interface PartitionLeadersConfig {
  /** `replica.lag.time.max.ms` */
  readonly replicaLagTimeMaxMs: number
  /** `isr.expand.criterion` */
  readonly isrExpandCriterion: ExpandCriterion
  /** 10 unless given; 0: at every poll, as Kafka does. */
  readonly outsiderSweepIntervalMs?: number
}

export interface PartitionLeadersOptions {
  readonly brokerId: BrokerId
  /** Of the broker's present registration. */
  readonly brokerEpoch: () => BrokerEpoch
  readonly partitionsMax: number
  readonly brokers: BrokerView
  /** For the causes that events carry; without it they are told from fetches and sessions alone. */
  readonly sight?: FollowerSight
  readonly config: PartitionLeadersConfig
}

export interface LocalLog {
  readonly logEndOffset: Offset
  /** From the checkpoint or as a follower; bounded by the log end when a tenure begins. */
  readonly highWatermark: Offset
}

export interface MakeLeaderResult {
  /** False: the registration is older than what is known; nothing changed. */
  readonly accepted: boolean
  readonly isNewLeader: boolean
  /**
   * True: the caller writes (leaderEpoch, leaderEpochStartOffset) into its leader epochs, even if
   * empty.
   */
  readonly isNewLeaderEpoch: boolean
  readonly leaderEpochStartOffset: Offset
}

export interface MakeFollowerResult {
  readonly accepted: boolean
  /**
   * True: the caller restarts its fetching, whether or not the leader is another one (KAFKA-7164).
   */
  readonly isNewLeaderEpoch: boolean
}
