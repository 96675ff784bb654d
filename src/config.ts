/**
 * Configuration under Apache Kafka's names, checked once at the edge: unknown keys and values out
 * of range are refused with one line; inside, configuration is frozen and complete.
 */
import { z } from 'zod'
import { TidemarkError } from './errors.ts'
import { limits } from './limits.ts'

const KiB = 1024
const MiB = 1024 * KiB

const positive = z.number().int().positive()
const fromZero = z.number().int().nonnegative()
/** -1: no bound. */
const fromMinusOne = z.number().int().min(-1)
const dayMs = 24 * 3_600_000

/** Settings of a topic. Defaults are Kafka's unless said otherwise. */
const topicShape = {
  'min.insync.replicas': positive.max(limits.replicationFactorMax).default(1),
  'segment.bytes': z
    .number()
    .int()
    .min(16 * KiB)
    .max(2 ** 31 - 1)
    .default(1024 * MiB),
  'segment.ms': positive.default(7 * dayMs),
  /** A segment is rolled by `segment.ms` up to so much earlier, so that not all roll at once. */
  'segment.jitter.ms': fromZero.default(0),
  'segment.index.bytes': z
    .number()
    .int()
    .min(12)
    .default(10 * MiB),
  'index.interval.bytes': fromZero.default(4_096),
  'max.message.bytes': positive.max(limits.batchBytesMax).default(limits.batchBytesDefaultMax),
  /**
   * fsync after this many append calls; 0: left to the system (Kafka: `flush.messages` = max). Only
   * 0 and 1.
   */
  'flush.messages': z.union([z.literal(0), z.literal(1)]).default(0),
  /** fsync at most this long after an append; 0: left to the system. */
  'flush.ms': fromZero.default(0),
  /**
   * `delete`: old segments go by age and size; `compact`: of each key the latest record stays.
   */
  'cleanup.policy': z
    .enum(['delete', 'compact', 'compact,delete', 'delete,compact'])
    .default('delete'),
  'retention.ms': fromMinusOne.default(7 * dayMs),
  'retention.bytes': fromMinusOne.default(-1),
  /**
   * How long a leader keeps what has expired for a living follower that has yet to copy it; 0: not,
   * and the follower starts over, as in Kafka.
   */
  'retention.follower.hold.ms': fromZero.default(0),
  /** How long the files of a segment that was dropped stay for those who read them. */
  'file.delete.delay.ms': fromZero.default(60_000),
  /** How long a compacted log shows that a key was deleted, from the first compaction on. */
  'delete.retention.ms': fromZero.default(dayMs),
  'min.cleanable.dirty.ratio': z.number().min(0).max(1).default(0.5),
  /** Records younger than this aren't compacted. */
  'min.compaction.lag.ms': fromZero.default(0),
  /** Records older than this are compacted whatever the dirty ratio is. */
  'max.compaction.lag.ms': positive.default(Number.MAX_SAFE_INTEGER),
  'unclean.leader.election.enable': z.boolean().default(false),
} as const

/** Settings of the cluster. */
const clusterShape = {
  'replica.lag.time.max.ms': z.number().int().min(20).default(30_000),
  /**
   * `log.end.offset`: the poll reached the leader's end by the caught-up rule; `high.watermark`:
   * Kafka's.
   */
  'isr.expand.criterion': z.enum(['log.end.offset', 'high.watermark']).default('log.end.offset'),
  'broker.session.timeout.ms': z.number().int().min(100).default(9_000),
  'broker.heartbeat.interval.ms': z.number().int().min(10).default(2_000),
  /**
   * 1: eligible leader replicas are kept (KIP-966). Of a cluster that is made; one that exists
   * keeps what it was made with.
   */
  'eligible.leader.replicas.version': z.union([z.literal(0), z.literal(1)]).default(1),
  'auto.leader.rebalance.enable': z.boolean().default(true),
  'leader.imbalance.check.interval.seconds': positive.default(300),
  'leader.imbalance.per.broker.percentage': z.number().int().min(0).max(100).default(10),
  'unclean.leader.election.interval.ms': positive.default(300_000),
  'metadata.log.max.record.bytes.between.snapshots': positive.default(20 * MiB),
  'replica.high.watermark.checkpoint.interval.ms': z.number().int().min(10).default(5_000),
  'log.flush.offset.checkpoint.interval.ms': z.number().int().min(10).default(60_000),
  'log.flush.start.offset.checkpoint.interval.ms': z.number().int().min(10).default(60_000),
  'log.retention.check.interval.ms': positive.default(300_000),
  /** How long the cleaner rests when no log is worth compacting. */
  'log.cleaner.backoff.ms': fromZero.default(15_000),
  /** Memory for the keys of one compaction: 24 bytes a key, nine tenths of it used. */
  'log.cleaner.dedupe.buffer.size': z
    .number()
    .int()
    .min(1 * KiB)
    .max(2 ** 31 - 1)
    .default(128 * MiB),
  /** Bytes a second that one compaction reads and writes; 0: as fast as it can. */
  'log.cleaner.io.max.bytes.per.second': fromZero.default(0),
  /** A follower polls at least this often when there is nothing to do, as Kafka's. */
  'replica.fetch.wait.max.ms': z.number().int().min(5).max(500).default(500),
  /** A fetch of a partition that failed is tried again after so long. */
  'replica.fetch.backoff.ms': positive.default(1_000),
  /** Looked at when old segments are. */
  'producer.id.expiration.ms': positive.default(24 * 3_600_000),
  /** Shared ring of each broker; a power of two. */
  'ring.bytes': z
    .number()
    .int()
    .min(limits.ringBytesMin)
    .max(limits.ringBytesMax)
    .refine((bytes) => Number.isInteger(Math.log2(bytes)), 'must be a power of two')
    .default(limits.ringBytesDefault),
  'partitions.max': positive.max(100_000).default(limits.partitionsDefaultMax),
  /**
   * A follower that made no progress for so long is detached from the ring and reads from disk
   * later.
   */
  'ring.detach.stuck.ms': z.number().int().min(5).default(300),
  /** A follower that keeps more than half of the ring busy for so long is detached. */
  'ring.detach.slow.ms': z.number().int().min(5).default(500),
  'catch.up.policy': z.enum(['smallest-lag-first', 'round-robin']).default('smallest-lag-first'),
  'catch.up.read.bytes': z
    .number()
    .int()
    .min(4 * KiB)
    .max(16 * MiB)
    .default(limits.catchUpReadBytesDefault),
} as const

const lagsInOrder = (topic: {
  readonly 'min.compaction.lag.ms': number
  readonly 'max.compaction.lag.ms': number
}): boolean => topic['min.compaction.lag.ms'] <= topic['max.compaction.lag.ms']

const lagsOutOfOrder = {
  path: ['max.compaction.lag.ms'],
  message: 'must not be less than min.compaction.lag.ms',
}

/** Of a log alone: what a topic has that concerns its log, and what a producer would bring. */
const standaloneSchema = z
  .strictObject(topicShape)
  .omit({ 'min.insync.replicas': true, 'unclean.leader.election.enable': true })
  .extend({
    /** Of batches that `append` encodes. */
    'compression.type': z.enum(['none', 'gzip', 'snappy', 'lz4', 'zstd']).default('none'),
    /** Bytes of records that `append` puts into one batch; a larger record gets its own. */
    'batch.size': positive.max(limits.batchBytesMax).default(128 * KiB),
    /** Kafka's default is seven days: a topic's user knows of it, a program's own log keeps all. */
    'retention.ms': fromMinusOne.default(-1),
  })
  .refine(lagsInOrder, lagsOutOfOrder)

const topicSchema = z.strictObject(topicShape).refine(lagsInOrder, lagsOutOfOrder)
const clusterSchema = z.strictObject(clusterShape)

export type TopicConfig = Readonly<z.output<typeof topicSchema>>
export type StandaloneConfig = Readonly<z.output<typeof standaloneSchema>>
export type StandaloneConfigInput = Readonly<z.input<typeof standaloneSchema>>
export type TopicConfigInput = Readonly<z.input<typeof topicSchema>>
export type ClusterConfig = Readonly<z.output<typeof clusterSchema>>
export type ClusterConfigInput = Readonly<z.input<typeof clusterSchema>>

function parse<T>(schema: z.ZodType<T>, input: unknown, what: string): Readonly<T> {
  const result = schema.safeParse(input)
  if (result.success) return Object.freeze(result.data)
  const [issue] = result.error.issues
  if (issue === undefined) throw new TidemarkError('INVALID_CONFIG', what)
  if (issue.code === 'unrecognized_keys') {
    throw new TidemarkError('INVALID_CONFIG', `${what}: unknown setting ${issue.keys.join(', ')}`)
  }
  const key = issue.path.join('.')
  const value = (input as Record<string, unknown>)[key]
  throw new TidemarkError(
    'INVALID_CONFIG',
    `${what}: ${key} = ${JSON.stringify(value)}: ${issue.message}`,
  )
}

/** @throws {TidemarkError} INVALID_CONFIG naming the setting, its value and what is allowed */
export function topicConfig(input: TopicConfigInput = {}): TopicConfig {
  return parse(topicSchema, input, 'topic configuration')
}

/** @throws {TidemarkError} INVALID_CONFIG naming the setting, its value and what is allowed */
export function standaloneConfig(input: StandaloneConfigInput = {}): StandaloneConfig {
  return parse(standaloneSchema, input, 'log configuration')
}

/** @throws {TidemarkError} INVALID_CONFIG naming the setting, its value and what is allowed */
export function clusterConfig(input: ClusterConfigInput = {}): ClusterConfig {
  return parse(clusterSchema, input, 'cluster configuration')
}

/** As the metadata log stores it: every value as text, defaults left out. */
export function topicConfigEntries(input: TopicConfigInput): Record<string, string> {
  topicConfig(input)
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, String(value)]))
}

/**
 * Reads back what `topicConfigEntries` wrote.
 *
 * @throws {TidemarkError} INVALID_CONFIG
 */
export function topicConfigFromEntries(entries: ReadonlyMap<string, string>): TopicConfig {
  const input: Record<string, unknown> = {}
  for (const [key, text] of entries) {
    if (text === 'true' || text === 'false') input[key] = text === 'true'
    else input[key] = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
  }
  return topicConfig(input as TopicConfigInput)
}
