/**
 * A partition's log: a row of segments with one writer, its owner. Everything is synchronous.
 *
 * Two doors lead in: `append` stamps offsets and epoch (leader), `appendReplicated` takes stamped
 * bytes as they are (follower). Both end in the same private write, so the files cannot differ in
 * form, and both roll by the batch, so that leader and followers roll at the same batches.
 *
 * A write or sync that fails ends the log's writing life: the file is cut back to its last whole
 * batch, later appends are refused with the first failure as cause, reads go on. A failed sync is
 * never tried again, since the system may have dropped the bytes it couldn't write.
 */
import type { Clock } from '../clock.ts'
import type { TidemarkError } from '../errors.ts'
import {
  arePlain,
  checkLeaderRun,
  checkReplicatedEpochs,
  checkReplicatedRun,
  type OffsetGaps,
} from './append-doors.ts'
import type { BackgroundFlush, SyncOutcome, SyncRequest } from './background-flush.ts'
import type { BatchMemory, BatchRun } from './batch-memory.ts'
import { LogCompaction } from './compaction/log-compaction.ts'
import type { EpochEnd, LeaderEpochs } from './leader-epochs.ts'
import type { LogConfig } from './log-config.ts'
import { LogFlush } from './log-flush.ts'
import { type LogOptions, openLogFiles } from './log-opening.ts'
import { LogTail } from './log-tail.ts'
import { checkLogStart, checkReadOffset, checkTruncationOffset } from './offset-checks.ts'
import type { OpenFiles } from './open-files.ts'
import type { AppendOutcomes } from './producers/append-outcomes.ts'
import { type EndMarker, endMarkerRun } from './producers/end-marker.ts'
import type { LogProducers } from './producers/log-producers.ts'
import type { SegmentPosition } from './read-plan.ts'
import type { DoomedFiles } from './retention/doomed-files.ts'
import { type RetentionNow, requestedLogStart } from './retention/log-retention.ts'
import type { SegmentRow } from './segment-row.ts'
import { storageError } from './storage-error.ts'
import { findNewest, findTimestamp, type TimestampOffset } from './timestamp-lookup.ts'
import { WritingLife } from './writing-life.ts'

export class PartitionLog {
  readonly directory: string
  readonly topic: string
  readonly partition: number
  readonly config: LogConfig
  readonly leaderEpochs: LeaderEpochs
  /** Files of dropped segments; without an owner's they are emptied with the next opening only. */
  readonly doomed: DoomedFiles
  readonly producers: LogProducers
  readonly compaction: LogCompaction
  readonly #clock: Clock
  readonly #files: OpenFiles
  readonly #ownsFiles: boolean
  readonly #row: SegmentRow
  readonly #tail: LogTail
  readonly #life: WritingLife
  readonly #flush: LogFlush
  readonly #background: BackgroundFlush | undefined
  readonly #groupCommit: boolean
  #logStartOffset: number

  private constructor(options: LogOptions) {
    const opened = openLogFiles(options)
    this.directory = options.directory
    this.#life = new WritingLife(options.directory)
    this.topic = options.topic
    this.partition = options.partition
    this.config = options.config
    this.leaderEpochs = opened.leaderEpochs
    this.doomed = opened.doomed
    this.#clock = options.clock
    this.#files = opened.files
    this.#ownsFiles = options.files === undefined
    this.#row = opened.row
    this.#logStartOffset = opened.logStartOffset
    this.producers = opened.producers
    this.#tail = new LogTail({ ...options, ...opened })
    const nowMs = options.clock.nowMs()
    this.#flush = new LogFlush({ ...opened, config: options.config, nowMs })
    this.#background = options.backgroundFlush
    this.#groupCommit = options.groupCommit === true
    this.compaction = new LogCompaction(this, this.#row, this.#life, this.#background)
  }

  /**
   * Opens a partition's directory, or makes it. Without a clean shutdown the log is recovered
   * first.
   * @throws {TidemarkError} INVALID_CONFIG, INCONSISTENT_TOPIC_ID, CORRUPT_FILE,
   *   KAFKA_STORAGE_ERROR
   */
  static open(options: LogOptions): PartitionLog {
    return new PartitionLog(options)
  }

  /** First offset that may be read. */
  get logStartOffset(): number {
    return this.#logStartOffset
  }

  /** Offset that the next record gets. */
  get logEndOffset(): number {
    return this.#tail.logEndOffset
  }

  /** Everything below is on disk for certain. */
  get recoveryPoint(): number {
    return this.#flush.recoveryPoint
  }

  get sizeBytes(): number {
    return this.#row.sizeBytes
  }

  get segmentCount(): number {
    return this.#row.count
  }

  /** Where the next batch will begin. */
  get endPosition(): SegmentPosition {
    const { baseOffset, sizeBytes } = this.#row.active
    return { segmentBase: baseOffset, position: sizeBytes }
  }

  /** Why the log takes no more appends; undefined as long as it does. */
  get failure(): TidemarkError | undefined {
    return this.#life.failure
  }

  /**
   * Leader's door: gives the batches the next offsets and `leaderEpoch`, in place, and writes them.
   * The caller has checked their CRC and records. If a check here fails, nothing has changed.
   *
   * A run with batches of producers needs `outcomes`: they are judged one by one, and duplicates
   * and refused ones left out.
   * @throws {TidemarkError} CORRUPT_MESSAGE, RECORD_TOO_LARGE, RECORD_LIST_TOO_LARGE,
   *   FENCED_LEADER_EPOCH for an epoch below the log's latest, INVALID_ARGUMENT,
   *   KAFKA_STORAGE_ERROR
   */
  append(run: BatchRun, leaderEpoch: number, outcomes?: AppendOutcomes): void {
    this.#life.assertWritable()
    checkLeaderRun(run, this.config, leaderEpoch, this.leaderEpochs.latest)
    const isPlain = arePlain(run, outcomes)
    if (isPlain) this.#tail.stamp(run, leaderEpoch)
    this.#write(run, leaderEpoch, isPlain ? undefined : outcomes)
  }

  /**
   * Ends a producer's transaction, as its coordinator, and returns the offset of the marker. A
   * transaction without a record here may be ended as well.
   * @throws {TidemarkError} INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED,
   *   FENCED_LEADER_EPOCH, KAFKA_STORAGE_ERROR
   */
  appendEndMarker(marker: EndMarker, leaderEpoch: number): number {
    this.#life.assertWritable()
    const run = endMarkerRun(marker, this.producers.entry(marker.producerId))
    checkLeaderRun(run, this.config, leaderEpoch, this.leaderEpochs.latest)
    this.#tail.stamp(run, leaderEpoch)
    this.#write(run)
    return this.logEndOffset - 1
  }

  /**
   * Follower's door: writes batches as a leader stamped them. If one doesn't begin where the log or
   * the batch before it ends (or above, see `gaps`), or epochs go back, nothing is written.
   * @throws {TidemarkError} CORRUPT_MESSAGE, RECORD_LIST_TOO_LARGE, OFFSET_OUT_OF_RANGE,
   *   FENCED_LEADER_EPOCH, KAFKA_STORAGE_ERROR
   */
  appendReplicated(run: BatchRun, gaps: OffsetGaps = 'none'): void {
    this.#life.assertWritable()
    checkReplicatedRun(run, this.config, this.#tail.logEndOffset, gaps)
    checkReplicatedEpochs(run, this.leaderEpochs.latest)
    this.#write(run)
  }

  /**
   * Copies whole batches to `target`, the first being the one that holds `offset`, and returns
   * their bytes: at most `maxBytes`, unless the first batch alone is larger. 0: nothing whole lies
   * between `offset` and `endOffset` (exclusive).
   * @throws {TidemarkError} OFFSET_OUT_OF_RANGE outside log start and log end; RECORD_TOO_LARGE
   *   when the first batch doesn't fit in the target; CORRUPT_MESSAGE; KAFKA_STORAGE_ERROR
   */
  read(
    offset: number,
    endOffset: number,
    maxBytes: number,
    target: BatchMemory,
    targetPosition: number,
  ): number {
    this.#life.assertOpen()
    checkReadOffset(offset, this.#logStartOffset, this.#tail.logEndOffset)
    const end = Math.min(endOffset, this.#tail.logEndOffset)
    try {
      return this.#row.read({ offset, endOffset: end, maxBytes, target, targetPosition })
    } catch (cause) {
      throw storageError('cannot read', this.directory, cause)
    }
  }

  /**
   * First readable record that is not older than `timestampMs` (milliseconds since 1970); undefined
   * when all are older.
   * @throws {TidemarkError} INVALID_ARGUMENT; CORRUPT_MESSAGE; KAFKA_STORAGE_ERROR
   */
  offsetForTimestamp(timestampMs: number): TimestampOffset | undefined {
    this.#life.assertOpen()
    return findTimestamp(this.#row.segments, { timestampMs, startOffset: this.#logStartOffset })
  }

  /**
   * First readable record with the newest timestamp of all (KIP-734); undefined when none has one.
   * @throws {TidemarkError} CORRUPT_MESSAGE; KAFKA_STORAGE_ERROR
   */
  maxTimestampOffset(): TimestampOffset | undefined {
    this.#life.assertOpen()
    return findNewest(this.#row.segments, this.#logStartOffset)
  }

  /** Where readers of committed records end; at most `highWatermark`. */
  lastStableOffset(highWatermark: number): number {
    return this.producers.lastStableOffset(highWatermark, this.#logStartOffset)
  }

  /** Where `leaderEpoch`, or the largest epoch known below it, ends in this log. */
  endOffsetFor(leaderEpoch: number): EpochEnd {
    return this.leaderEpochs.endOffsetFor(leaderEpoch, this.#tail.logEndOffset)
  }

  /**
   * Cuts off everything from `offset` on, by whole batches; the next record gets that offset.
   * Returns whether data was cut; an offset at or beyond the end only drops epochs that begin
   * there.
   *
   * The recovery point goes back with it. Its checkpoint must be written before the log is appended
   * to again, or a crash could leave bytes below it that never were on disk; after an opening that
   * found the log shorter than its checkpoint likewise. The checkpoint of the log start must not
   * stay above the log's end.
   * @throws {TidemarkError} INVALID_ARGUMENT for a negative offset; KAFKA_STORAGE_ERROR
   */
  truncateTo(offset: number): boolean {
    checkTruncationOffset(offset)
    this.#life.assertWritable()
    if (offset >= this.#tail.logEndOffset) {
      // KAFKA-10706: an epoch that began here without a record must go, or it diverges for ever.
      this.#life.guard(() => this.leaderEpochs.truncateFromEnd(this.#tail.logEndOffset))
      return false
    }
    if (offset < this.#row.firstBaseOffset) {
      this.truncateFullyAndStartAt(offset)
      return true
    }
    const isOnDisk = offset < this.recoveryPoint
    this.#flush.lower(offset)
    this.#life.guard(() => {
      this.#tail.truncateTo(offset, isOnDisk, this.#logStartOffset)
      this.#flush.lower(this.#tail.dataEndOffset)
    })
    this.#logStartOffset = Math.min(this.#logStartOffset, offset)
    return true
  }

  /** Drops everything; the next record gets `offset`. As to the checkpoint see `truncateTo`. */
  truncateFullyAndStartAt(offset: number): void {
    checkTruncationOffset(offset)
    this.#life.assertWritable()
    const isOnDisk = this.#row.firstBaseOffset < this.recoveryPoint
    this.#flush.restart(offset)
    this.#life.guard(() => this.#tail.restartAt(offset, isOnDisk))
    this.#logStartOffset = offset
  }

  /** Raises the log start offset; the records below are no longer read. Returns whether it rose. */
  advanceLogStart(offset: number): boolean {
    checkLogStart(offset, this.#tail.logEndOffset)
    if (offset <= this.#logStartOffset) return false
    this.#life.guard(() => this.leaderEpochs.truncateFromStart(offset))
    this.#logStartOffset = offset
    this.producers.forgetCompletedBelow(offset)
    return true
  }

  /**
   * Drops the oldest segments by log start, size and age, and raises the log start to the first
   * that is left; `dropExpired` says how. Returns how many went; their files are `doomed`.
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR; then the log takes no more appends.
   */
  deleteOldSegments(now: RetentionNow): number {
    this.#life.assertWritable()
    const { logStartOffset, logEndOffset } = this
    const range = { ...now, logStartOffset, logEndOffset }
    const raiseStart = (offset: number) => void this.advanceLogStart(offset)
    return this.#life.guard(() => this.#tail.dropExpired(range, raiseStart))
  }

  /** Up to where `deleteOldSegments` would drop, with a share of `retention.bytes`. Pure. */
  expiredEnd(now: RetentionNow, bytesShare = 1): number {
    const { logStartOffset, logEndOffset } = this
    return this.#row.expiredEnd({ ...now, logStartOffset, logEndOffset }, bytesShare)
  }

  /**
   * Raises the log start to `offset`, -1: to the high watermark, and returns it (Kafka:
   * `DeleteRecords`). The segments below go with the next `deleteOldSegments`.
   *
   * @throws {TidemarkError} OFFSET_OUT_OF_RANGE above the high watermark; KAFKA_STORAGE_ERROR
   */
  deleteRecordsBefore(offset: number, highWatermark: number): number {
    this.#life.assertWritable()
    this.advanceLogStart(requestedLogStart(offset, highWatermark))
    return this.#logStartOffset
  }

  /**
   * Waits until everything appended is on disk, then moves the recovery point to the end of the
   * data.
   *
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR; then the log takes no more appends.
   */
  flush(): void {
    this.#life.assertWritable()
    this.#life.guard(() => this.#flush.sync(this.#tail.dataEndOffset, this.#clock.nowMs()))
  }

  /**
   * Flushes, in the background if there is one, when the policy is `interval` and it is time.
   * Returns whether it was.
   */
  flushIfDue(nowMs: number): boolean {
    if (this.#life.failure !== undefined) return false
    if (!this.#flush.isDue(this.#tail.dataEndOffset, nowMs)) return false
    if (this.#background === undefined) this.flush()
    else this.#background.want(this)
    return true
  }

  /**
   * For an owner that said `groupCommit`: makes durable what was appended since the last call, if
   * the policy is `batch`. Nothing of it may be answered, or shown to anybody, before.
   *
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR; then the log takes no more appends.
   */
  commit(): void {
    if (this.config.flush.kind === 'batch') this.flush()
  }

  /** Whether rolled segments, or what else shouldn't wait for a flush, are not on disk. */
  get wantsFlush(): boolean {
    return this.#life.failure === undefined && this.#row.wantsPlan
  }

  /**
   * What somebody else should sync, by path and in order, for all rolled segments to be on disk, or
   * `everything`, as when a flush is due; `endFlush` must follow. undefined: nothing now.
   */
  beginFlush(everything = false): SyncRequest | undefined {
    if (!this.#life.isWritable) return undefined
    return this.#flush.begin(this.#tail.dataEndOffset, everything, this.#clock.nowMs())
  }

  /**
   * How that sync ended: the recovery point rises to the end of what it covered, or `failure` says
   * why the log takes no more appends. Never throws.
   */
  endFlush(outcome: SyncOutcome): void {
    if (!this.#life.isClosed) this.#life.attempt(() => this.#flush.end(outcome))
  }

  /**
   * Completes the index files, flushes unless told not to, and closes. Without the flush the
   * recovery point stays where it is. A log that failed is only closed.
   *
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR; closed all the same, and not cleanly.
   */
  close(options: { readonly flush: boolean } = { flush: true }): void {
    if (this.#life.isClosed) return
    try {
      if (this.#life.failure !== undefined) return
      this.#life.guard(() => this.#tail.end(this.#logStartOffset))
      if (options.flush) this.flush()
    } finally {
      this.#life.isClosed = true
      this.#row.closeFiles()
      if (this.#ownsFiles) this.#files.closeAll()
    }
  }

  /** With `outcomes` the batches are judged and stamped on the way. */
  #write(run: BatchRun, leaderEpoch = -1, outcomes?: AppendOutcomes): void {
    if (run.count === 0) return
    try {
      if (outcomes === undefined) this.#tail.write(run)
      else this.#tail.writeJudged(run, leaderEpoch, outcomes)
    } catch (cause) {
      throw this.#life.fail(cause)
    }
    if (!this.#groupCommit) this.commit()
    if (this.#background !== undefined && this.wantsFlush) this.#background.want(this)
  }
}
