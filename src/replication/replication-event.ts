/** What a leader decided or learned about its in-sync replicas, with the numbers it decided on. */
import type { ErrorCode } from '../errors.ts'
import type {
  BrokerEpoch,
  BrokerId,
  LeaderEpoch,
  Offset,
  PartitionEpoch,
  PartitionIndex,
} from '../ids.ts'
import type { ExpandCriterion } from './in-sync-rules.ts'
import type { LagCause, LagSigns } from './isr-cause.ts'
import type { RefusalOutcome } from './isr-state.ts'

/** Where the leader stood. */
interface LeaderNumbers {
  readonly partition: PartitionIndex
  readonly atMs: number
  readonly leader: BrokerId
  readonly leaderEpoch: LeaderEpoch
  readonly partitionEpoch: PartitionEpoch
  readonly logEndOffset: Offset
  readonly highWatermark: Offset
  readonly inSyncReplicas: readonly BrokerId[]
}

/** A replica found out of sync. */
export interface LaggingReplica {
  readonly brokerId: BrokerId
  /** -1: has not fetched from this leader, or is no replica any more. */
  readonly logEndOffset: Offset
  readonly lagRecords: number
  /** Estimated from the log's mean record; -1: unknown. */
  readonly lagBytes: number
  /** Time since it was caught up; more than the limit. */
  readonly lagMs: number
  /** 0: never. */
  readonly caughtUpTimeMs: number
  readonly cause: LagCause
  /** What the cause was told from. */
  readonly signs: LagSigns
}

export interface ShrinkProposed extends LeaderNumbers {
  readonly type: 'shrinkProposed'
  readonly cause: 'notCaughtUp'
  readonly lagging: readonly LaggingReplica[]
  readonly replicaLagTimeMaxMs: number
  readonly proposed: readonly BrokerId[]
}

export interface ExpandProposed extends LeaderNumbers {
  readonly type: 'expandProposed'
  readonly cause: ExpandCriterion
  readonly brokerId: BrokerId
  readonly brokerEpoch: BrokerEpoch
  readonly followerLogEndOffset: Offset
  readonly leaderEpochStartOffset: Offset
  /**
   * Case of the caught-up rule that this poll met; 0: neither (only `high.watermark` allows it).
   */
  readonly caughtUpCase: 0 | 1 | 2
  readonly proposed: readonly BrokerId[]
}

export interface IsrCommitted extends LeaderNumbers {
  readonly type: 'shrinkCommitted' | 'expandCommitted'
  readonly previous: readonly BrokerId[]
  /** The controller's answer, or metadata that came before the answer. */
  readonly via: 'response' | 'metadata'
  /** `proposal`: what this leader asked for; `controller`: decided there (fencing, shutdown, …). */
  readonly cause: 'proposal' | 'controller'
  /** Who left, as of the proposal, or of the metadata when the controller decided. */
  readonly left: readonly LaggingReplica[]
  readonly joined: readonly BrokerId[]
}

export interface ProposalRejected extends LeaderNumbers {
  readonly type: 'rejected'
  readonly proposal: 'shrink' | 'expand'
  readonly proposed: readonly BrokerId[]
  /** `NONE`: accepted, but the answer's epochs are older than ours. */
  readonly error: ErrorCode | 'NONE'
  readonly outcome: RefusalOutcome
}

/** A follower outside the ISR is at the leader's log end, for the first time since it left. */
export interface ReachedLogEnd extends LeaderNumbers {
  readonly type: 'reachedLogEnd'
  readonly brokerId: BrokerId
  readonly followerLogEndOffset: Offset
  readonly caughtUpCase: 1 | 2
}

export type ReplicationEvent =
  | ShrinkProposed
  | ExpandProposed
  | IsrCommitted
  | ProposalRejected
  | ReachedLogEnd
