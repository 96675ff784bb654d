/**
 * What a run of the laboratory is asked (`…Options`) and what it answers (`…Result`): the JSON
 * documents of the command line, schema version 1. Times are milliseconds, sizes bytes, unless the
 * name says otherwise; `atMs` counts from the start of the run. `null` means "did not come to
 * that", for example `catchUpMs` of a run that never converged.
 */

import type { Failover } from './failover.ts'
import type { Fault, FaultKind } from './faults.ts'

export const resultSchemaVersion = 1

export type Acks = 0 | 1 | 'all'
export type Compression = 'none' | 'lz4'
export type LeaderPlacement = 'one' | 'spread'
export type ExpandCriterion = 'log-end-offset' | 'high-watermark'
export type CatchUpPolicy = 'smallest-lag-first' | 'round-robin'

/** When a broker calls fsync: never by itself, every so many milliseconds, or after each batch. */
export type FlushPolicy =
  | { readonly kind: 'os' }
  | { readonly kind: 'interval'; readonly ms: number }
  | { readonly kind: 'batch' }

/**
 * Bytes a second; `max` is a closed loop, `calibrated` lets the run find half of the sustainable.
 */
export type ProduceRate = number | 'max' | 'calibrated'

/** What both commands are asked alike. */
export interface LoadOptions {
  readonly brokers: number
  readonly replicationFactor: number
  readonly partitions: number
  readonly leaders: LeaderPlacement
  readonly acks: Acks
  readonly recordBytes: number
  readonly batchBytes: number
  readonly compression: Compression
  /** Path of real records to produce, cycled; null: synthetic. */
  readonly input: string | null
  readonly flush: FlushPolicy
  /** Directory of the data; null: a fresh temporary one. */
  readonly dir: string | null
  /** Payloads and arrivals follow from it: an integer from 0 to 2^32 - 1. */
  readonly seed: number
  readonly json: boolean
}

export interface CatchUpOptions extends LoadOptions {
  readonly minInsync: number
  readonly rateBytesPerSec: ProduceRate
  readonly replay: boolean
  /** How many times faster than recorded a replay runs. */
  readonly timeScale: number
  readonly fault: FaultKind
  /** Only of the fault `throttle`. */
  readonly throttleBytesPerSec: number | null
  /** The broker under study. */
  readonly follower: number
  /** First fault → last end. */
  readonly outageMs: number
  /** All that goes wrong; with one fault it is what the fields above say. */
  readonly faults: readonly Fault[]
  readonly sessionTimeoutMs: number
  readonly replicaLagTimeMaxMs: number
  readonly expand: ExpandCriterion
  readonly policy: CatchUpPolicy
  readonly catchUpLimitBytesPerSec: number | null
  readonly warmUpMs: number
  readonly settleMs: number
  readonly timeoutMs: number
  readonly repeat: number
  readonly keep: boolean
  /** Directory of the report; null: none. */
  readonly report: string | null
}

export interface ThroughputOptions extends LoadOptions {
  readonly durationMs: number
  /** Bytes a replica may receive; the run ends at this or `durationMs`, whichever comes first. */
  readonly maxBytes: number
  readonly producers: number
  /** Measure the physical limit too, in alternation. */
  readonly limit: boolean
  readonly rateBytesPerSec: number | 'max'
}

export interface Machine {
  readonly cpus: number
  readonly cpuModel?: string
  readonly node: string
  readonly platform: string
  readonly memoryBytes: number
  /** Type of the file system that holds the data, for example `ext4` or `tmpfs`. */
  readonly fileSystem?: string
}

export interface Calibration {
  /** What the pipeline itself carries, payload bytes a second. */
  readonly pipelineBytesPerSec: number
  /** What the disk takes for ever, all replicas together; null: no disk behind it. */
  readonly diskBytesPerSec: number | null
  /** The smaller of both, per payload byte. */
  readonly sustainableBytesPerSec: number
}

export interface CatchUpScenario extends CatchUpOptions {
  /** The rate that was asked of the generator in the end. */
  readonly offeredBytesPerSec: number | null
  readonly calibration: Calibration | null
  readonly machine: Machine
}

export interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
}

export interface MedianTail {
  readonly median: number
  readonly p99: number
  readonly max: number
}

export interface Latency {
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

export interface ForegroundWindow {
  readonly recordsPerSec: number
  readonly bytesPerSec: number
  readonly ackMs: Latency
}

/**
 * The load as its producers saw it. `during` is the fault up to caught up; `awaitingEviction`
 * (fault → last shrink) and `outOfSync` (last shrink → caught up) are its two parts. In the first,
 * acks=all waits for the frozen follower by the very rules of the ISR.
 */
export interface Foreground {
  readonly before: ForegroundWindow | null
  readonly during: ForegroundWindow | null
  readonly after: ForegroundWindow | null
  readonly awaitingEviction: ForegroundWindow | null
  readonly outOfSync: ForegroundWindow | null
}

export interface TrajectoryPoint {
  readonly atMs: number
  readonly lagBytes: number
}

/** Where the fitted numbers of a prediction come from. */
export interface FittedFrom {
  /** Disk reads of this run that were used. */
  readonly samples: number
  /** Milliseconds after the resume in which they were taken. */
  readonly windowMs: number
}

export interface Prediction {
  /** null: never, the log end moves faster than the copy. */
  readonly catchUpMs: number | null
  /** Backlog over (copy bandwidth - produce rate), which ignores the cost of a read. */
  readonly naiveMs: number | null
  readonly converges: boolean
  readonly setupMsPerRead: number
  readonly copyBytesPerSec: number
  readonly floorLagBytes: number
  readonly fittedFrom: FittedFrom | string
  readonly trajectory: readonly TrajectoryPoint[]
}

export type Actor = 'leader' | 'controller' | 'follower' | 'harness'

export interface TimelineEvent {
  readonly atMs: number
  readonly actor: Actor
  readonly step: string
  /** Partitions the step was about. */
  readonly partitions: number
  /** On what numbers, and how it travelled. */
  readonly detail: string
  /** A short label; events that have one are drawn across the charts. */
  readonly marker?: string
}

/**
 * `fault` is time under the fault that is neither of the two after it, for example a throttle with
 * which the follower keeps up. Phases follow each other without overlap.
 */
export type Phase =
  | 'warm-up'
  | 'steady'
  | 'fault'
  | 'awaiting-eviction'
  | 'out-of-sync'
  | 'catching-up'
  | 'settle'

/** One sample of the whole cluster. Offsets and lags are sums over partitions unless named else. */
export interface SeriesRow {
  readonly atMs: number
  readonly phase: Phase
  readonly logEndOffset: number
  readonly highWatermark: number
  readonly followerLogEndOffset: number
  readonly lagRecords: number
  readonly lagBytes: number
  /** The largest over partitions. */
  readonly lagTimeMs: number
  readonly laggingPartitions: number
  readonly inSyncReplicasMin: number
  readonly inSyncReplicasMean: number
  readonly partitionsBelowFull: number
  readonly producedRecordsPerSec: number
  readonly ackedRecordsPerSec: number
  /** Of what was acknowledged since the row before; null: nothing was. */
  readonly ackP50Ms: number | null
  readonly ackP99Ms: number | null
  readonly ackMaxMs: number | null
  /** What the follower has got since the start, from leader's segment files and from the ring. */
  readonly diskReadBytes: number
  readonly ringBytes: number
}

export interface Interval {
  readonly median: number
  /** Bounds of the 95 % interval of the median. */
  readonly low: number
  readonly high: number
  readonly values: readonly number[]
}

export interface Repetitions {
  readonly count: number
  readonly catchUpMs: Interval
  readonly predictionError: Interval
  readonly evictedAfterMs: Interval
}

export interface RecordCounts {
  readonly produced: number
  readonly acknowledged: number
  /** Read back and compared at the end. */
  readonly verified: number
  readonly lost: number
  readonly duplicated: number
}

export interface CatchUpResult {
  readonly schemaVersion: typeof resultSchemaVersion
  readonly scenario: CatchUpScenario
  readonly outcome: 'converged' | 'diverges' | 'timed-out'
  /** Ctrl-C came; everything below is what was measured until then. */
  readonly interrupted: boolean
  readonly evictedAfterMs: Spread | null
  /** null: the broker led nothing, or kept the lead. */
  readonly failover: Failover | null
  readonly backlogBytes: number
  readonly backlogRecords: number
  readonly catchUpMs: number | null
  readonly admissionMs: MedianTail | null
  readonly copiedBytes: number
  readonly diskReadBytes: number
  readonly ringBytes: number
  readonly predicted: Prediction | null
  readonly predictionError: number | null
  readonly foreground: Foreground
  readonly isr: {
    readonly shrinks: number
    readonly expands: number
    readonly rejected: number
    readonly flaps: number
  }
  readonly highWatermark: {
    readonly advances: number
    readonly stalledMs: number
    readonly wentBack: number
  }
  readonly invariants: { readonly checked: number; readonly violations: number }
  readonly records: RecordCounts
  readonly timeline: readonly TimelineEvent[]
  readonly series: readonly SeriesRow[]
  /**
   * Of several repetitions; the rest of the document is then the one with the median catch-up time.
   */
  readonly repetitions?: Repetitions
}

export interface ThroughputScenario extends ThroughputOptions {
  readonly machine: Machine
}

export interface ThroughputRound {
  readonly elapsedMs: number
  readonly recordsPerSec: number
  readonly bytesPerSec: number
  /** Of the limit measured right after it; null: not measured. */
  readonly limitBytesPerSec: number | null
  readonly ackMs: Latency
  /** Of the whole process. */
  readonly cpu: { readonly userMs: number; readonly systemMs: number }
}

export interface ThroughputResult {
  readonly schemaVersion: typeof resultSchemaVersion
  readonly scenario: ThroughputScenario
  readonly interrupted: boolean
  readonly durationMs: number
  readonly recordsPerSec: number
  readonly bytesPerSec: number
  readonly ackMs: Latency
  /**
   * Until a consumer has a batch's last record, in a round of its own with consumers on up to eight
   * partitions; null with acks=0, where nobody tells where a batch went.
   */
  readonly endToEndMs: Latency | null
  /** As many uncoordinated threads as replicas writing the same bytes; null: not measured. */
  readonly limit: { readonly bytesPerSec: number; readonly pairs: number } | null
  readonly ratioToLimit: number | null
  /** One after the other; the figures above are their medians. */
  readonly rounds: readonly ThroughputRound[]
  /** Of all rounds. */
  readonly cpu: { readonly userMs: number; readonly systemMs: number }
  readonly memory: { readonly rssBytes: number; readonly sharedBytes: number }
  readonly records: Omit<RecordCounts, 'duplicated'>
}
