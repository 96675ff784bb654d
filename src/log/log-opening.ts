/**
 * Opens what lies in a partition's directory, or makes it, up to the point where a log can go on.
 */
import path from 'node:path'
import type { Clock } from '../clock.ts'
import { isTidemarkError } from '../errors.ts'
import type { BackgroundFlush } from './background-flush.ts'
import { leaderEpochFileName } from './file-names.ts'
import { type FileSystem, realFileSystem } from './file-system.ts'
import { LeaderEpochs } from './leader-epochs.ts'
import { checkLogConfig, type LogConfig } from './log-config.ts'
import { recoverLog } from './log-recovery.ts'
import { makeDirectoryDurably } from './make-directory.ts'
import { OpenFiles } from './open-files.ts'
import { claimTopicId, writeTopicId } from './partition-metadata.ts'
import { type LoadedRange, LogProducers } from './producers/log-producers.ts'
import { DoomedFiles } from './retention/doomed-files.ts'
import { Segment } from './segment.ts'
import { dropBelow, findSegments, tidiedNames } from './segment-files.ts'
import { SegmentRow } from './segment-row.ts'
import { storageError } from './storage-error.ts'

/** A page's worth of headers is read as fast as a file of its own. */
const shortReplayBytesMax = 4_096

export interface LogOptions {
  /** The partition's own directory, made when absent. */
  readonly directory: string
  readonly topic: string
  readonly partition: number
  /** Base64 of 16 bytes, as Kafka writes it. Absent: the directory may be any topic's. */
  readonly topicId?: string
  /**
   * What its owner has just read in the directory, which is therefore there: neither is looked at
   * again. Thousands of logs are opened at once.
   */
  readonly foundTopicId?: string | undefined
  readonly config: LogConfig
  readonly clock: Clock
  /** Shared by all logs of a thread; own ones otherwise. */
  readonly files?: OpenFiles
  readonly fs?: FileSystem
  /** With the flush policy `batch`: appends don't sync, the owner calls `commit` after them. */
  readonly groupCommit?: boolean
  /** Syncs rolled segments while the log goes on. Without it they wait for the next flush. */
  readonly backgroundFlush?: BackgroundFlush
  /** Whether the last owner ended properly, or recovery has run since. */
  readonly cleanShutdown: boolean
  /**
   * Whether that recovery is why `cleanShutdown` is true. What the last owner cut off may then
   * still be on disk, so that the first flush has more to do.
   */
  readonly recovered?: boolean
  /** As last written down. Default: the log's end after a clean shutdown, else 0. */
  readonly recoveryPoint?: number
  readonly logStartOffset?: number
  /** Shared by all logs of an owner, who empties it; own ones otherwise. */
  readonly doomed?: DoomedFiles
}

export interface OpenedLog {
  readonly files: OpenFiles
  readonly doomed: DoomedFiles
  readonly row: SegmentRow
  readonly leaderEpochs: LeaderEpochs
  readonly producers: LogProducers
  readonly logStartOffset: number
  readonly logEndOffset: number
  readonly recoveryPoint: number
}

/**
 * @throws {TidemarkError} INVALID_CONFIG, INCONSISTENT_TOPIC_ID, CORRUPT_FILE, KAFKA_STORAGE_ERROR
 */
export function openLogFiles(options: LogOptions): OpenedLog {
  checkLogConfig(options.config)
  const files = options.files ?? new OpenFiles(options.fs ?? realFileSystem)
  try {
    return openSegments(options, files)
  } catch (cause) {
    if (options.files === undefined) files.closeAll()
    throw storageError('cannot open log', options.directory, cause)
  }
}

function openSegments(options: LogOptions, files: OpenFiles): OpenedLog {
  const { directory, config, clock, topicId, foundTopicId } = options
  const durable = config.flush.kind === 'batch'
  const isNew = foundTopicId === undefined && !files.fs.isDirectory(directory)
  // Without `durable` the first flush makes the directory's own entry last.
  if (durable) makeDirectoryDurably(files.fs, directory)
  else if (isNew) files.fs.makeDirectory(directory)
  if (topicId !== undefined && isNew) writeTopicId(files.fs, directory, topicId, durable)
  else if (topicId !== undefined) claimTopicId(files.fs, directory, topicId, durable, foundTopicId)
  const start = options.logStartOffset ?? 0
  if (!options.cleanShutdown) recover(options, files, options.recoveryPoint ?? 0)
  let loaded = isNew ? makeFirstSegment(options, files) : loadSegments(options, files)
  if (!loaded.whole) {
    // It ended cleanly and yet the last segment isn't whole: the disk lost something after all.
    recover(options, files, loaded.segments.at(-1)!.baseOffset)
    loaded = loadSegments(options, files)
  }
  const { segments, created } = loaded
  let names = loaded.names
  let { logEndOffset } = loaded
  const doomed = options.doomed ?? new DoomedFiles()
  const row = new SegmentRow({ directory, files, config, clock, segments, doomed })
  const opened = openEpochs(options, files, { names, logEndOffset })
  const { leaderEpochs } = opened
  if (opened.isRecovered) names = undefined
  if (logEndOffset < start) {
    names = undefined
    row.restartAt(start)
    leaderEpochs.clear()
    logEndOffset = start
  }
  const logStartOffset = Math.max(start, row.firstBaseOffset)
  leaderEpochs.truncateFromEnd(logEndOffset)
  leaderEpochs.truncateFromStart(logStartOffset)
  const producers = openProducers(options, files, {
    segments: row.segments,
    logStartOffset,
    endOffset: logEndOffset,
    nowMs: clock.nowMs(),
    ...(names === undefined ? {} : { names }),
  })
  const unstated = options.cleanShutdown ? logEndOffset : 0
  const recoveryPoint = Math.min(options.recoveryPoint ?? unstated, logEndOffset)
  const isSynced = options.cleanShutdown && options.recovered !== true && loaded.whole && !created
  if (recoveryPoint < logEndOffset || !isSynced) {
    row.markUnsynced(recoveryPoint)
    leaderEpochs.markUnflushed()
  }
  const ends = { logStartOffset, logEndOffset, recoveryPoint }
  return { files, doomed, row, leaderEpochs, producers, ...ends }
}

interface LoadedSegments {
  readonly segments: Segment[]
  readonly logEndOffset: number
  readonly created: boolean
  readonly whole: boolean
  /** Of the files in the directory; undefined: it is to be listed again. */
  readonly names: readonly string[] | undefined
}

/** In a directory that was just made: thousands of them are, and nothing lies in any. */
function makeFirstSegment(
  { directory, clock, logStartOffset: baseOffset = 0 }: LogOptions,
  files: OpenFiles,
): LoadedSegments {
  const segment = Segment.create(files, directory, baseOffset, clock.nowMs(), true)
  return { segments: [segment], logEndOffset: baseOffset, created: true, whole: true, names: [] }
}

/** Only the last segment is looked into: from its last index entry to its end. */
function loadSegments(options: LogOptions, files: OpenFiles): LoadedSegments {
  const { directory, config, clock } = options
  const nowMs = clock.nowMs()
  const found = tidiedNames(files, directory)
  const segments = findSegments(files, directory, nowMs, found)
  const names = dropBelow(segments, options.logStartOffset ?? 0) ? undefined : found
  const last = segments.at(-1)
  if (last === undefined) {
    const logEndOffset = options.logStartOffset ?? 0
    const segment = Segment.create(files, directory, logEndOffset, nowMs)
    return { segments: [segment], logEndOffset, created: true, whole: true, names }
  }
  const fileBytes = last.sizeBytes
  if (fileBytes === 0) {
    return { segments, logEndOffset: last.baseOffset, created: false, whole: true, names }
  }
  const { nextOffset, scan } = last.load(config)
  const whole = scan.fault === undefined && scan.position === fileBytes
  return { segments, logEndOffset: nextOffset, created: false, whole, names }
}

function recover(options: LogOptions, files: OpenFiles, recoveryPoint: number): void {
  const { directory, config } = options
  const logStartOffset = options.logStartOffset ?? 0
  recoverLog(directory, { recoveryPoint, logStartOffset, config, files })
}

function openProducers(
  { directory, config }: LogOptions,
  { fs }: OpenFiles,
  range: LoadedRange,
): LogProducers {
  const expirationMs = config.producerIdExpirationMs
  const shortReplayBytes = Math.min(shortReplayBytesMax, config.segmentBytes >>> 6)
  const producers = new LogProducers({ fs, directory, expirationMs, shortReplayBytes })
  producers.load(range)
  return producers
}

interface OpenedEpochs {
  readonly leaderEpochs: LeaderEpochs
  readonly isRecovered: boolean
}

/** After a clean stop a bad file can only be damage from outside; the batches tell all it told. */
function openEpochs(
  options: LogOptions,
  files: OpenFiles,
  { names, logEndOffset }: Pick<LoadedSegments, 'names' | 'logEndOffset'>,
): OpenedEpochs {
  const { directory } = options
  const isThere = names?.includes(leaderEpochFileName) !== false
  try {
    return { leaderEpochs: LeaderEpochs.open(directory, files.fs, isThere), isRecovered: false }
  } catch (cause) {
    if (!isTidemarkError(cause, 'CORRUPT_FILE')) throw cause
    files.fs.remove(path.join(directory, leaderEpochFileName))
    recover(options, files, logEndOffset)
    return { leaderEpochs: LeaderEpochs.open(directory, files.fs), isRecovered: true }
  }
}
