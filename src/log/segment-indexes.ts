/**
 * Both indexes of the segment that is being written, in memory, and how they reach their files.
 *
 * The files follow the data by some entries, and may be missing: they have no checksum and are
 * trusted no further than the data bears them out.
 */

import { writeWhole } from './batch-writer.ts'
import { offsetIndexSuffix, segmentPath, timeIndexSuffix } from './file-names.ts'
import type { FileSystem } from './file-system.ts'
import type { LogConfig } from './log-config.ts'
import { OffsetIndex, offsetIndexEntryBytes } from './offset-index.ts'
import { systemErrorCode } from './storage-error.ts'
import { type TimeEntries, TimeIndex, timeIndexEntryBytes } from './time-index.ts'

/** Entries that wait in memory before the file gets them: 8 KiB of index, some MiB of log. */
const unsavedEntriesMax = 1_024

interface EncodedIndex {
  readonly count: number
  encode(first: number): Uint8Array
}

export interface NewestTimestamp {
  /** -1: no record has one. */
  readonly timestampMs: number
  /** An offset of the earliest batch that has it. */
  readonly offset: number
}

export class SegmentIndexes implements TimeEntries {
  /** Largest timestamp of the segment and the last offset of the earliest batch that has it. */
  maxTimestampMs = -1
  maxTimestampOffset: number
  readonly #fs: FileSystem
  readonly #directory: string
  readonly #baseOffset: number
  readonly #offsets = new OffsetIndex()
  readonly #times = new TimeIndex()
  #savedOffsets = 0
  #savedTimes = 0
  /** Whether the files exist and end where memory does. */
  #saved = false
  /** Whether each file ends where what was saved does: then it need not be cut before it grows. */
  #endsAtSaved = false
  /** Whether the files were written since they were loaded or made. */
  #written = false
  /** Whether there are no files for certain. */
  #areAbsent: boolean
  /** Whether what they say of time comes from the batches, and not from a file. */
  #timesAreSeen = true

  /** @param isNew the segment was just made: it has no files yet */
  constructor(fs: FileSystem, directory: string, baseOffset: number, isNew = false) {
    this.#areAbsent = isNew
    this.#fs = fs
    this.#directory = directory
    this.#baseOffset = baseOffset
    this.maxTimestampOffset = baseOffset
  }

  /** Where the last entry's batch begins; 0 without an entry. */
  get lastPosition(): number {
    return this.#offsets.lastPosition
  }

  /** Last offset of the last entry's batch; undefined without an entry. */
  get lastIndexedOffset(): number | undefined {
    if (this.#offsets.count === 0) return undefined
    return this.#baseOffset + this.#offsets.lastRelativeOffset
  }

  get offsetEntries(): number {
    return this.#offsets.count
  }

  get timeEntries(): number {
    return this.#times.count
  }

  timestampMsOf(entry: number): number {
    return this.#times.timestampMsOf(entry)
  }

  offsetOf(entry: number): number {
    return this.#baseOffset + this.#times.relativeOffsetOf(entry)
  }

  /** undefined: known from the file only, which may be wrong. */
  get newest(): NewestTimestamp | undefined {
    if (!this.#timesAreSeen) return undefined
    return { timestampMs: this.maxTimestampMs, offset: this.maxTimestampOffset }
  }

  noteNewest({ timestampMs, offset }: NewestTimestamp): void {
    this.maxTimestampMs = timestampMs
    this.maxTimestampOffset = offset
    this.#timesAreSeen = true
  }

  /** Takes the entries of the files. False: missing, or not well-formed; then there are none. */
  load(segmentBytes: number): boolean {
    const offsets = this.#fs.readFile(this.#path(offsetIndexSuffix))
    const times = this.#fs.readFile(this.#path(timeIndexSuffix))
    this.#areAbsent = offsets === undefined && times === undefined
    const whole =
      offsets !== undefined &&
      times !== undefined &&
      this.#offsets.load(offsets, segmentBytes) &&
      this.#times.load(times)
    if (!whole) {
      this.clear()
      return false
    }
    this.#savedOffsets = this.#offsets.count
    this.#savedTimes = this.#times.count
    this.#saved =
      offsets.length === this.#savedOffsets * offsetIndexEntryBytes &&
      times.length === this.#savedTimes * timeIndexEntryBytes
    this.#endsAtSaved = this.#saved
    this.#timesAreSeen = false
    this.restartMaxTimestamp()
    return true
  }

  clear(): void {
    this.#offsets.truncateToPosition(0)
    this.#times.truncateTo(0)
    this.#savedOffsets = 0
    this.#savedTimes = 0
    this.#saved = false
    this.#endsAtSaved = false
    this.#timesAreSeen = true
    this.restartMaxTimestamp()
  }

  /**
   * Goes back to what the time index knows; the batches after the last entry must be seen again.
   */
  restartMaxTimestamp(): void {
    this.maxTimestampMs = this.#times.lastTimestampMs
    this.maxTimestampOffset = this.#baseOffset + this.#times.lastRelativeOffset
  }

  see(lastOffset: number, maxTimestampMs: number): void {
    if (maxTimestampMs <= this.maxTimestampMs) return
    this.maxTimestampMs = maxTimestampMs
    this.maxTimestampOffset = lastOffset
  }

  /** Takes account of a batch at `position`; adds entries if the last lies far enough back. */
  note(position: number, lastOffset: number, maxTimestampMs: number, intervalBytes: number): void {
    this.see(lastOffset, maxTimestampMs)
    if (position - this.#offsets.lastPosition <= intervalBytes) return
    this.#offsets.append(lastOffset - this.#baseOffset, position)
    this.#times.maybeAppend(this.maxTimestampMs, this.maxTimestampOffset - this.#baseOffset)
    this.#saved = false
  }

  lookup(offset: number): number {
    return this.#offsets.lookup(offset - this.#baseOffset)
  }

  /** One slot of the time index is kept back for the entry that ends it. */
  isFull({ segmentIndexBytes }: LogConfig): boolean {
    return (
      this.#offsets.count >= Math.floor(segmentIndexBytes / offsetIndexEntryBytes) ||
      this.#times.count >= Math.floor(segmentIndexBytes / timeIndexEntryBytes) - 1
    )
  }

  /** Forgets batches from `position` on, the first of which would hold `offset`. */
  truncateTo(position: number, offset: number): void {
    this.#offsets.truncateToPosition(position)
    this.#times.truncateTo(offset - this.#baseOffset)
    this.#timesAreSeen = false
    this.#trimSaved()
  }

  /** Goes back to so many entries; for a write that failed. */
  truncateToCounts(offsetEntries: number, timeEntries: number): void {
    this.#offsets.truncateToCount(offsetEntries)
    this.#times.truncateToCount(timeEntries)
    this.#trimSaved()
  }

  /**
   * Adds the entry that ends the time index, so that the file tells the segment's newest time.
   * Returns whether the files were written at any time.
   */
  seal(): boolean {
    const before = this.#times.count
    this.#times.maybeAppend(this.maxTimestampMs, this.maxTimestampOffset - this.#baseOffset)
    if (this.#times.count > before) this.#saved = false
    this.save()
    return this.#written
  }

  /**
   * Whether files would spare the next owner no more than a walk over the first few batches, which
   * is cheaper than to read them. So it is in most logs of many.
   */
  get areNeedless(): boolean {
    return this.#areAbsent && this.#offsets.count === 0
  }

  maybeSave(): void {
    if (this.#offsets.count - this.#savedOffsets >= unsavedEntriesMax) this.save()
  }

  save(): void {
    if (this.#saved) return
    this.#saveFile(offsetIndexSuffix, offsetIndexEntryBytes, this.#savedOffsets, this.#offsets)
    this.#savedOffsets = this.#offsets.count
    this.#saveFile(timeIndexSuffix, timeIndexEntryBytes, this.#savedTimes, this.#times)
    this.#savedTimes = this.#times.count
    this.#saved = true
    this.#endsAtSaved = true
  }

  #trimSaved(): void {
    const isCut = this.#offsets.count < this.#savedOffsets || this.#times.count < this.#savedTimes
    if (isCut) this.#endsAtSaved = false
    this.#savedOffsets = Math.min(this.#savedOffsets, this.#offsets.count)
    this.#savedTimes = Math.min(this.#savedTimes, this.#times.count)
    this.#saved = false
  }

  /** Writes the entries that the file lacks after those it has, and cuts what else it holds. */
  #saveFile(suffix: string, entryBytes: number, saved: number, index: EncodedIndex): void {
    const path = this.#path(suffix)
    // After a recovery the file mostly says what was found.
    if (saved === 0 && isSame(this.#fs.readFile(path), index.encode(0))) return
    this.#written = true
    this.#areAbsent = false
    const fd = saved === 0 ? undefined : this.#openExisting(path)
    const target = fd ?? this.#fs.open(path, 'create')
    try {
      const first = fd === undefined ? 0 : saved
      if (fd !== undefined && !this.#endsAtSaved) this.#fs.truncate(fd, first * entryBytes)
      const bytes = index.encode(first)
      writeWhole(this.#fs, target, bytes, 0, bytes.length, first * entryBytes)
    } finally {
      this.#fs.close(target)
    }
  }

  #openExisting(path: string): number | undefined {
    try {
      return this.#fs.open(path, 'update')
    } catch (cause) {
      if (systemErrorCode(cause) === 'ENOENT') return undefined
      throw cause
    }
  }

  #path(suffix: string): string {
    return segmentPath(this.#directory, this.#baseOffset, suffix)
  }
}

function isSame(found: Uint8Array | undefined, wanted: Uint8Array): boolean {
  if (found === undefined || found.length !== wanted.length) return false
  return Buffer.compare(found, wanted) === 0
}
