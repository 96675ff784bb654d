/**
 * A log by itself, for programs that embed one: a directory in Apache Kafka's format with one
 * owner.
 *
 * Appends and reads are synchronous and work on the page cache. What waits for the disk is a
 * promise. A write or sync that fails ends the log's writing life: reads go on, every other call
 * throws KAFKA_STORAGE_ERROR with the first failure as its cause; open the directory again, and it
 * is recovered. After `close` every call throws BROKER_CLOSED.
 */
import type { Clock } from '../clock.ts'
import { type StandaloneConfig, type StandaloneConfigInput, standaloneConfig } from '../config.ts'
import { TidemarkError } from '../errors.ts'
import { BatchReading } from './batch-reading.ts'
import { GroupCommit } from './group-commit.ts'
import { AppendWaiters, follow } from './log-follow.ts'
import {
  type AppendOptions,
  type AppendResult,
  type CompactionSummary,
  type CompactOptions,
  checkFromOffset,
  checkIsolation,
  checkToOffset,
  type FollowOptions,
  type LogDescription,
  type OpenLogOptions,
  type ReadOptions,
  type TransactionEnd,
} from './log-options.ts'
import { appendRun, batchOptionsOf, describeLog, endMarkerOf } from './log-producing.ts'
import {
  batchesIn,
  committedIn,
  type ReadRange,
  recordsIn,
  type StoredBatch,
  visibleEnd,
} from './log-records.ts'
import { LogTimers } from './log-timers.ts'
import { LogUpkeep } from './log-upkeep.ts'
import type { PartitionLog } from './partition-log.ts'
import { readyBatches } from './ready-batches.ts'
import type { LogRecord } from './record.ts'
import { RecordBatches } from './record-batches.ts'
import type { RecordInput } from './record-input.ts'
import { type OpenedStandalone, openStandalone } from './standalone-opening.ts'
import type { TimestampOffset } from './timestamp-lookup.ts'

export class Log {
  readonly directory: string
  readonly config: StandaloneConfig
  readonly #log: PartitionLog
  readonly #upkeep: LogUpkeep
  readonly #clock: Clock
  readonly #timers: LogTimers
  readonly #commit: GroupCommit
  readonly #batches = new RecordBatches()
  readonly #batchBytes: number
  readonly #waiters = new AppendWaiters()
  readonly #source: { readonly log: PartitionLog; truncations: number }
  #closed = false

  private constructor(opened: OpenedStandalone) {
    this.directory = opened.directory
    this.config = opened.config
    this.#log = opened.log
    this.#upkeep = new LogUpkeep(opened)
    this.#clock = opened.clock
    this.#source = { log: opened.log, truncations: 0 }
    this.#batchBytes = Math.min(
      opened.config['batch.size'],
      opened.config['max.message.bytes'],
      opened.config['segment.bytes'],
    )
    this.#commit = new GroupCommit(opened.log, opened.syncFile)
    this.#timers = new LogTimers(opened.log.config, {
      dropExpired: () => this.deleteOldSegments(),
      flush: () => this.flush(),
    })
  }

  /**
   * Opens a log's directory, or makes it, and takes its lock. A log that was not closed properly is
   * recovered first: what was not written whole is cut off, indexes are made anew.
   *
   * The directory is a partition's as Apache Kafka has it; called `<topic>-<partition>` it can be
   * moved to a broker and back.
   *
   * @throws {TidemarkError} INVALID_CONFIG naming the setting; DIRECTORY_IN_USE when it is open
   *   already, here or in another process; INCONSISTENT_TOPIC_ID; CORRUPT_FILE;
   *   UNSUPPORTED_VERSION; KAFKA_STORAGE_ERROR
   */
  static async open(
    directory: string,
    config: StandaloneConfigInput = {},
    options: OpenLogOptions = {},
  ): Promise<Log> {
    return new Log(await openStandalone(directory, standaloneConfig(config), options))
  }

  /** First offset that can be read. */
  get logStartOffset(): number {
    return this.#log.logStartOffset
  }

  /** Offset that the next record gets. */
  get logEndOffset(): number {
    return this.#log.logEndOffset
  }

  /** Everything below is on disk for certain. */
  get recoveryPoint(): number {
    return this.#log.recoveryPoint
  }

  /** Bytes of all data files. */
  get sizeBytes(): number {
    return this.#log.sizeBytes
  }

  get segmentCount(): number {
    return this.#log.segmentCount
  }

  /** Why the log takes no more appends; undefined as long as it does. */
  get failure(): TidemarkError | undefined {
    return this.#log.failure
  }

  describe(): LogDescription {
    return describeLog(this.#log)
  }

  /**
   * Appends records in order, in as few batches as `batch.size` allows. They can be read when the
   * call returns. They are on disk for certain after the next `flush`, or already if
   * `flush.messages` is 1. No records: nothing is written. Of a `producer` with sequence numbers
   * the same batches again are answered with their offsets and not written.
   *
   * @throws {TidemarkError} INVALID_RECORD, RECORD_TOO_LARGE (a record above `max.message.bytes`),
   *   RECORD_LIST_TOO_LARGE (above `segment.bytes`, or 512 MiB in all), FENCED_LEADER_EPOCH:
   *   nothing was written. INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER,
   *   INVALID_TXN_STATE: batches before that one are in the log. KAFKA_STORAGE_ERROR: a part of
   *   them may be; BROKER_CLOSED
   */
  append(records: readonly RecordInput[], options: AppendOptions = {}): AppendResult {
    this.#assertOpen()
    if (!Array.isArray(records)) {
      throw new TidemarkError(
        'INVALID_ARGUMENT',
        `records: allowed are lists, not ${typeof records}`,
      )
    }
    const run = this.#batches.encode(records, {
      batchBytes: this.#batchBytes,
      batch: batchOptionsOf(this.config['compression.type'], options),
      nowMs: this.#clock.nowMs(),
    })
    const result = this.#appending(() => appendRun(this.#log, run, options))
    this.#batches.trim()
    return result
  }

  /**
   * Appends batches that are encoded already, magic 2, side by side in `bytes`, where offsets and
   * leader epoch are written.
   *
   * @throws {TidemarkError} CORRUPT_MESSAGE naming the position; INVALID_RECORD; and what `append`
   *   throws
   */
  appendBatches(bytes: Uint8Array, options: AppendOptions = {}): AppendResult {
    this.#assertOpen()
    const run = readyBatches(bytes)
    return this.#appending(() => appendRun(this.#log, run, options))
  }

  /**
   * Ends a producer's transaction, and returns the offset of the marker that says so. A transaction
   * without a record here may be ended as well.
   *
   * @throws {TidemarkError} INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED,
   *   INVALID_ARGUMENT, KAFKA_STORAGE_ERROR, BROKER_CLOSED
   */
  endTransaction(end: TransactionEnd): number {
    this.#assertOpen()
    const marker = endMarkerOf(end, this.#clock.nowMs())
    const leaderEpoch = Math.max(0, this.#log.leaderEpochs.latest)
    return this.#appending(() => this.#log.appendEndMarker(marker, leaderEpoch))
  }

  /**
   * Records from an offset or a time on, in order, up to the end as it is now. What one is given
   * stays good: keys and values are views over memory that is not used again.
   *
   * @throws {TidemarkError} OFFSET_OUT_OF_RANGE, INVALID_ARGUMENT at once. While iterating:
   *   OFFSET_OUT_OF_RANGE when the rest was removed meanwhile, CORRUPT_MESSAGE,
   *   KAFKA_STORAGE_ERROR, BROKER_CLOSED
   */
  records(options: ReadOptions = {}): IterableIterator<LogRecord> {
    const range = this.#range(options)
    return recordsIn(new BatchReading(this.#source, range.fromOffset), range)
  }

  /**
   * The same by batches, as they are stored: the first is the one that holds the offset, and the
   * last may reach beyond `toOffset`.
   */
  batches(options: ReadOptions = {}): IterableIterator<StoredBatch> {
    const range = this.#range(options)
    return batchesIn(new BatchReading(this.#source, range.fromOffset), range)
  }

  /**
   * Records from an offset on, and then those that are appended, until the signal: the end of the
   * iteration, without an error.
   *
   * @throws {TidemarkError} OFFSET_OUT_OF_RANGE, INVALID_ARGUMENT at once. While iterating as
   *   `records`, and KAFKA_STORAGE_ERROR at the end of a log that failed
   */
  follow(options: FollowOptions = {}): AsyncIterableIterator<LogRecord> {
    return follow({
      source: this.#source,
      waiters: this.#waiters,
      fromOffset: this.#firstOffset(options, this.logEndOffset),
      isolation: checkIsolation(options.isolation),
      signal: options.signal,
      assertGoesOn: () => this.#assertWritable(),
    })
  }

  /**
   * First record that is not older than `timestampMs`; undefined: all are older.
   *
   * @throws {TidemarkError} INVALID_ARGUMENT, CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR, BROKER_CLOSED
   */
  offsetForTimestamp(timestampMs: number): TimestampOffset | undefined {
    return this.#log.offsetForTimestamp(timestampMs)
  }

  /**
   * First record with the newest timestamp of all; undefined: none has one.
   *
   * @throws {TidemarkError} CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR, BROKER_CLOSED
   */
  maxTimestampOffset(): TimestampOffset | undefined {
    return this.#log.maxTimestampOffset()
  }

  /**
   * Cuts off everything from `offset` on, by whole batches; the next record gets that offset.
   * Waits for the disk. Returns whether data was cut.
   *
   * @throws {TidemarkError} INVALID_ARGUMENT, KAFKA_STORAGE_ERROR, BROKER_CLOSED
   */
  truncateTo(offset: number): boolean {
    this.#assertOpen()
    const cut = this.#log.truncateTo(offset)
    this.#source.truncations += 1
    this.#waiters.wake()
    this.#upkeep.checkpoint()
    return cut
  }

  /**
   * Records below `offset` can no longer be read; -1: all there are. Waits for the disk. The next
   * `deleteOldSegments` gives their room back. Returns the log's start, which never goes back.
   *
   * @throws {TidemarkError} OFFSET_OUT_OF_RANGE beyond the log's end, KAFKA_STORAGE_ERROR,
   *   BROKER_CLOSED
   */
  deleteRecordsBefore(offset: number): number {
    this.#assertOpen()
    const start = this.#log.deleteRecordsBefore(offset, this.logEndOffset)
    this.#upkeep.checkpoint()
    return start
  }

  /**
   * Drops the oldest segments: those that lie below the log's start whole, and with
   * `cleanup.policy` delete those beyond `retention.ms` and `retention.bytes`. Waits for the disk.
   * Their files are removed `file.delete.delay.ms` later. Done every five minutes by itself when a
   * retention is set. Returns how many went.
   *
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR; then the log takes no more appends. BROKER_CLOSED
   */
  deleteOldSegments(): number {
    this.#assertOpen()
    return this.#upkeep.deleteOldSegments()
  }

  /**
   * Of each key only the latest record stays (`cleanup.policy` compact), in segments that are no
   * longer written to. Appends and reads go on meanwhile.
   *
   * @throws {TidemarkError} INVALID_CONFIG with another policy, CORRUPT_MESSAGE,
   *   KAFKA_STORAGE_ERROR, BROKER_CLOSED; the signal's reason. The log is as it was then.
   */
  async compact(options: CompactOptions = {}): Promise<CompactionSummary> {
    await this.flush()
    const summary = await this.#upkeep.compact(options, () => this.#assertWritable())
    await this.flush()
    this.#upkeep.checkpoint()
    return summary
  }

  /**
   * Waits until everything that was appended before is on disk, and leaves the event loop to others
   * meanwhile. Calls of the same time share one sync.
   *
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR; then the log takes no more appends. BROKER_CLOSED
   */
  async flush(): Promise<void> {
    this.#assertWritable()
    await this.#commit.flush()
    if (!this.#closed) this.#upkeep.checkpointIfDue()
  }

  /**
   * Waits until everything is on disk, marks the directory as closed properly, and unlocks it.
   * Whoever follows the log is told by BROKER_CLOSED. A log that failed is only unlocked. Closing
   * again does nothing.
   *
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR; closed all the same, and recovered when opened
   */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#timers.stop()
    await this.#commit.drain()
    try {
      this.#upkeep.close()
    } finally {
      this.#waiters.wake()
    }
  }

  #appending<T>(action: () => T): T {
    try {
      return action()
    } finally {
      this.#waiters.wake()
      this.#timers.appended()
    }
  }

  #range(options: ReadOptions): ReadRange {
    const isolation = checkIsolation(options.isolation)
    const fromOffset = this.#firstOffset(options, this.logStartOffset)
    const toOffset = Math.min(
      checkToOffset(options.toOffset, this),
      visibleEnd(this.#log, isolation),
    )
    return {
      fromOffset,
      toOffset,
      committed: committedIn(this.#log, isolation, fromOffset, toOffset),
    }
  }

  #firstOffset({ fromOffset, fromTimestamp }: ReadOptions, otherwise: number): number {
    this.#assertOpen()
    if (fromTimestamp === undefined) return checkFromOffset(fromOffset ?? otherwise, this)
    if (fromOffset === undefined) {
      return this.offsetForTimestamp(fromTimestamp)?.offset ?? this.logEndOffset
    }
    throw new TidemarkError(
      'INVALID_ARGUMENT',
      'fromOffset and fromTimestamp: one of them, not both',
    )
  }

  #assertOpen(): void {
    if (this.#closed) throw new TidemarkError('BROKER_CLOSED', `log ${this.directory} is closed`)
  }

  #assertWritable(): void {
    this.#assertOpen()
    const { failure } = this.#log
    if (failure === undefined) return
    throw new TidemarkError('KAFKA_STORAGE_ERROR', {
      detail: `log ${this.directory} takes no appends after a failure: ${failure.message}`,
      cause: failure,
    })
  }
}
