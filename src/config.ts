/**
 * Configuration under Apache Kafka's names, checked once at the edge: unknown keys and values out
 * of range are refused with one line; inside, configuration is frozen and complete.
 */
import { limits } from './limits.ts'
import {
  flag,
  type InputOf,
  oneOf,
  ranging,
  readSettings,
  refused,
  suchThat,
  type ValuesOf,
  whole,
} from './settings.ts'

const KiB = 1024
const MiB = 1024 * KiB

const dayMs = 24 * 3_600_000

/** Settings of a topic. Defaults are Kafka's unless said otherwise. */
const topicShape = {
  'min.insync.replicas': whole(1, 1, limits.replicationFactorMax),
  'segment.bytes': whole(1024 * MiB, 16 * KiB, 2 ** 31 - 1),
  'segment.ms': whole(7 * dayMs, 1),
  /** A segment is rolled by `segment.ms` up to so much earlier, so that not all roll at once. */
  'segment.jitter.ms': whole(0, 0),
  'segment.index.bytes': whole(10 * MiB, 12),
  'index.interval.bytes': whole(4_096, 0),
  'max.message.bytes': whole(limits.batchBytesDefaultMax, 1, limits.batchBytesMax),
  /**
   * fsync after this many append calls; 0: left to the system (Kafka: `flush.messages` = max). Only
   * 0 and 1.
   */
  'flush.messages': oneOf(0, [0, 1]),
  /** fsync at most this long after an append; 0: left to the system. */
  'flush.ms': whole(0, 0),
  /**
   * `delete`: old segments go by age and size; `compact`: of each key the latest record stays.
   */
  'cleanup.policy': oneOf('delete', ['delete', 'compact', 'compact,delete', 'delete,compact']),
  'retention.ms': whole(7 * dayMs, -1),
  'retention.bytes': whole(-1, -1),
  /**
   * How long a leader keeps what has expired for a living follower that has yet to copy it; 0: not,
   * and the follower starts over, as in Kafka.
   */
  'retention.follower.hold.ms': whole(0, 0),
  /** How long the files of a segment that was dropped stay for those who read them. */
  'file.delete.delay.ms': whole(60_000, 0),
  /** How long a compacted log shows that a key was deleted, from the first compaction on. */
  'delete.retention.ms': whole(dayMs, 0),
  'min.cleanable.dirty.ratio': ranging(0.5, 0, 1),
  /** Records younger than this aren't compacted. */
  'min.compaction.lag.ms': whole(0, 0),
  /** Records older than this are compacted whatever the dirty ratio is. */
  'max.compaction.lag.ms': whole(Number.MAX_SAFE_INTEGER, 1),
  'unclean.leader.election.enable': flag(false),
} as const

/** Settings of the cluster. */
const clusterShape = {
  'replica.lag.time.max.ms': whole(30_000, 20),
  /**
   * `log.end.offset`: the poll reached the leader's end by the caught-up rule; `high.watermark`:
   * Kafka's.
   */
  'isr.expand.criterion': oneOf('log.end.offset', ['log.end.offset', 'high.watermark']),
  'broker.session.timeout.ms': whole(9_000, 100),
  'broker.heartbeat.interval.ms': whole(2_000, 10),
  /**
   * 1: eligible leader replicas are kept (KIP-966). Of a cluster that is made; one that exists
   * keeps what it was made with.
   */
  'eligible.leader.replicas.version': oneOf(1, [0, 1]),
  'auto.leader.rebalance.enable': flag(true),
  'leader.imbalance.check.interval.seconds': whole(300, 1),
  'leader.imbalance.per.broker.percentage': whole(10, 0, 100),
  'unclean.leader.election.interval.ms': whole(300_000, 1),
  'metadata.log.max.record.bytes.between.snapshots': whole(20 * MiB, 1),
  'replica.high.watermark.checkpoint.interval.ms': whole(5_000, 10),
  'log.flush.offset.checkpoint.interval.ms': whole(60_000, 10),
  'log.flush.start.offset.checkpoint.interval.ms': whole(60_000, 10),
  'log.retention.check.interval.ms': whole(300_000, 1),
  /** How long the cleaner rests when no log is worth compacting. */
  'log.cleaner.backoff.ms': whole(15_000, 0),
  /** Memory for the keys of one compaction: 24 bytes a key, nine tenths of it used. */
  'log.cleaner.dedupe.buffer.size': whole(128 * MiB, 1 * KiB, 2 ** 31 - 1),
  /** Bytes a second that one compaction reads and writes; 0: as fast as it can. */
  'log.cleaner.io.max.bytes.per.second': whole(0, 0),
  /** A follower polls at least this often when there is nothing to do, as Kafka's. */
  'replica.fetch.wait.max.ms': whole(500, 5, 500),
  /** A fetch of a partition that failed is tried again after so long. */
  'replica.fetch.backoff.ms': whole(1_000, 1),
  /** Looked at when old segments are. */
  'producer.id.expiration.ms': whole(24 * 3_600_000, 1),
  /** Shared ring of each broker; a power of two. */
  'ring.bytes': suchThat(
    whole(limits.ringBytesDefault, limits.ringBytesMin, limits.ringBytesMax),
    (bytes) => Number.isInteger(Math.log2(bytes)),
    'a power of two',
  ),
  'partitions.max': whole(limits.partitionsDefaultMax, 1, 100_000),
  /**
   * A follower that made no progress for so long is detached from the ring and reads from disk
   * later.
   */
  'ring.detach.stuck.ms': whole(300, 5),
  /** A follower that keeps more than half of the ring busy for so long is detached. */
  'ring.detach.slow.ms': whole(500, 5),
  'catch.up.policy': oneOf('smallest-lag-first', ['smallest-lag-first', 'round-robin']),
  'catch.up.read.bytes': whole(limits.catchUpReadBytesDefault, 4 * KiB, 16 * MiB),
} as const

/** Of a log alone: what a topic has that concerns its log, and what a producer would bring. */
const {
  'min.insync.replicas': _minInSync,
  'unclean.leader.election.enable': _unclean,
  ...logShape
} = topicShape
const standaloneShape = {
  ...logShape,
  /** Of batches that `append` encodes. */
  'compression.type': oneOf('none', ['none', 'gzip', 'snappy', 'lz4', 'zstd']),
  /** Bytes of records that `append` puts into one batch; a larger record gets its own. */
  'batch.size': whole(128 * KiB, 1, limits.batchBytesMax),
  /** Kafka's default is seven days: a topic's user knows of it, a program's own log keeps all. */
  'retention.ms': whole(-1, -1),
} as const

export type TopicConfig = ValuesOf<typeof topicShape>
export type StandaloneConfig = ValuesOf<typeof standaloneShape>
export type StandaloneConfigInput = InputOf<typeof standaloneShape>
export type TopicConfigInput = InputOf<typeof topicShape>
export type ClusterConfig = ValuesOf<typeof clusterShape>
export type ClusterConfigInput = InputOf<typeof clusterShape>

interface CompactionLags {
  readonly 'min.compaction.lag.ms': number
  readonly 'max.compaction.lag.ms': number
}

function withLagsInOrder<T extends CompactionLags>(config: T, what: string): T {
  const most = config['max.compaction.lag.ms']
  if (config['min.compaction.lag.ms'] <= most) return config
  const why = 'must not be less than min.compaction.lag.ms'
  throw refused(what, 'max.compaction.lag.ms', most, why)
}

/** @throws {TidemarkError} INVALID_CONFIG naming the setting, its value and what is allowed */
export function topicConfig(input: TopicConfigInput = {}): TopicConfig {
  const what = 'topic configuration'
  return withLagsInOrder(readSettings(topicShape, input, what), what)
}

/** @throws {TidemarkError} INVALID_CONFIG naming the setting, its value and what is allowed */
export function standaloneConfig(input: StandaloneConfigInput = {}): StandaloneConfig {
  const what = 'log configuration'
  return withLagsInOrder(readSettings(standaloneShape, input, what), what)
}

/** @throws {TidemarkError} INVALID_CONFIG naming the setting, its value and what is allowed */
export function clusterConfig(input: ClusterConfigInput = {}): ClusterConfig {
  return readSettings(clusterShape, input, 'cluster configuration')
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
