/** What may be set for a log; names follow Kafka's topic configs (`segment.bytes`, …). */
import type { ClusterConfig, TopicConfig } from '../config.ts'
import { TidemarkError } from '../errors.ts'
import { limits } from '../limits.ts'
import { batchOverheadBytes } from './batch-layout.ts'
import { offsetIndexEntryBytes } from './offset-index.ts'
import { timeIndexEntryBytes } from './time-index.ts'

/**
 * When appended bytes are forced to the disk: when the system likes (`os`), every `ms` milliseconds
 * by `flushIfDue` (`interval`), or before each append returns (`batch`).
 */
export type FlushPolicy =
  | { readonly kind: 'os' }
  | { readonly kind: 'interval'; readonly ms: number }
  | { readonly kind: 'batch' }

export interface LogConfig {
  /** A segment never grows beyond; a larger batch is refused. At most 2^31 - 1. */
  readonly segmentBytes: number
  /** A segment takes no record that is newer than its first by more than this. */
  readonly segmentMs: number
  /** An index entry for about every so many bytes. */
  readonly indexIntervalBytes: number
  /** A segment whose index would outgrow this is rolled. */
  readonly segmentIndexBytes: number
  /** Largest batch a leader takes. */
  readonly maxMessageBytes: number
  readonly flush: FlushPolicy
  /** A segment is rolled up to so much earlier than `segmentMs` says; by which, its place tells. */
  readonly segmentJitterMs: number
  /** Whether old segments go by age and size. */
  readonly deletes: boolean
  /** Whether of each key the latest record stays; then every record needs a key. */
  readonly compacts: boolean
  /** Age, by its newest record, at which a segment goes; -1: none. */
  readonly retentionMs: number
  /** The oldest segments go as long as so many bytes are left without them; -1: never. */
  readonly retentionBytes: number
  /** How long the files of dropped segments stay. */
  readonly fileDeleteDelayMs: number
  /** How long a compacted log keeps a tombstone from the first compaction on that meets it. */
  readonly deleteRetentionMs: number
  readonly minCleanableDirtyRatio: number
  readonly minCompactionLagMs: number
  readonly maxCompactionLagMs: number
  /** A producer that has written nothing for so long is forgotten. */
  readonly producerIdExpirationMs: number
}

const dayMs = 86_400_000

/** Kafka's defaults. */
export const logConfigDefaults: LogConfig = {
  segmentBytes: 1024 * 1024 * 1024,
  segmentMs: 7 * dayMs,
  indexIntervalBytes: 4096,
  segmentIndexBytes: 10 * 1024 * 1024,
  maxMessageBytes: limits.batchBytesDefaultMax,
  flush: { kind: 'os' },
  segmentJitterMs: 0,
  deletes: true,
  compacts: false,
  retentionMs: 7 * dayMs,
  retentionBytes: -1,
  fileDeleteDelayMs: 60_000,
  deleteRetentionMs: dayMs,
  minCleanableDirtyRatio: 0.5,
  minCompactionLagMs: 0,
  maxCompactionLagMs: Number.MAX_SAFE_INTEGER,
  producerIdExpirationMs: dayMs,
}

/** How a topic's settings look to its log. */
export function logConfigOf(
  config: Omit<TopicConfig, 'min.insync.replicas' | 'unclean.leader.election.enable'>,
  broker?: Pick<ClusterConfig, 'producer.id.expiration.ms'>,
): LogConfig {
  const flush =
    config['flush.messages'] === 1
      ? ({ kind: 'batch' } as const)
      : config['flush.ms'] > 0
        ? ({ kind: 'interval', ms: config['flush.ms'] } as const)
        : ({ kind: 'os' } as const)
  return {
    segmentBytes: config['segment.bytes'],
    segmentMs: config['segment.ms'],
    segmentIndexBytes: config['segment.index.bytes'],
    indexIntervalBytes: config['index.interval.bytes'],
    maxMessageBytes: config['max.message.bytes'],
    flush,
    segmentJitterMs: config['segment.jitter.ms'],
    deletes: config['cleanup.policy'].includes('delete'),
    compacts: config['cleanup.policy'].includes('compact'),
    retentionMs: config['retention.ms'],
    retentionBytes: config['retention.bytes'],
    fileDeleteDelayMs: config['file.delete.delay.ms'],
    deleteRetentionMs: config['delete.retention.ms'],
    minCleanableDirtyRatio: config['min.cleanable.dirty.ratio'],
    minCompactionLagMs: config['min.compaction.lag.ms'],
    maxCompactionLagMs: config['max.compaction.lag.ms'],
    producerIdExpirationMs:
      broker?.['producer.id.expiration.ms'] ?? logConfigDefaults.producerIdExpirationMs,
  }
}

const int32Max = 0x7fff_ffff

/** @throws {TidemarkError} INVALID_CONFIG naming the setting, its value and what is allowed. */
export function checkLogConfig(config: LogConfig): void {
  checkRange('segmentBytes', config.segmentBytes, batchOverheadBytes, int32Max)
  checkRange('segmentMs', config.segmentMs, 1, Number.MAX_SAFE_INTEGER)
  checkRange('indexIntervalBytes', config.indexIntervalBytes, 0, int32Max)
  const indexBytesMin = Math.max(offsetIndexEntryBytes, 2 * timeIndexEntryBytes)
  checkRange('segmentIndexBytes', config.segmentIndexBytes, indexBytesMin, int32Max)
  checkRange('maxMessageBytes', config.maxMessageBytes, batchOverheadBytes, limits.batchBytesMax)
  const anyNumber = Number.MAX_SAFE_INTEGER
  checkRange('segmentJitterMs', config.segmentJitterMs, 0, anyNumber)
  checkRange('retentionMs', config.retentionMs, -1, anyNumber)
  checkRange('retentionBytes', config.retentionBytes, -1, anyNumber)
  checkRange('fileDeleteDelayMs', config.fileDeleteDelayMs, 0, anyNumber)
  checkRange('deleteRetentionMs', config.deleteRetentionMs, 0, anyNumber)
  checkRange('minCompactionLagMs', config.minCompactionLagMs, 0, anyNumber)
  checkRange('maxCompactionLagMs', config.maxCompactionLagMs, 1, anyNumber)
  const ratio = config.minCleanableDirtyRatio
  if (!(ratio >= 0 && ratio <= 1)) {
    throw new TidemarkError('INVALID_CONFIG', `minCleanableDirtyRatio ${ratio}: allowed are 0 to 1`)
  }
  checkRange('producerIdExpirationMs', config.producerIdExpirationMs, 1, Number.MAX_SAFE_INTEGER)
  if (config.flush.kind === 'interval') {
    checkRange('flush.ms', config.flush.ms, 0, Number.MAX_SAFE_INTEGER)
  }
}

function checkRange(name: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return
  throw new TidemarkError('INVALID_CONFIG', `${name} ${value}: allowed are ${min} to ${max}`)
}
