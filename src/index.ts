/** Public names of `tidemark`. */
export type { ConsumeOptions } from './client/consumer.ts'
export type { Producer, RecordMetadata } from './client/producer.ts'
export type { ProducerOptions } from './client/producer-options.ts'
export type { SendRecord } from './client/producer-record.ts'
export { Cluster } from './cluster.ts'
export type {
  ClusterAdmin,
  NamedPartition,
  PartitionMove,
  PartitionOutcome,
  PartitionReassignment,
  TopicConfigChanges,
} from './cluster-admin.ts'
export type { PartitionDescription, ReplicaDescription } from './cluster-describe.ts'
export type { ClusterEvent, ClusterEventListener } from './cluster-events.ts'
export type { ClusterFaults, CutDirection, DiskSlowness, Isolation } from './cluster-faults.ts'
export type { MetricsOptions } from './cluster-metrics.ts'
export type { ClusterOptions, CreateTopicOptions } from './cluster-options.ts'
export type { TopicPlacement } from './cluster-placement.ts'
export {
  type ClusterConfig,
  type ClusterConfigInput,
  clusterConfig,
  type TopicConfig,
  type TopicConfigInput,
  topicConfig,
} from './config.ts'
export { type ErrorCode, errorKinds, isTidemarkError, TidemarkError } from './errors.ts'
export type { BrokerId, PartitionIndex } from './ids.ts'
export type { LogRecord, RecordHeader } from './log/record.ts'
export type { ControllerEvent } from './replication/controller/controller-events.ts'
export type { ReplicationEvent } from './replication/replication-event.ts'
