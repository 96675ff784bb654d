/** Public names of `tidemark/log`: a partition's log in Apache Kafka's file format, alone. */

export type { StandaloneConfig, StandaloneConfigInput } from '../config.ts'
export { AsyncSegmentReader } from './async-segment-reader.ts'
export { BatchEncoder, type BatchOptions } from './batch-encoder.ts'
export {
  attributesAt,
  type BatchFault,
  baseOffsetAt,
  baseTimestampAt,
  batchPositions,
  type Compression,
  checkBatch,
  compressionAt,
  lastOffsetAt,
  lastOffsetDeltaAt,
  leaderEpochAt,
  maxTimestampAt,
  nextOffsetAt,
  recordCountAt,
  sizeInBytesAt,
  stampBatch,
} from './batch-header.ts'
export { batchOverheadBytes } from './batch-layout.ts'
export { type BatchMemory, type BatchRun, batchMemory } from './batch-memory.ts'
export { Cleaner } from './compaction/cleaner.ts'
export type { CleanerJob, CleanerResult } from './compaction/cleaner-job.ts'
export { type FileSystem, type OpenMode, realFileSystem } from './file-system.ts'
export {
  type EpochEnd,
  type LeaderEpochEntry,
  LeaderEpochs,
  readLeaderEpochs,
} from './leader-epochs.ts'
export { Log } from './log.ts'
export { type FlushPolicy, type LogConfig, logConfigDefaults } from './log-config.ts'
export {
  type CheckpointKind,
  LogDirectory,
  type LogDirectoryOptions,
  type PartitionDirectory,
} from './log-directory.ts'
export type { LogOptions } from './log-opening.ts'
export type {
  AppendOptions,
  AppendResult,
  CompactionProgress,
  CompactionSummary,
  CompactOptions,
  FollowOptions,
  Isolation,
  LogDescription,
  OpenLogOptions,
  ProducerStamp,
  ReadOptions,
  TransactionEnd,
} from './log-options.ts'
export type { StoredBatch } from './log-records.ts'
export {
  type RecoveryOptions,
  type RecoveryProgress,
  type RecoverySummary,
  recoverLog,
} from './log-recovery.ts'
export type { MetaProperties } from './meta-properties.ts'
export type { OffsetsByPartition, PartitionOffset } from './offset-checkpoint.ts'
export { OpenFiles } from './open-files.ts'
export { PartitionLog } from './partition-log.ts'
export { payloadCopies } from './payload-copies.ts'
export { AppendOutcomes } from './producers/append-outcomes.ts'
export type { EndMarker } from './producers/end-marker.ts'
export type { LogProducers } from './producers/log-producers.ts'
export type { ProducerSnapshotEntry } from './producers/producer-snapshot.ts'
export { ReadCommitted } from './producers/read-committed.ts'
export type { AbortedTransaction } from './producers/transaction-index.ts'
export type { SegmentPosition } from './read-plan.ts'
export {
  batchSizeBound,
  type LogRecord,
  type ProduceRecord,
  type RecordHeader,
  uniformBatchSizeBound,
} from './record.ts'
export type { HeaderInput, RecordInput } from './record-input.ts'
export { forEachRecord, type RecordPlace, readRecords, recordOf } from './record-reader.ts'
export { SegmentReader, type SegmentReaderOptions } from './segment-reader.ts'
export type { TimestampOffset } from './timestamp-lookup.ts'
export { checkTopicName, type TopicPartition, topicNameFault } from './topic-name.ts'
