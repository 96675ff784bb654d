/** What the calls of `Log` take and give. */
import type { Clock } from '../clock.ts'
import { TidemarkError } from '../errors.ts'
import type { FileSystem } from './file-system.ts'
import type { RecoveryProgress } from './log-recovery.ts'

export interface OpenLogOptions {
  /**
   * Id of the topic, base64 of 16 bytes as Apache Kafka writes it into `partition.metadata`, so
   * that a broker takes the directory for its own.
   */
  readonly topicId?: string
  /** Default: the system's. */
  readonly clock?: Clock
  /** Default: the system's. */
  readonly fs?: FileSystem
  /** How `flush` makes a file's data, or a directory's entries, durable. Default: `fs`. */
  readonly syncFile?: (path: string, isDirectory: boolean) => Promise<void>
  /**
   * Told after each segment that has to be read again after a crash; other work goes on between
   * them.
   */
  readonly onRecovery?: (progress: RecoveryProgress) => void
}

export interface AppendOptions {
  /**
   * Leader epoch to append in, not below the latest. Default: the latest, 0 in a new log. Readers
   * of replicated logs tell histories apart by it.
   */
  readonly leaderEpoch?: number
  /** Of whom the records are, so that the same ones again are not appended again. */
  readonly producer?: ProducerStamp
}

/** Kafka: KIP-98. A batch that was one of the producer's last five is a duplicate. */
export interface ProducerStamp {
  readonly producerId: number
  /** From 0 to 32767; an older one than the log knows is refused. */
  readonly producerEpoch: number
  /** Number of the first record, from 0 to 2^31 - 1; the log wants them without a gap. */
  readonly baseSequence: number
  /** Seen by readers of committed records only once `endTransaction` has committed. */
  readonly isTransactional?: boolean
}

export interface TransactionEnd {
  readonly producerId: number
  readonly producerEpoch: number
  readonly isCommit: boolean
  /** Of whoever decides; an older one than the log knows is refused. Default 0. */
  readonly coordinatorEpoch?: number
}

export interface AppendResult {
  /** Offset of the first record. */
  readonly baseOffset: number
  /** Offset of the last record; one below the first when there was none. */
  readonly lastOffset: number
  readonly batchCount: number
  /** Bytes that were written. */
  readonly sizeBytes: number
  /** All of it was in the log already, at these offsets. */
  readonly isDuplicate: boolean
}

/** `read_committed`: no records of transactions that were aborted or aren't decided. */
export type Isolation = 'read_uncommitted' | 'read_committed'

export interface ReadOptions {
  /** First offset to read; default: the log's start. */
  readonly fromOffset?: number
  /**
   * Instead of an offset: begin at the first record that is not older, in milliseconds since 1970.
   */
  readonly fromTimestamp?: number
  /** Ends before this offset; default: the log's end at the time of the call. */
  readonly toOffset?: number
  /** Default: `read_uncommitted`. */
  readonly isolation?: Isolation
}

export interface FollowOptions {
  /** First offset to read; default: the log's end at the time of the call. */
  readonly fromOffset?: number
  /** Instead of an offset, as in `ReadOptions`; the log's end when all records are older. */
  readonly fromTimestamp?: number
  /** Default: `read_uncommitted`. */
  readonly isolation?: Isolation
  /** Ends the iteration; nothing is thrown. */
  readonly signal?: AbortSignal
}

export interface CompactOptions {
  /** Gives up; the log stays as it was, and the call throws the signal's reason. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: CompactionProgress) => void
}

export interface CompactionProgress {
  /** Gone through so far. The log is gone through twice: `doneBytes` ends near twice the total. */
  readonly doneBytes: number
  readonly totalBytes: number
}

export interface CompactionSummary {
  /** Segments that others took the place of. */
  readonly segments: number
  readonly bytesRead: number
  readonly bytesWritten: number
  readonly recordsRead: number
  readonly recordsKept: number
}

export interface LogDescription {
  readonly directory: string
  /** First offset that can be read. */
  readonly logStartOffset: number
  /** Offset that the next record gets. */
  readonly logEndOffset: number
  /** Everything below is on disk for certain. */
  readonly recoveryPoint: number
  /** Of all data files. */
  readonly sizeBytes: number
  readonly segmentCount: number
  /** Latest leader epoch; -1 in a log without one. */
  readonly leaderEpoch: number
  /** Why it takes no more appends; undefined as long as it does. */
  readonly failure: TidemarkError | undefined
}

export interface OffsetBounds {
  readonly logStartOffset: number
  readonly logEndOffset: number
}

/** @throws {TidemarkError} OFFSET_OUT_OF_RANGE, INVALID_ARGUMENT */
export function checkFromOffset(offset: unknown, bounds: OffsetBounds): number {
  const { logStartOffset, logEndOffset } = bounds
  if (!isOffset(offset)) throw invalidOffset('fromOffset', offset)
  if (offset >= logStartOffset && offset <= logEndOffset) return offset
  throw new TidemarkError(
    'OFFSET_OUT_OF_RANGE',
    `fromOffset ${offset}: the log holds ${logStartOffset} to ${logEndOffset}`,
  )
}

/** @throws {TidemarkError} INVALID_ARGUMENT */
export function checkToOffset(offset: unknown, { logEndOffset }: OffsetBounds): number {
  if (offset === undefined) return logEndOffset
  if (!isOffset(offset)) throw invalidOffset('toOffset', offset)
  return Math.min(offset, logEndOffset)
}

/** @throws {TidemarkError} INVALID_ARGUMENT */
export function checkIsolation(isolation: unknown): Isolation {
  if (isolation === undefined) return 'read_uncommitted'
  if (isolation === 'read_uncommitted' || isolation === 'read_committed') return isolation
  throw new TidemarkError(
    'INVALID_ARGUMENT',
    `isolation ${String(isolation)}: allowed are read_uncommitted and read_committed`,
  )
}

function isOffset(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function invalidOffset(name: string, value: unknown): TidemarkError {
  return new TidemarkError(
    'INVALID_ARGUMENT',
    `${name} ${String(value)}: allowed are integers from 0 to 2^53 - 1`,
  )
}
