/** What `log timeline` finds in a metadata log. Plain data: times in ms since 1970. */
import type { BrokerEpoch, BrokerId, LeaderEpoch, PartitionEpoch } from '../ids.ts'

/**
 * What a record says became of a broker. `registered`: a new incarnation, or known from a snapshot;
 * `shuttingDown`: its controlled shutdown began.
 */
export type BrokerEventKind = 'registered' | 'unfenced' | 'fenced' | 'shuttingDown' | 'unregistered'

export interface BrokerEvent {
  readonly offset: number
  readonly atMs: number
  readonly kind: BrokerEventKind
  readonly brokerEpoch: BrokerEpoch
}

export interface BrokerHistory {
  readonly brokerId: BrokerId
  readonly events: readonly BrokerEvent[]
}

/** The time of one controller at the log: the batches that carry its epoch. */
export interface ControllerTerm {
  readonly epoch: number
  /** null: the log doesn't say (a log of Kafka's has a LEADER_CHANGE record for it). */
  readonly controllerId: number | null
  readonly offset: number
  readonly atMs: number
}

/**
 * How a partition came by its leader. `created`: with the partition; `clean`: out of the in-sync
 * replicas before; `eligible`: out of the eligible leader replicas (KIP-966); `unclean`: from
 * neither, records may be lost; `same`: the same broker in a new epoch; `none`: nobody leads.
 */
export type Election = 'created' | 'clean' | 'eligible' | 'unclean' | 'same' | 'none'

/**
 * What the change stood on, as far as the log tells: `proposed` by the leader, or the fate of the
 * broker `by` in the same batch; `reassigned`: the assignment changed; `elected`: a leader was
 * chosen and nothing befell a broker (on request, preferred, unclean).
 */
export type ChangeReason =
  | 'created'
  | 'snapshot'
  | 'proposed'
  | 'reassigned'
  | 'elected'
  | BrokerEventKind

export interface PartitionChange {
  readonly offset: number
  readonly atMs: number
  readonly reason: ChangeReason
  /** The broker whose fate it was; null for other reasons. */
  readonly by: BrokerId | null
  /** -1: nobody. */
  readonly leader: BrokerId
  readonly leaderEpoch: LeaderEpoch
  readonly partitionEpoch: PartitionEpoch
  /** null: the leader stayed, epoch and all. */
  readonly election: Election | null
  readonly replicas: readonly BrokerId[]
  readonly inSyncReplicas: readonly BrokerId[]
  readonly eligibleLeaderReplicas: readonly BrokerId[]
  /** Replicas that left and joined the in-sync ones by this change. */
  readonly left: readonly BrokerId[]
  readonly joined: readonly BrokerId[]
}

/** A replica's time outside the in-sync replicas. */
export interface Absence {
  readonly brokerId: BrokerId
  readonly leftAtMs: number
  /** null: still out at the end of the log, or no replica any more. */
  readonly rejoinedAtMs: number | null
  /** Until it rejoined, was taken off the assignment, or the log ends. */
  readonly outMs: number
  readonly end: 'rejoined' | 'unassigned' | 'removed' | 'still out'
  readonly reason: ChangeReason
}

/** A time without a leader; `toMs` null: to the end of the log. */
export interface OfflineSpan {
  readonly fromMs: number
  readonly toMs: number | null
  readonly ms: number
}

export interface PartitionHistory {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  /** null: known from a snapshot, or the log begins later. */
  readonly createdAtMs: number | null
  readonly removedAtMs: number | null
  readonly changes: readonly PartitionChange[]
  readonly absences: readonly Absence[]
  readonly offline: readonly OfflineSpan[]
  readonly shrinks: number
  readonly expands: number
  readonly leaderChanges: number
  /** Times that a replica left again after it had come back. */
  readonly flaps: number
}

/** Many changes of in-sync replicas or leaders within a short time. */
export interface Storm {
  readonly fromMs: number
  readonly toMs: number
  readonly changes: number
  readonly partitions: number
  /** Brokers that left or joined in it, those of most changes first. */
  readonly brokers: readonly BrokerId[]
}

/** A replica that left and came back over and over. */
export interface Flapping {
  readonly topic: string
  readonly partition: number
  readonly brokerId: BrokerId
  /** Most departures within the window. */
  readonly departures: number
  readonly fromMs: number
  readonly toMs: number
}

/** What the reader skipped, or could not know. */
export interface TimelineNote {
  /** null: not about a place in the log. */
  readonly offset: number | null
  readonly text: string
}

/** Where a file is not what it should be; the history ends before it. */
export interface TimelineFault {
  readonly file: string
  readonly position: number
  readonly expected: string
  readonly found: string
}

export interface MetadataTimeline {
  readonly directory: string
  /** In the order they were read. */
  readonly files: readonly string[]
  /** Of the first record read, or of the snapshot; `endOffset` is exclusive. */
  readonly fromOffset: number
  readonly endOffset: number
  readonly records: number
  /** null: there is no record. */
  readonly fromMs: number | null
  readonly toMs: number | null
  readonly controllers: readonly ControllerTerm[]
  readonly brokers: readonly BrokerHistory[]
  readonly partitions: readonly PartitionHistory[]
  readonly storms: readonly Storm[]
  readonly flapping: readonly Flapping[]
  readonly notes: readonly TimelineNote[]
  readonly faults: readonly TimelineFault[]
}
