/**
 * Messages between brokers, controller and clients. Plain data: they cross threads by structured
 * clone, and the simulation's network by reference.
 */
import type { ErrorCode } from '../errors.ts'
import type { BrokerEpoch, BrokerId, LeaderEpoch, PartitionEpoch, PartitionIndex } from '../ids.ts'
import type { MetadataRecord } from './controller/metadata-records.ts'
import type { LeaderRecoveryState } from './registration.ts'

/**
 * Member of a proposed ISR; epoch -1: the leader doesn't know it, the controller skips the check.
 */
export interface ProposedReplica {
  readonly brokerId: BrokerId
  readonly brokerEpoch: BrokerEpoch
}

export interface AlterPartitionItem {
  readonly partition: PartitionIndex
  readonly leaderEpoch: LeaderEpoch
  readonly partitionEpoch: PartitionEpoch
  readonly newInSyncReplicas: readonly ProposedReplica[]
  readonly leaderRecoveryState: LeaderRecoveryState
}

export interface AlterPartitionRequest {
  readonly type: 'alterPartition'
  readonly correlationId: number
  readonly brokerId: BrokerId
  readonly brokerEpoch: BrokerEpoch
  readonly items: readonly AlterPartitionItem[]
}

export interface AlterPartitionItemResult {
  readonly partition: PartitionIndex
  readonly error: ErrorCode | 'NONE'
  readonly leader: BrokerId
  readonly leaderEpoch: LeaderEpoch
  readonly partitionEpoch: PartitionEpoch
  readonly inSyncReplicas: readonly BrokerId[]
  readonly leaderRecoveryState: LeaderRecoveryState
}

export interface AlterPartitionResponse {
  readonly type: 'alterPartitionResponse'
  readonly correlationId: number
  /** Error of the whole request (for example STALE_BROKER_EPOCH); then `items` is empty. */
  readonly error: ErrorCode | 'NONE'
  readonly items: readonly AlterPartitionItemResult[]
}

export interface RegisterBrokerRequest {
  readonly type: 'registerBroker'
  readonly correlationId: number
  readonly brokerId: BrokerId
  readonly incarnationId: string
  readonly clusterId: string
  /** Epoch of the last life if it ended cleanly, else -1. */
  readonly previousBrokerEpoch: BrokerEpoch
  /**
   * Whoever started the new incarnation has seen the thread of the old one end, so its session is
   * over (in one process that is known; over a network it would have to time out).
   */
  readonly previousIncarnationEnded: boolean
}

export interface RegisterBrokerResponse {
  readonly type: 'registerBrokerResponse'
  readonly correlationId: number
  readonly error: ErrorCode | 'NONE'
  readonly brokerEpoch: BrokerEpoch
}

export interface BrokerHeartbeatRequest {
  readonly type: 'brokerHeartbeat'
  readonly correlationId: number
  readonly brokerId: BrokerId
  readonly brokerEpoch: BrokerEpoch
  /** Exclusive end of the metadata log as applied by the broker. */
  readonly metadataOffset: number
  readonly wantFence: boolean
  readonly wantShutDown: boolean
}

export interface BrokerHeartbeatResponse {
  readonly type: 'brokerHeartbeatResponse'
  readonly correlationId: number
  readonly error: ErrorCode | 'NONE'
  readonly isCaughtUp: boolean
  readonly isFenced: boolean
  readonly shouldShutDown: boolean
}

export interface CreateTopicRequest {
  readonly type: 'createTopic'
  readonly correlationId: number
  readonly topic: string
  /** Replicas of each partition, the preferred leader first. */
  readonly assignments: readonly (readonly BrokerId[])[]
  readonly configs: Readonly<Record<string, string>>
}

export interface CreateTopicResponse {
  readonly type: 'createTopicResponse'
  readonly correlationId: number
  readonly error: ErrorCode | 'NONE'
  readonly detail: string
  readonly topicId: string
}

/** The same for a topic that exists: partitions are added at its end, never taken away. */
export interface CreatePartitionsRequest {
  readonly type: 'createPartitions'
  readonly correlationId: number
  readonly topic: string
  /** How many it is to have, with those that exist. */
  readonly count: number
  /** Replicas of each new partition, the preferred leader first. */
  readonly assignments: readonly (readonly BrokerId[])[]
}

export interface DeleteTopicRequest {
  readonly type: 'deleteTopic'
  readonly correlationId: number
  readonly topic: string
}

/** Kafka: IncrementalAlterConfigs with SET and DELETE. */
export interface AlterConfigsRequest {
  readonly type: 'alterConfigs'
  readonly correlationId: number
  /** Name of the topic; undefined: the default of all topics. */
  readonly topic: string | undefined
  /** null: back to the default. */
  readonly changes: Readonly<Record<string, string | null>>
}

export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

export interface ElectLeadersRequest {
  readonly type: 'electLeaders'
  readonly correlationId: number
  readonly election: 'preferred' | 'unclean'
  /** undefined: all that need one. */
  readonly partitions: readonly TopicPartition[] | undefined
}

export interface ReassignablePartition extends TopicPartition {
  /** The preferred leader first; null: call the running reassignment off. */
  readonly replicas: readonly BrokerId[] | null
}

export interface AlterReassignmentsRequest {
  readonly type: 'alterReassignments'
  readonly correlationId: number
  readonly partitions: readonly ReassignablePartition[]
}

export interface PartitionResult extends TopicPartition {
  readonly error: ErrorCode | 'NONE'
  readonly detail: string
}

/** Requests of an administrator, all answered by `AdminResponse`. */
export type AdminRequest =
  | CreatePartitionsRequest
  | DeleteTopicRequest
  | AlterConfigsRequest
  | ElectLeadersRequest
  | AlterReassignmentsRequest

export interface AdminResponse {
  readonly type: 'adminResponse'
  readonly correlationId: number
  /** Of the whole request; then nothing was done. */
  readonly error: ErrorCode | 'NONE'
  readonly detail: string
  /** Of each partition that was asked for, in that order; empty when none was. */
  readonly results: readonly PartitionResult[]
}

/** For producers' ids, a block at a time. */
export interface AllocateProducerIdsRequest {
  readonly type: 'allocateProducerIds'
  readonly correlationId: number
}

export interface AllocateProducerIdsResponse {
  readonly type: 'allocateProducerIdsResponse'
  readonly correlationId: number
  readonly error: ErrorCode | 'NONE'
  readonly detail: string
  readonly producerIdStart: number
  readonly producerIdCount: number
}

/**
 * Asks for the metadata log from an offset on: all that is there at once, then each append as it
 * comes. When the log no longer reaches back so far, a snapshot comes first.
 */
export interface SubscribeMetadataRequest {
  readonly type: 'subscribeMetadata'
  readonly fromOffset: number
}

/** Records as committed, in order: the record at `baseOffset + i` is `records[i]`. */
export interface MetadataUpdate {
  readonly type: 'metadataUpdate'
  readonly baseOffset: number
  readonly records: readonly MetadataRecord[]
}

/** The whole state at an offset, as records to be loaded in place of all before. */
export interface MetadataSnapshot {
  readonly type: 'metadataSnapshot'
  readonly endOffset: number
  readonly records: readonly MetadataRecord[]
}

export type ControllerRequest =
  | AlterPartitionRequest
  | RegisterBrokerRequest
  | BrokerHeartbeatRequest
  | CreateTopicRequest
  | AdminRequest
  | AllocateProducerIdsRequest
  | SubscribeMetadataRequest

export type ControllerResponse =
  | AlterPartitionResponse
  | RegisterBrokerResponse
  | BrokerHeartbeatResponse
  | CreateTopicResponse
  | AdminResponse
  | AllocateProducerIdsResponse
  | MetadataUpdate
  | MetadataSnapshot
