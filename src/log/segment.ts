/**
 * One data file with its indexes. The segment being written (the active one) keeps them in memory;
 * the others have them in their files only.
 *
 * Order: data before index, so that an index never tells of bytes that aren't there.
 */
import type { Clock } from '../clock.ts'
import { baseOffsetAt, lastOffsetAt, maxTimestampAt, sizeInBytesAt } from './batch-header.ts'
import { batchOverheadBytes } from './batch-layout.ts'
import { type BatchMemory, type BatchRun, batchMemory } from './batch-memory.ts'
import { writeBatches } from './batch-writer.ts'
import { companionSuffixes, logSuffix, segmentPath, segmentSuffixes } from './file-names.ts'
import type { LogConfig } from './log-config.ts'
import { OpenFile, type OpenFiles } from './open-files.ts'
import { maxSegmentMs } from './roll-time.ts'
import { SealedIndexes } from './sealed-indexes.ts'
import { type NewestTimestamp, SegmentIndexes } from './segment-indexes.ts'
import { type BatchVisitor, type ScanResult, scanSegment } from './segment-scan.ts'
import type { TimeEntries } from './time-index.ts'
import { syncFile } from './whole-file.ts'

const shortWalkBytes = 4096
const relativeOffsetMax = 0x7fff_ffff
const headerScratch = batchMemory(new ArrayBuffer(batchOverheadBytes))

export interface SegmentPlace {
  readonly baseOffset: number
  readonly sizeBytes: number
  /** Against which time-based rolling counts where records have no timestamp. */
  readonly createdMs: number
  /** Just made, with nothing beside it. */
  readonly isNew?: boolean
}

export interface RollRules {
  readonly config: LogConfig
  readonly clock: Clock
}

export interface SegmentEnd {
  /** One past the last offset of the last good batch; the base when there is none. */
  readonly nextOffset: number
  readonly scan: ScanResult
}

export class Segment {
  /** Lowest offset it may hold. */
  readonly baseOffset: number
  readonly file: OpenFile
  sizeBytes: number
  /** Bytes were written that no sync has covered yet. */
  dirty = false
  /** The same of its index files; only a sealed segment's have to outlive a crash. */
  #indexDirty = false
  readonly #files: OpenFiles
  readonly #directory: string
  readonly #place: SegmentPlace
  #indexes: SegmentIndexes | undefined = undefined
  /** The same as they lie in the files, while they aren't in memory. */
  #sealed: SealedIndexes | undefined = undefined
  #newest: NewestTimestamp | undefined = undefined
  /** Largest timestamp of the first batch; NaN: not read yet. */
  #firstTimestampMs = Number.NaN
  #mark = { sizeBytes: 0, offsetEntries: 0, timeEntries: 0, timestampMs: -1, timestampOffset: 0 }

  /** For one that is on disk already. */
  constructor(files: OpenFiles, directory: string, place: SegmentPlace) {
    this.#files = files
    this.#directory = directory
    this.baseOffset = place.baseOffset
    this.sizeBytes = place.sizeBytes
    this.#place = place
    this.file = new OpenFile(segmentPath(directory, place.baseOffset, logSuffix), 'update')
  }

  /**
   * Makes an empty one on disk; whatever had that name is gone. `isAlone`: the directory was just
   * made, and nothing in it can have the name.
   */
  static create(
    files: OpenFiles,
    directory: string,
    baseOffset: number,
    createdMs: number,
    isAlone = false,
  ): Segment {
    const { fs } = files
    const suffixes = isAlone ? [] : companionSuffixes
    for (const suffix of suffixes) fs.remove(segmentPath(directory, baseOffset, suffix))
    const place: SegmentPlace = { baseOffset, sizeBytes: 0, createdMs, isNew: true }
    const segment = new Segment(files, directory, place)
    fs.close(fs.open(segment.file.path, 'create'))
    return segment
  }

  /** Indexes in memory, empty ones if nothing has loaded them. */
  get indexes(): SegmentIndexes {
    if (this.#indexes === undefined) {
      const { baseOffset, isNew } = this.#place
      this.#indexes = new SegmentIndexes(this.#files.fs, this.#directory, baseOffset, isNew)
      this.#forgetSealed()
    }
    return this.#indexes
  }

  get times(): TimeEntries {
    return this.#indexes ?? this.#sealedIndexes
  }

  /** Newest timestamp, as its batches tell; undefined: nobody has asked them yet. */
  get newest(): NewestTimestamp | undefined {
    return this.#indexes === undefined ? this.#newest : this.#indexes.newest
  }

  noteNewest(newest: NewestTimestamp): void {
    if (this.#indexes === undefined) this.#newest = newest
    else this.#indexes.noteNewest(newest)
  }

  get fd(): number {
    return this.#files.descriptor(this.file)
  }

  /** Whether a batch must go to the next segment (Kafka: `LogSegment.shouldRoll`). */
  mustRollBefore(
    { config, clock }: RollRules,
    batchBytes: number,
    lastOffset: number,
    maxTimestampMs: number,
  ): boolean {
    if (lastOffset - this.baseOffset > relativeOffsetMax) return true
    if (this.sizeBytes === 0) return false
    if (this.sizeBytes > config.segmentBytes - batchBytes) return true
    if (this.indexes.isFull(config)) return true
    const firstMs = this.firstTimestampMs()
    const timed = firstMs >= 0 && maxTimestampMs >= 0
    const waitedMs = timed ? maxTimestampMs - firstMs : clock.nowMs() - this.#place.createdMs
    return waitedMs > maxSegmentMs(config, this.#directory, this.baseOffset)
  }

  /** Remembers the state that `forgetUnwritten` goes back to. */
  mark(): void {
    const { indexes } = this
    this.#mark.sizeBytes = this.sizeBytes
    this.#mark.offsetEntries = indexes.offsetEntries
    this.#mark.timeEntries = indexes.timeEntries
    this.#mark.timestampMs = indexes.maxTimestampMs
    this.#mark.timestampOffset = indexes.maxTimestampOffset
  }

  /** Takes account of a batch that is about to be written at the end. */
  note(config: LogConfig, batchBytes: number, lastOffset: number, maxTimestampMs: number): void {
    const position = this.sizeBytes
    if (position === 0) this.#firstTimestampMs = maxTimestampMs
    this.indexes.note(position, lastOffset, maxTimestampMs, config.indexIntervalBytes)
    this.sizeBytes = position + batchBytes
  }

  /** Writes the batches noted since `mark`. After a failure `forgetUnwritten` must follow. */
  write(run: BatchRun, first: number, end: number): void {
    this.dirty = true
    writeBatches(this.#files.fs, this.fd, run, first, end, this.#mark.sizeBytes)
    this.mark()
    this.indexes.maybeSave()
  }

  /** Goes back to what was written for certain, and cuts the file there. */
  forgetUnwritten(): void {
    const { indexes } = this
    this.sizeBytes = this.#mark.sizeBytes
    if (this.sizeBytes === 0) this.#firstTimestampMs = Number.NaN
    indexes.truncateToCounts(this.#mark.offsetEntries, this.#mark.timeEntries)
    indexes.maxTimestampMs = this.#mark.timestampMs
    indexes.maxTimestampOffset = this.#mark.timestampOffset
    try {
      this.#files.fs.truncate(this.fd, this.sizeBytes)
    } catch {
      // The write's own error is the one to report; recovery cuts what we couldn't.
    }
  }

  /**
   * Loads the indexes and walks from their last entry to the end, without a look at the records.
   * Indexes that don't fit the data are made anew.
   */
  load(config: LogConfig): SegmentEnd {
    const { indexes } = this
    if (indexes.load(this.sizeBytes)) {
      const end = this.#walkEnd()
      if (end !== undefined) return end
    }
    return this.rebuild(config, false)
  }

  /**
   * Makes the indexes anew from the data, with all checks if `verify`. Afterwards `sizeBytes` ends
   * at the last good batch; the file itself is left as it is. `see` may end it with false.
   */
  rebuild(
    config: LogConfig,
    verify: boolean,
    see?: (memory: BatchMemory, position: number) => boolean,
  ): SegmentEnd {
    const endPosition = this.sizeBytes
    this.indexes.clear()
    this.sizeBytes = 0
    let nextOffset = this.baseOffset
    const options = { startPosition: 0, endPosition, verify }
    const scan = scanSegment(this.#files.fs, this.fd, options, (memory, position) => {
      const lastOffset = lastOffsetAt(memory, position)
      const follows = baseOffsetAt(memory, position) >= nextOffset
      if (!follows || lastOffset - this.baseOffset > relativeOffsetMax) return false
      if (see?.(memory, position) === false) return false
      const maxTimestampMs = maxTimestampAt(memory, position)
      this.note(config, sizeInBytesAt(memory, position), lastOffset, maxTimestampMs)
      nextOffset = lastOffset + 1
      return true
    })
    return { nextOffset, scan }
  }

  /**
   * Cuts the file before the batch at `position`, which holds `offset` or what follows it. Returns
   * one past the last offset that is left.
   */
  cutTo(position: number, offset: number, config: LogConfig): number {
    if (this.#indexes === undefined) this.load(config)
    this.#files.fs.truncate(this.fd, position)
    this.dirty = true
    this.sizeBytes = position
    if (position === 0) this.#firstTimestampMs = Number.NaN
    this.indexes.truncateTo(position, offset)
    const end = this.#walkEnd() ?? this.rebuild(config, false)
    this.indexes.save()
    return end.nextOffset
  }

  /** Where to begin the walk to the batch that holds `offset`. */
  searchPosition(offset: number): number {
    return (this.#indexes ?? this.#sealedIndexes).lookup(offset)
  }

  /** Position of the first batch whose last offset is at or above `offset`; the size if none is. */
  positionOf(offset: number): number {
    const from = this.searchPosition(offset)
    if (from > 0 && from < this.sizeBytes) {
      const found = this.#walkTo(from, offset)
      if (found !== undefined && found.fault === undefined) return found.position
    }
    // No index, or one that leads nowhere: walk all of it.
    return this.#walkTo(0, offset)?.position ?? 0
  }

  /** Returns the bytes read; fewer than asked at the file's end. */
  read(target: Uint8Array, targetPosition: number, length: number, filePosition: number): number {
    return this.#files.fs.read(this.fd, target, targetPosition, length, filePosition)
  }

  /** Walks from header to header; `isShort`: not far, as it seems. */
  walk(startPosition: number, visit: BatchVisitor, isShort = false): ScanResult {
    const place = { startPosition, endPosition: this.sizeBytes, verify: false }
    const options = isShort ? { ...place, readBytes: shortWalkBytes } : place
    return scanSegment(this.#files.fs, this.fd, options, visit)
  }

  /** Ends the writing: the index files are complete, and `release` frees the memory. */
  seal(release: boolean): void {
    if (!release && this.#indexes?.areNeedless === true) return
    if (this.#indexes?.seal() === true) this.#indexDirty = true
    if (!release) return
    this.#newest = this.#indexes?.newest
    this.#indexes = undefined
  }

  get needsSync(): boolean {
    return this.dirty || this.#indexDirty
  }

  /** Its index of aborted transactions was written to. */
  markIndexUnsynced(): void {
    this.#indexDirty = true
  }

  /** Whoever wrote it last may not have synced it. */
  markUnsynced(): void {
    this.dirty = true
    this.#indexDirty = true
  }

  /**
   * Indexes too (Kafka: `LogSegment.flush`): below the recovery point nobody looks whether they are
   * right.
   */
  sync(): void {
    const { fs } = this.#files
    if (this.dirty) fs.dataSync(this.fd)
    this.dirty = false
    if (!this.#indexDirty) return
    for (const suffix of companionSuffixes) {
      const path = segmentPath(this.#directory, this.baseOffset, suffix)
      if (fs.sizeOf(path) !== undefined) syncFile(fs, path)
    }
    this.#indexDirty = false
  }

  /** What `sync` would sync, for somebody who does it elsewhere. */
  unsyncedFiles(): string[] {
    const files = this.dirty ? [this.file.path] : []
    if (!this.#indexDirty) return files
    return files.concat(
      companionSuffixes.map((suffix) => segmentPath(this.#directory, this.baseOffset, suffix)),
    )
  }

  /** All that `unsyncedFiles` told is on disk as it was at `sizeBytes`. */
  markSynced(sizeBytes: number): void {
    if (this.sizeBytes !== sizeBytes) return
    this.dirty = false
    this.#indexDirty = false
  }

  /**
   * Time of its newest record, so far as the time index tells; where no record has one, that of the
   * file's last change (Kafka: `LogSegment.largestTimestamp`).
   */
  largestTimestampMs(): number {
    const known = this.#indexes?.maxTimestampMs ?? newestOf(this.#sealedIndexes)
    if (known >= 0) return known
    return this.#files.fs.modifiedMs(this.file.path) ?? this.#place.createdMs
  }

  /** Newest of its first batch; -1: unknown. */
  firstTimestampMs(): number {
    if (!Number.isNaN(this.#firstTimestampMs)) return this.#firstTimestampMs
    const { bytes } = headerScratch
    const read = this.read(bytes, 0, bytes.length, 0)
    this.#firstTimestampMs = read < bytes.length ? -1 : maxTimestampAt(headerScratch, 0)
    return this.#firstTimestampMs
  }

  closeFile(): void {
    this.#files.close(this.file)
    this.#forgetSealed()
  }

  /** Removes its files, the data last, so that a crash leaves no index alone. */
  remove(): void {
    this.closeFile()
    const { fs } = this.#files
    for (const suffix of segmentSuffixes) {
      fs.remove(segmentPath(this.#directory, this.baseOffset, suffix))
    }
  }

  get #sealedIndexes(): SealedIndexes {
    this.#sealed ??= new SealedIndexes(this.#files, this.#directory, this.baseOffset)
    return this.#sealed
  }

  #forgetSealed(): void {
    this.#sealed?.close()
    this.#sealed = undefined
  }

  /** undefined: the start lies beyond the offset already, so whoever named it was wrong. */
  #walkTo(startPosition: number, offset: number): ScanResult | undefined {
    let isBeyond = false
    const found = this.walk(startPosition, (memory, position, at) => {
      if (at === startPosition && at > 0) isBeyond = baseOffsetAt(memory, position) > offset
      return lastOffsetAt(memory, position) < offset
    })
    return isBeyond ? undefined : found
  }

  /** Walks from the last index entry; undefined when the entry doesn't fit the data. */
  #walkEnd(): SegmentEnd | undefined {
    const { indexes } = this
    indexes.restartMaxTimestamp()
    const startPosition = indexes.lastPosition
    let expected = indexes.lastIndexedOffset
    let nextOffset = this.baseOffset
    let fits = true
    const scan = this.walk(startPosition, (memory, position) => {
      const lastOffset = lastOffsetAt(memory, position)
      fits = (expected ?? lastOffset) === lastOffset && baseOffsetAt(memory, position) >= nextOffset
      if (!fits) return false
      expected = undefined
      indexes.see(lastOffset, maxTimestampAt(memory, position))
      nextOffset = lastOffset + 1
      return true
    })
    return fits && expected === undefined ? { nextOffset, scan } : undefined
  }
}

/** The last entry was written when the segment was sealed. -1: none. */
function newestOf(times: TimeEntries): number {
  return times.timeEntries === 0 ? -1 : times.timestampMsOf(times.timeEntries - 1)
}
