/**
 * Makes a partition's directory whole after a crash (Kafka: `LogLoader`). A job over one directory
 * without anything else, so that many run side by side; afterwards the log opens as after a clean
 * stop.
 *
 * Everything from the segment of the recovery point on is read and checked. At the first batch that
 * isn't whole the file is cut and all later segments are removed. Indexes are made anew; the
 * history of leader epochs above the recovery point is taken from the batches.
 */
import path from 'node:path'
import { isTidemarkError } from '../errors.ts'
import { baseOffsetAt, hasProducerIdAt, leaderEpochAt } from './batch-header.ts'
import type { BatchMemory } from './batch-memory.ts'
import { leaderEpochFileName, logSuffix, segmentBases, segmentPath } from './file-names.ts'
import { type FileSystem, realFileSystem } from './file-system.ts'
import { indexesFit } from './index-check.ts'
import { type LeaderEpochEntry, LeaderEpochs } from './leader-epochs.ts'
import type { LogConfig } from './log-config.ts'
import { OpenFiles } from './open-files.ts'
import { LogProducers } from './producers/log-producers.ts'
import { Segment } from './segment.ts'
import { dropBelow, dropSuperseded, findSegments, floorSegmentIndex } from './segment-files.ts'
import { scanSegment } from './segment-scan.ts'
import { storageError } from './storage-error.ts'

const toldBytesMin = 16 * 1024 * 1024

export interface RecoveryOptions {
  /** All below is known to be on disk, and is not read again. 0: read everything. */
  readonly recoveryPoint: number
  /** Start offset as last written down; 0 when it never was. */
  readonly logStartOffset: number
  readonly config: LogConfig
  readonly files?: OpenFiles
  /** Told now and then how many bytes were read since it was told last. */
  readonly onScanned?: (bytes: number) => void
}

export interface RecoverySummary {
  readonly logEndOffset: number
  readonly logStartOffset: number
  /** Bytes cut from the end, removed segments included. */
  readonly truncatedBytes: number
  readonly segmentsScanned: number
  readonly bytesScanned: number
}

/** Bytes of the segments that are read again. */
export interface RecoveryProgress {
  readonly doneBytes: number
  readonly totalBytes: number
}

/** @throws {TidemarkError} KAFKA_STORAGE_ERROR, UNSUPPORTED_VERSION */
export function recoverLog(directory: string, options: RecoveryOptions): RecoverySummary {
  const steps = recoverLogBySegments(directory, options)
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

/** The same for a thread that has other things to do: one segment a step. */
export function* recoverLogBySegments(
  directory: string,
  options: RecoveryOptions,
): Generator<RecoveryProgress, RecoverySummary> {
  const files = options.files ?? new OpenFiles(realFileSystem)
  try {
    return yield* new Recovery(directory, options, files).run()
  } catch (cause) {
    throw storageError('cannot recover', directory, cause)
  } finally {
    if (options.files === undefined) files.closeAll()
  }
}

class Recovery {
  readonly #directory: string
  readonly #options: RecoveryOptions
  readonly #files: OpenFiles
  readonly #epochs: LeaderEpochs
  /** Leader epochs as the batches tell them; written down once, at the end. */
  readonly #history: LeaderEpochEntry[] = []
  readonly #producers: LogProducers
  #segments: Segment[]
  #truncatedBytes = 0
  #segmentsScanned = 0
  #bytesScanned = 0
  /** Of the segment being read. */
  #toldBytes = 0

  constructor(directory: string, options: RecoveryOptions, files: OpenFiles) {
    this.#directory = directory
    this.#options = options
    this.#files = files
    this.#segments = findSegments(files, directory, 0)
    dropBelow(this.#segments, options.logStartOffset)
    dropSuperseded(files, this.#segments)
    this.#epochs = openEpochs(directory, files)
    const expirationMs = options.config.producerIdExpirationMs
    this.#producers = new LogProducers({ fs: files.fs, directory, expirationMs })
  }

  *run(): Generator<RecoveryProgress, RecoverySummary> {
    const first = Math.max(0, floorSegmentIndex(this.#segments, this.#options.recoveryPoint))
    this.#takeEarlierEpochs(first)
    for (const segment of this.#segments.slice(0, first)) this.#repairIndexes(segment)
    // Rolled after the last flush: that covered its data, and its indexes were not complete yet.
    if (first > 0 && this.#segments[first].baseOffset === this.#options.recoveryPoint) {
      this.#rebuildIndexes(this.#segments[first - 1])
    }
    this.#takeEarlierProducers(first)
    let logEndOffset = yield* this.#scanFrom(first)
    const { logStartOffset } = this.#options
    if (this.#segments.length === 0 || logEndOffset < logStartOffset) {
      this.#dropFrom(0)
      this.#segments = [Segment.create(this.#files, this.#directory, logStartOffset, 0)]
      logEndOffset = logStartOffset
      this.#history.length = 0
      this.#producers.restart(logStartOffset)
    }
    this.#producers.takeSnapshot(logEndOffset)
    this.#epochs.replaceAll(this.#history)
    this.#epochs.truncateFromEnd(logEndOffset)
    this.#epochs.truncateFromStart(logStartOffset)
    for (const segment of this.#segments) segment.closeFile()
    return {
      logEndOffset,
      logStartOffset: Math.max(logStartOffset, this.#segments[0].baseOffset),
      truncatedBytes: this.#truncatedBytes,
      segmentsScanned: this.#segmentsScanned,
      bytesScanned: this.#bytesScanned,
    }
  }

  /** Returns the log's end. */
  *#scanFrom(first: number): Generator<RecoveryProgress, number> {
    const all = this.#segments.slice(first)
    const totalBytes = all.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    let nextOffset = this.#segments[first]?.baseOffset ?? this.#options.logStartOffset
    for (let index = first; index < this.#segments.length; index += 1) {
      const segment = this.#segments[index]
      // Segments reach the disk in any order: after a hole nothing belongs to the log.
      if (segment.baseOffset !== nextOffset) {
        this.#dropFrom(index)
        break
      }
      const fileBytes = segment.sizeBytes
      this.#producers.recoverSegment(segment.baseOffset)
      const end = segment.rebuild(this.#options.config, true, (memory, position) => {
        if (segment.sizeBytes - this.#toldBytes >= toldBytesMin) this.#tell(segment.sizeBytes)
        return this.#note(memory, position)
      })
      this.#producers.saveAborted(segment.baseOffset)
      this.#tell(fileBytes)
      this.#toldBytes = 0
      nextOffset = end.nextOffset
      this.#segmentsScanned += 1
      this.#bytesScanned += fileBytes
      segment.seal(true)
      if (segment.sizeBytes < fileBytes) {
        this.#files.fs.truncate(segment.fd, segment.sizeBytes)
        segment.dirty = true
        segment.sync()
        this.#truncatedBytes += fileBytes - segment.sizeBytes
        this.#dropFrom(index + 1)
      }
      segment.closeFile()
      yield { doneBytes: this.#bytesScanned, totalBytes }
    }
    return nextOffset
  }

  #tell(position: number): void {
    this.#options.onScanned?.(position - this.#toldBytes)
    this.#toldBytes = position
  }

  /**
   * Entries for what is scanned come from the batches alone; those before it from the file, unless
   * that doesn't reach back to the first batch: then from the headers.
   */
  #takeEarlierEpochs(first: number): void {
    if (first === 0) return
    const scanned = this.#segments[first].baseOffset
    this.#history.push(...this.#epochs.entries.filter((entry) => entry.startOffset < scanned))
    const start = Math.max(this.#segments[0].baseOffset, this.#options.logStartOffset)
    if (this.#history.length > 0 && this.#history[0].startOffset <= start) return
    this.#history.length = 0
    for (const segment of this.#segments.slice(0, first)) {
      const options = { startPosition: 0, endPosition: segment.sizeBytes, verify: false }
      scanSegment(this.#files.fs, segment.fd, options, (memory, position) => {
        this.#noteEpoch(leaderEpochAt(memory, position), baseOffsetAt(memory, position))
        return true
      })
    }
  }

  /** As they were where the scan begins; of expired ones the log is rid when it is opened. */
  #takeEarlierProducers(first: number): void {
    if (this.#segments.length === 0) return
    const range = {
      segments: this.#segments.slice(0, first),
      logStartOffset: this.#options.logStartOffset,
      endOffset: this.#segments[first].baseOffset,
      nowMs: Number.NEGATIVE_INFINITY,
    }
    this.#producers.beginRecovery(range)
  }

  #note(memory: BatchMemory, position: number): boolean {
    const epoch = leaderEpochAt(memory, position)
    if (!this.#noteEpoch(epoch, baseOffsetAt(memory, position))) return false
    if (hasProducerIdAt(memory, position)) this.#producers.see(memory, position)
    return true
  }

  /**
   * False: a batch that a later one of the log had replaced already. A crash brings it back when it
   * undoes a truncation and keeps what was written since.
   */
  #noteEpoch(leaderEpoch: number, baseOffset: number): boolean {
    const latest = this.#history.at(-1)?.leaderEpoch ?? -1
    if (leaderEpoch > latest) this.#history.push({ leaderEpoch, startOffset: baseOffset })
    return leaderEpoch >= latest || leaderEpoch < 0
  }

  /** A segment that isn't read again still needs its index files. */
  #repairIndexes(segment: Segment): void {
    if (!indexesFit(segment, this.#options.config)) this.#rebuildIndexes(segment)
    // Frees the memory; what fits is written only if the newest time is missing.
    segment.seal(true)
    segment.sync()
    segment.closeFile()
  }

  #rebuildIndexes(segment: Segment): void {
    segment.rebuild(this.#options.config, false)
    segment.seal(true)
    segment.sync()
    segment.closeFile()
  }

  /** From the last on, so that a crash leaves a whole beginning. */
  #dropFrom(index: number): void {
    if (index >= this.#segments.length) return
    for (const segment of this.#segments.splice(index).reverse()) {
      const file = segmentPath(this.#directory, segment.baseOffset, logSuffix)
      this.#truncatedBytes += this.#files.fs.sizeOf(file) ?? 0
      segment.remove()
    }
    this.#files.fs.syncDirectory(this.#directory)
  }
}

/** A file that cannot be read is no loss: all of it can be had from the batches. */
function openEpochs(directory: string, files: OpenFiles): LeaderEpochs {
  try {
    return LeaderEpochs.open(directory, files.fs)
  } catch (cause) {
    if (!isTidemarkError(cause, 'CORRUPT_FILE')) throw cause
    files.fs.remove(path.join(directory, leaderEpochFileName))
    return LeaderEpochs.open(directory, files.fs)
  }
}

/** What a recovery of the directory would read. No directory: nothing. */
export function bytesToRecover(fs: FileSystem, directory: string, recoveryPoint: number): number {
  const bases = segmentBases(fs.list(directory) ?? [])
  const first = bases.findLastIndex((base) => base <= recoveryPoint)
  return bases
    .slice(Math.max(0, first))
    .reduce((sum, base) => sum + (fs.sizeOf(segmentPath(directory, base, logSuffix)) ?? 0), 0)
}
