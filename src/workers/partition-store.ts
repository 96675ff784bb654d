/**
 * PartitionStore: the logs of one broker by partition, and the words and counters that go with an
 * append at a follower. Logs are opened when the metadata names this broker as a replica.
 */
import path from 'node:path'
import type { Clock } from '../clock.ts'
import { type ClusterConfig, type TopicConfig, topicConfigFromEntries } from '../config.ts'
import { isTidemarkError, TidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import type { OffsetGaps } from '../log/append-doors.ts'
import { BackgroundFlush, type Flushable, type SyncPort } from '../log/background-flush.ts'
import type { BatchRun } from '../log/batch-memory.ts'
import type { FileSystem } from '../log/file-system.ts'
import { type LogConfig, logConfigOf } from '../log/log-config.ts'
import type { PartitionOffset } from '../log/offset-checkpoint.ts'
import type { OpenFiles } from '../log/open-files.ts'
import { PartitionLog } from '../log/partition-log.ts'
import { DoomedFiles } from '../log/retention/doomed-files.ts'
import type { PartitionRegistration } from '../replication/registration.ts'
import { DoomedDirectories } from './doomed-directories.ts'
import { LogStarts } from './log-starts.ts'
import type { ProgressBoard } from './progress-board.ts'
import { RecoveryPointCheckpoint } from './recovery-point-checkpoint.ts'
import { RecoveryPoints } from './recovery-points.ts'
import { RememberedOffsets, type StoredOffsets } from './remembered-offsets.ts'

export interface PartitionStoreParts {
  readonly brokerId: BrokerId
  readonly board: ProgressBoard
  readonly directory: string
  readonly clock: Clock
  readonly fs: FileSystem
  readonly files: OpenFiles
  readonly stored: StoredOffsets
  readonly config: Pick<ClusterConfig, 'producer.id.expiration.ms'>
  /** Syncs rolled segments in another thread. Without it they wait for a flush. */
  readonly syncPort: SyncPort | undefined
}

export interface StoredPartition {
  readonly topic: string
  readonly partition: number
  readonly log: PartitionLog
  readonly config: TopicConfig
  /** The log's own, which it reads at each use: changed in place, a setting counts at once. */
  readonly logConfig: LogConfig
}

export interface PartitionFailure {
  readonly partition: PartitionIndex
  readonly error: TidemarkError
}

/** Of some milliseconds each: a disk that takes longer than that is not closed cleanly. */
const drainTriesMax = 10_000

/** A log's end that another history took the place of. */
export interface Truncation {
  readonly atMs: number
  readonly partition: PartitionIndex
  /** Where the log ended, and where it was cut. */
  readonly fromOffset: number
  readonly toOffset: number
}

export function partitionName(topic: string, partition: number): string {
  return `${topic}-${partition}`
}

export class PartitionStore {
  readonly #parts: PartitionStoreParts
  readonly #partitions: (StoredPartition | undefined)[] = []
  readonly #batchBytesMax: Int32Array
  readonly #highWatermark: Float64Array
  /** The few, or none: nobody else's log is looked at by the clock. */
  readonly #flushedByTime = new Set<PartitionLog>()
  readonly #failures: PartitionFailure[] = []
  readonly #truncations: Truncation[] = []
  /** Appends as a follower, and what they took: a slow disk shows here. */
  readonly replicatedWrites = { count: 0, tookUs: 0 }
  #diskFailure: TidemarkError | undefined
  readonly #background: BackgroundFlush | undefined
  readonly #checkpoint: RecoveryPointCheckpoint
  readonly #points: RecoveryPoints
  /** Files of segments that were dropped. */
  readonly doomed = new DoomedFiles()
  readonly logStarts: LogStarts
  readonly #remembered: RememberedOffsets
  readonly doomedDirectories: DoomedDirectories

  constructor(parts: PartitionStoreParts) {
    this.#parts = parts
    this.#background = parts.syncPort && new BackgroundFlush(parts.syncPort)
    const { fs, directory, stored } = parts
    this.logStarts = new LogStarts({
      fs,
      directory,
      stored: stored.logStartOffset,
      current: () => this.#currentLogStarts(),
      background: this.#background,
    })
    this.#points = new RecoveryPoints(stored.recoveryPoint, () => this.#currentPoints())
    this.#checkpoint = new RecoveryPointCheckpoint(fs, directory, this.#points)
    this.#remembered = new RememberedOffsets(parts.stored)
    this.doomedDirectories = new DoomedDirectories(parts)
    this.#batchBytesMax = new Int32Array(parts.board.shape.partitionsMax)
    this.#highWatermark = new Float64Array(parts.board.shape.partitionsMax)
  }

  /** Opens the log unless it is open. @throws {TidemarkError} what `PartitionLog.open` throws */
  open(
    registration: PartitionRegistration,
    topicEntries: ReadonlyMap<string, string>,
  ): StoredPartition {
    const known = this.#partitions[registration.index]
    if (known !== undefined) return known
    const { directory, clock, fs, files, stored, board, brokerId } = this.#parts
    const { topic, partition, topicId, index } = registration
    const config = topicConfigFromEntries(topicEntries)
    const logConfig = logConfigOf(config, this.#parts.config)
    const name = partitionName(topic, partition)
    // After recovery nothing is known to be on disk but what a checkpoint says.
    const recoveryPoint =
      this.#remembered.get('recoveryPoint', name) ?? (stored.isClean ? undefined : 0)
    const logStartOffset = this.#remembered.get('logStartOffset', name)
    const log = PartitionLog.open({
      directory: path.join(directory, name),
      topic,
      partition,
      topicId,
      config: logConfig,
      ...{ clock, fs, files, foundTopicId: this.doomedDirectories.takeTopicId(name) },
      // Whatever was not closed cleanly has been through the task pool's recovery by now.
      cleanShutdown: true,
      recovered: !stored.isClean,
      groupCommit: true,
      doomed: this.doomed,
      ...(this.#background === undefined ? {} : { backgroundFlush: this.#background }),
      ...(recoveryPoint === undefined ? {} : { recoveryPoint }),
      ...(logStartOffset === undefined ? {} : { logStartOffset }),
    })
    log.compaction.cleanedOffset = this.#remembered.get('cleanedOffset', name)
    const opened = { topic, partition, log, config, logConfig }
    this.#partitions[index] = opened
    this.#setFlushedByTime(log, config)
    // It may end below what is written down.
    this.#afterCut(index)
    this.#batchBytesMax[index] = config['max.message.bytes']
    const highWatermark = this.#remembered.get('highWatermark', name) ?? 0
    // The word may still be that of a life whose log had more.
    this.#highWatermark[index] = -1
    this.setHighWatermark(
      index,
      Math.min(Math.max(highWatermark, log.logStartOffset), log.logEndOffset),
    )
    board.setLogEndOffset(brokerId, index, log.logEndOffset)
    this.publishLogStart(index)
    return opened
  }

  /** The topic's settings changed. */
  configure(partition: PartitionIndex, topicEntries: ReadonlyMap<string, string>): void {
    const stored = this.stored(partition)
    const config = topicConfigFromEntries(topicEntries)
    Object.assign(stored.logConfig, logConfigOf(config, this.#parts.config))
    this.#partitions[partition] = { ...stored, config }
    this.#batchBytesMax[partition] = config['max.message.bytes']
    this.#setFlushedByTime(stored.log, config)
  }

  /** This broker no longer holds the partition: its log ends, its directory goes. */
  remove(partition: PartitionIndex): void {
    const stored = this.#partitions[partition]
    if (stored === undefined) return
    const { log, logConfig } = stored
    const name = partitionName(stored.topic, stored.partition)
    this.#partitions[partition] = undefined
    this.#setFlushedByTime(log, undefined)
    log.close({ flush: false })
    this.doomedDirectories.doom(name, logConfig.fileDeleteDelayMs)
    this.#remembered.forget(name)
    this.#points.forget(name)
    this.#checkpoint.writeNow()
    this.logStarts.forget(name)
  }

  #setFlushedByTime(log: PartitionLog, config: TopicConfig | undefined): void {
    this.#flushedByTime.delete(log)
    if (config !== undefined && config['flush.ms'] > 0) this.#flushedByTime.add(log)
  }

  has(partition: PartitionIndex): boolean {
    return this.#partitions[partition] !== undefined
  }

  stored(partition: PartitionIndex): StoredPartition {
    const stored = this.#partitions[partition]
    if (stored === undefined) {
      throw new TidemarkError(
        'UNKNOWN_TOPIC_OR_PARTITION',
        `partition #${partition} is not open here`,
      )
    }
    return stored
  }

  log(partition: PartitionIndex): PartitionLog {
    return this.stored(partition).log
  }

  batchBytesMax(partition: PartitionIndex): number {
    return this.#batchBytesMax[partition]!
  }

  /** This broker's high watermark of the partition. */
  highWatermark(partition: PartitionIndex): number {
    return this.#highWatermark[partition]!
  }

  setHighWatermark(partition: PartitionIndex, offset: number): void {
    if (this.#highWatermark[partition] === offset) return
    this.#highWatermark[partition] = offset
    this.#parts.board.setHighWatermark(this.#parts.brokerId, partition, offset)
    this.#partitions[partition]?.log.producers.forgetCompletedBelow(offset)
  }

  /** Follower's append, from ring or disk: the log, then the end offset's word. */
  appendReplicated(partition: PartitionIndex, run: BatchRun, gaps: OffsetGaps = 'none'): void {
    this.writeReplicated(partition, run, gaps)
    this.publishReplicated(partition)
  }

  /** The first half; when all of a round are written the others follow. */
  writeReplicated(partition: PartitionIndex, run: BatchRun, gaps: OffsetGaps = 'none'): void {
    const startedMs = performance.now()
    this.log(partition).appendReplicated(run, gaps)
    this.replicatedWrites.tookUs += (performance.now() - startedMs) * 1_000
    this.replicatedWrites.count += 1
  }

  /** The second half: it is on disk, if the topic says so, before anybody counts it. */
  publishReplicated(partition: PartitionIndex): void {
    const { board, brokerId } = this.#parts
    const log = this.log(partition)
    const startedMs = performance.now()
    log.commit()
    this.replicatedWrites.tookUs += (performance.now() - startedMs) * 1_000
    board.setLogEndOffset(brokerId, partition, log.logEndOffset)
  }

  /** @throws {TidemarkError} KAFKA_STORAGE_ERROR */
  advanceLogStart(partition: PartitionIndex, offset: number): void {
    this.log(partition).advanceLogStart(offset)
    this.publishLogStart(partition)
  }

  /** Everything below `offset` is to go; -1: below the high watermark. @returns the log start */
  deleteRecords(partition: PartitionIndex, offset: number): number {
    const { log, config, topic } = this.stored(partition)
    if (config['cleanup.policy'] === 'compact') {
      const detail = `${topic}: cleanup.policy = compact; records are deleted on request with delete only`
      throw new TidemarkError('POLICY_VIOLATION', detail)
    }
    try {
      const start = log.deleteRecordsBefore(offset, this.highWatermark(partition))
      this.publishLogStart(partition)
      return start
    } catch (error) {
      if (isTidemarkError(error, 'KAFKA_STORAGE_ERROR')) this.noteFailure(partition, error)
      throw error
    }
  }

  /** The log start's word; to be called after whatever may have moved it. */
  publishLogStart(partition: PartitionIndex): void {
    const { board, brokerId } = this.#parts
    const { logStartOffset } = this.log(partition)
    if (board.logStartOffset(brokerId, partition) === logStartOffset) return
    board.setLogStartOffset(brokerId, partition, logStartOffset)
  }

  /** As last written down: what lies below may go for good. */
  writtenLogStart(partition: PartitionIndex): number {
    const { topic, partition: number } = this.stored(partition)
    return this.logStarts.written(partitionName(topic, number))
  }

  /** Cuts the log and all that is derived from its end. */
  truncateTo(partition: PartitionIndex, offset: number): void {
    const { board, brokerId } = this.#parts
    const log = this.log(partition)
    const fromOffset = log.logEndOffset
    log.truncateTo(offset)
    const toOffset = log.logEndOffset
    const atMs = this.#parts.clock.nowMs()
    if (toOffset < fromOffset) this.#truncations.push({ atMs, partition, fromOffset, toOffset })
    this.#afterCut(partition)
    board.setLogEndOffset(brokerId, partition, log.logEndOffset)
    this.setHighWatermark(partition, Math.min(this.highWatermark(partition), log.logEndOffset))
    this.publishLogStart(partition)
  }

  truncateFullyAndStartAt(partition: PartitionIndex, offset: number): void {
    const { board, brokerId } = this.#parts
    const log = this.log(partition)
    log.truncateFullyAndStartAt(offset)
    this.#afterCut(partition)
    board.setLogEndOffset(brokerId, partition, log.logEndOffset)
    this.setHighWatermark(partition, offset)
    this.publishLogStart(partition)
  }

  /** One piece of what goes on apart from appends. Returns how much was done. */
  stepBackground(): number {
    const background = this.#background
    if (background === undefined) return 0
    const work = background.step()
    if (background.hasFailed) this.#noteFailed(background.takeFailed())
    return work
  }

  /** Waits for what is under way. Returns whether all of it has ended. */
  drainBackground(): boolean {
    return this.#background?.drain(drainTriesMax) ?? true
  }

  /** By the clock: nobody waits for the disk, if another thread can. */
  checkpointRecoveryPoints(): void {
    if (this.#background === undefined) this.#checkpoint.writeNow()
    else this.#background.want(this.#checkpoint)
  }

  /** Has the logs flushed whose topics ask for it by time and are due. */
  flushDue(): void {
    const nowMs = this.#parts.clock.nowMs()
    for (const log of this.#flushedByTime) log.flushIfDue(nowMs)
  }

  noteFailure(partition: PartitionIndex, error: TidemarkError): void {
    this.#failures.push({ partition, error })
    if (error.code === 'KAFKA_STORAGE_ERROR') this.noteDiskFailure(error)
  }

  /** The disk failed, and with it every log here: there is one directory. The first one counts. */
  noteDiskFailure(error: TidemarkError): void {
    this.#diskFailure ??= error
  }

  get diskFailure(): TidemarkError | undefined {
    return this.#diskFailure
  }

  takeFailures(): PartitionFailure[] {
    return this.#failures.length === 0 ? this.#failures : this.#failures.splice(0)
  }

  takeTruncations(): Truncation[] {
    return this.#truncations.length === 0 ? this.#truncations : this.#truncations.splice(0)
  }

  *all(): Generator<[PartitionIndex, StoredPartition]> {
    for (const [index, stored] of this.#partitions.entries()) {
      if (stored !== undefined) yield [index as PartitionIndex, stored]
    }
  }

  /**
   * The log went back, and what is written down would soon vouch for other bytes: before the next
   * append the disk must know (Kafka: `LogManager.truncateTo`).
   */
  #afterCut(partition: PartitionIndex): void {
    this.#checkpoint.drop()
    const { recoveryPoint, logStartOffset } = this.log(partition)
    const { topic, partition: number } = this.stored(partition)
    const name = partitionName(topic, number)
    if (recoveryPoint < this.#points.writtenOf(name)) this.#checkpoint.writeNow()
    this.logStarts.afterCut(name, logStartOffset)
  }

  *#currentLogStarts(): Generator<readonly [string, number]> {
    for (const [, { topic, partition, log }] of this.all()) {
      yield [partitionName(topic, partition), log.logStartOffset]
    }
  }

  *#currentPoints(): Generator<PartitionOffset> {
    for (const [, { topic, partition, log }] of this.all()) {
      yield { topic, partition, offset: log.recoveryPoint }
    }
  }

  #noteFailed(failed: readonly Flushable[]): void {
    if (this.#checkpoint.failure !== undefined) this.noteDiskFailure(this.#checkpoint.failure)
    for (const [index, { log }] of this.all()) {
      if (failed.includes(log) && log.failure !== undefined) this.noteFailure(index, log.failure)
    }
  }
}
