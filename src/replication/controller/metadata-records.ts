/**
 * Records of the metadata log, decoded: KRaft's kinds and field names (Kafka:
 * metadata/src/main/resources/ common/metadata). Plain data, so that they cross threads.
 *
 * An optional field that is absent has the value that Kafka's schema calls its default: in
 * changes that means "not changed", elsewhere "empty". Ids are text in Kafka's form (`uuid.ts`).
 */
import type { BrokerEpoch, BrokerId, LeaderEpoch, PartitionEpoch } from '../../ids.ts'

/**
 * On disk 0: the leader was elected from the ISR, or has recovered; 1: elected uncleanly,
 * recovering.
 */
export const leaderRecoveryStates = { recovered: 0, recovering: 1 } as const

/** Kinds of resource that a config belongs to (Kafka: ConfigResource.Type). */
export const configResources = { topic: 2, broker: 4 } as const

/** Change of a broker's fencing (Kafka: BrokerRegistrationFencingChange). Absent: unchanged. */
export const fencingChanges = { fence: 1, unfence: -1 } as const

/** Change of a broker's shutdown flag. Absent: unchanged. */
export const controlledShutdownChanges = { begin: 1 } as const

export interface RegisterBrokerRecord {
  readonly type: 'registerBroker'
  readonly brokerId: BrokerId
  readonly incarnationId: string
  readonly brokerEpoch: BrokerEpoch
  readonly fenced: boolean
  readonly inControlledShutdown?: boolean
  readonly isMigratingZkBroker?: boolean
  readonly endPoints?: readonly BrokerEndPoint[]
  readonly features?: readonly BrokerFeature[]
  readonly rack?: string
  readonly logDirs?: readonly string[]
  readonly cordonedLogDirs?: readonly string[]
}

export interface BrokerEndPoint {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly securityProtocol: number
}

export interface BrokerFeature {
  readonly name: string
  readonly minSupportedVersion: number
  readonly maxSupportedVersion: number
}

export interface UnregisterBrokerRecord {
  readonly type: 'unregisterBroker'
  readonly brokerId: BrokerId
  readonly brokerEpoch: BrokerEpoch
}

export interface BrokerRegistrationChangeRecord {
  readonly type: 'brokerRegistrationChange'
  readonly brokerId: BrokerId
  readonly brokerEpoch: BrokerEpoch
  /** One of `fencingChanges`. */
  readonly fenced?: number
  /** One of `controlledShutdownChanges`. */
  readonly inControlledShutdown?: number
  readonly logDirs?: readonly string[]
  readonly cordonedLogDirs?: readonly string[]
}

/** Only read: what Kafka wrote before BrokerRegistrationChangeRecord existed. */
export interface FenceBrokerRecord {
  readonly type: 'fenceBroker'
  readonly id: BrokerId
  readonly epoch: BrokerEpoch
}

/** Only read, as above. */
export interface UnfenceBrokerRecord {
  readonly type: 'unfenceBroker'
  readonly id: BrokerId
  readonly epoch: BrokerEpoch
}

export interface TopicRecord {
  readonly type: 'topic'
  readonly name: string
  readonly topicId: string
}

export interface RemoveTopicRecord {
  readonly type: 'removeTopic'
  readonly topicId: string
}

export interface PartitionRecord {
  readonly type: 'partition'
  readonly partitionId: number
  readonly topicId: string
  readonly replicas: readonly BrokerId[]
  readonly isr: readonly BrokerId[]
  readonly removingReplicas: readonly BrokerId[]
  readonly addingReplicas: readonly BrokerId[]
  readonly leader: BrokerId
  readonly leaderEpoch: LeaderEpoch
  readonly partitionEpoch: PartitionEpoch
  /** One of `leaderRecoveryStates`; absent: recovered. */
  readonly leaderRecoveryState?: number
  readonly directories?: readonly string[]
  readonly eligibleLeaderReplicas?: readonly BrokerId[]
  readonly lastKnownElr?: readonly BrokerId[]
  /** Our own, in snapshots: the index that the partition's record got in the log. */
  readonly partitionIndex?: number
}

export interface PartitionChangeRecord {
  readonly type: 'partitionChange'
  readonly partitionId: number
  readonly topicId: string
  readonly isr?: readonly BrokerId[]
  /** Present, even with the same id: the leader epoch grows by one. -1: there is no leader now. */
  readonly leader?: BrokerId
  readonly replicas?: readonly BrokerId[]
  readonly removingReplicas?: readonly BrokerId[]
  readonly addingReplicas?: readonly BrokerId[]
  readonly leaderRecoveryState?: number
  readonly directories?: readonly string[]
  readonly eligibleLeaderReplicas?: readonly BrokerId[]
  readonly lastKnownElr?: readonly BrokerId[]
}

export interface ConfigRecord {
  readonly type: 'config'
  /** One of `configResources`. */
  readonly resourceType: number
  /** Name of the topic, id of the broker; empty: the default of all brokers. */
  readonly resourceName: string
  readonly name: string
  /** null: the setting is removed. */
  readonly value: string | null
}

export interface ProducerIdsRecord {
  readonly type: 'producerIds'
  /** Who asked; -1: no broker. */
  readonly brokerId: number
  readonly brokerEpoch: number
  readonly nextProducerId: number
}

export interface FeatureLevelRecord {
  readonly type: 'featureLevel'
  readonly name: string
  readonly featureLevel: number
}

export interface NoOpRecord {
  readonly type: 'noOp'
  /** Our own, at the end of snapshots: how many indexes of partitions were given out. */
  readonly partitionIndexesEnd?: number
}

/** Only read: Kafka's answer to a changed `min.insync.replicas` (KIP-966). */
export interface ClearElrRecord {
  readonly type: 'clearElr'
  /** Empty: of all topics. */
  readonly topicName: string
}

/** Only read: Kafka brackets what doesn't fit into one batch. */
export interface BeginTransactionRecord {
  readonly type: 'beginTransaction'
  readonly name?: string
}

export interface EndTransactionRecord {
  readonly type: 'endTransaction'
}

export interface AbortTransactionRecord {
  readonly type: 'abortTransaction'
  readonly reason?: string
}

/** Only read: a kind of Kafka's that means nothing here (quotas, access rules, controllers, …). */
export interface OpaqueRecord {
  readonly type: 'opaque'
  readonly apiKey: number
  readonly version: number
  /** The message as it is, after frame version, kind and version. */
  readonly body: Uint8Array
}

/** A kind whose fields we know. */
export type KnownMetadataRecord =
  | RegisterBrokerRecord
  | UnregisterBrokerRecord
  | BrokerRegistrationChangeRecord
  | FenceBrokerRecord
  | UnfenceBrokerRecord
  | TopicRecord
  | RemoveTopicRecord
  | PartitionRecord
  | PartitionChangeRecord
  | ConfigRecord
  | FeatureLevelRecord
  | ProducerIdsRecord
  | NoOpRecord
  | ClearElrRecord
  | BeginTransactionRecord
  | EndTransactionRecord
  | AbortTransactionRecord

export type MetadataRecord = KnownMetadataRecord | OpaqueRecord
