/**
 * The segments of one log in order, the last being the one written to. Knows files and positions;
 * the log above it knows what the offsets mean. Throws what the file system throws.
 */
import path from 'node:path'
import type { Clock } from '../clock.ts'
import type { BatchRun } from './batch-memory.ts'
import type { LogConfig } from './log-config.ts'
import type { OpenFiles } from './open-files.ts'
import { ReadPlan, type ReadRange, type ReadRequest, runNow, segmentGone } from './read-plan.ts'
import { type DoomedFiles, doomSegment } from './retention/doomed-files.ts'
import { expiredSegmentCount, type RetentionBounds } from './retention/retention-rules.ts'
import { Segment } from './segment.ts'
import { floorSegmentIndex } from './segment-files.ts'

export interface SegmentRowOptions {
  readonly directory: string
  readonly files: OpenFiles
  readonly config: LogConfig
  readonly clock: Clock
  /** Ascending; one at least, the last with its indexes loaded. */
  readonly segments: Segment[]
  /** Takes the files of segments that were dropped. */
  readonly doomed: DoomedFiles
}

export class SegmentRow {
  readonly #options: SegmentRowOptions
  #segments: Segment[]
  #active: Segment
  /** All but the active segment. */
  #sealedBytes = 0
  /** Files were made or removed since the directory was last synced. */
  #directoryDirty = false
  /** The directory's own entry may not be on disk: nobody knows what the last owner lived to do. */
  #entryDirty = true
  /** The first segment's entry may not be on disk. */
  #firstDirty = true
  /** Batches were cut off that the disk may still have. */
  #cutDirty = false
  /** Made at the first read: most logs of a follower are never read by their owner. */
  #plan: ReadPlan | undefined = undefined
  readonly #answer = (request: ReadRequest): number => this.#do(request)

  constructor(options: SegmentRowOptions) {
    this.#options = options
    this.#segments = options.segments
    this.#active = options.segments.at(-1)!
    this.#sumSealedBytes()
  }

  get active(): Segment {
    return this.#active
  }

  get count(): number {
    return this.#segments.length
  }

  /** Ascending, the active one last. */
  get segments(): readonly Segment[] {
    return this.#segments
  }

  get firstBaseOffset(): number {
    return this.#segments[0].baseOffset
  }

  get sizeBytes(): number {
    return this.#sealedBytes + this.#active.sizeBytes
  }

  /** How many of the oldest segments have expired; all: the last must be rolled first. */
  expiredCount(bounds: RetentionBounds): number {
    return expiredSegmentCount(this.#segments, this.#options.config, bounds)
  }

  baseOffsetAt(index: number): number {
    return this.#segments[index].baseOffset
  }

  /** For a row whose last bytes may not have reached the disk, whoever wrote them. */
  markUnsynced(fromOffset: number): void {
    this.#directoryDirty = true
    // The segment before too, if it ends there: its indexes may have been completed since.
    const first = Math.max(0, floorSegmentIndex(this.#segments, fromOffset - 1))
    for (const segment of this.#segments.slice(first)) segment.markUnsynced()
  }

  /** Whether a batch must go to a new segment. */
  mustRollBefore(batchBytes: number, lastOffset: number, maxTimestampMs: number): boolean {
    return this.#active.mustRollBefore(this.#options, batchBytes, lastOffset, maxTimestampMs)
  }

  /**
   * Ends the active segment and begins one at `baseOffset`. Waits for the disk in two cases only.
   * After a truncation, since a crash could undo that and keep the new segment, which would go on
   * from batches that it never followed. And until the first segment's entry is on disk: a log
   * whose beginning a crash took looks like one whose beginning has expired.
   */
  roll(baseOffset: number): void {
    const { files, directory, clock } = this.#options
    this.#active.seal(true)
    if (this.#cutDirty) this.sync()
    if (this.#firstDirty) files.fs.syncDirectory(directory)
    this.#firstDirty = false
    this.#sealedBytes += this.#active.sizeBytes
    this.#active = Segment.create(files, directory, baseOffset, clock.nowMs())
    this.#segments.push(this.#active)
    this.#directoryDirty = true
  }

  write(run: BatchRun, first: number, end: number): void {
    this.#active.write(run, first, end)
  }

  read(range: ReadRange): number {
    this.#plan ??= new ReadPlan()
    return runNow(this.#plan.read(range), this.#answer)
  }

  /**
   * Cuts from the batch on that holds `offset`, which lies at or above the first base. `isOnDisk`:
   * some of that lies below the recovery point, where nobody would look for a hole after a crash.
   * Returns where the data ends now.
   */
  truncateTo(offset: number, isOnDisk: boolean): number {
    this.#plan = undefined
    this.#removeFrom(floorSegmentIndex(this.#segments, offset) + 1, isOnDisk)
    this.#active = this.#segments.at(-1)!
    this.#cutDirty = true
    const position = this.#active.positionOf(offset)
    const dataEndOffset = this.#active.cutTo(position, offset, this.#options.config)
    this.#sumSealedBytes()
    return dataEndOffset
  }

  restartAt(offset: number, isOnDisk = true): void {
    const { files, directory, clock } = this.#options
    this.#plan = undefined
    this.#removeFrom(0, isOnDisk)
    // As when a truncation is followed by a roll.
    files.fs.syncDirectory(directory)
    this.#cutDirty = false
    this.#firstDirty = true
    this.#active = Segment.create(files, directory, offset, clock.nowMs())
    this.#segments = [this.#active]
    this.#directoryDirty = true
    this.#sumSealedBytes()
  }

  /** Data in order of offsets, so that what is on disk is a whole beginning; then the directory. */
  sync(): void {
    const { files, directory } = this.#options
    let first = this.#segments.length
    while (first > 0 && this.#segments[first - 1].needsSync) first -= 1
    if (first === this.#segments.length && !this.#directoryDirty) return
    for (let at = first; at < this.#segments.length; at += 1) this.#segments[at].sync()
    if (this.#directoryDirty || this.#entryDirty) files.fs.syncDirectory(directory)
    if (this.#entryDirty) files.fs.syncDirectory(path.dirname(directory))
    this.#directoryDirty = false
    this.#entryDirty = false
    this.#firstDirty = false
    this.#cutDirty = false
  }

  closeFiles(): void {
    for (const segment of this.#segments) segment.closeFile()
  }

  /**
   * Drops the first `count` segments, not all. Of a beginning that has expired a crash must leave a
   * whole end: after a hole nothing would be taken for the log's. So each waits until the disk
   * knows that the one before is gone, unless `writtenStart` tells so: the log start as written
   * down, below which an opening looks at nothing.
   */
  retireFirst(count: number, writtenStart: number): void {
    const { files, directory, clock, config, doomed } = this.#options
    const dueMs = clock.nowMs() + config.fileDeleteDelayMs
    this.#plan = undefined
    for (let left = count; left > 0; left -= 1) {
      if (this.#segments[1].baseOffset > writtenStart && this.#directoryDirty) {
        files.fs.syncDirectory(directory)
        this.#firstDirty = false
      }
      const [first] = this.#segments.splice(0, 1)
      first.closeFile()
      doomSegment(files.fs, directory, first.baseOffset, (path) => doomed.add(path, dueMs))
      this.#directoryDirty = true
    }
    this.#sumSealedBytes()
  }

  /**
   * From the last on, so that a crash leaves a whole beginning; `inOrder`: a loss of power as well.
   */
  #removeFrom(index: number, inOrder: boolean): void {
    const { files, directory } = this.#options
    while (this.#segments.length > index) {
      this.#segments.at(-1)!.remove()
      this.#segments.pop()
      this.#directoryDirty = true
      if (inOrder) files.fs.syncDirectory(directory)
    }
  }

  #sumSealedBytes(): void {
    this.#sealedBytes = 0
    for (let at = 0; at < this.#segments.length - 1; at += 1) {
      this.#sealedBytes += this.#segments[at].sizeBytes
    }
  }

  #do(request: ReadRequest): number {
    if (request.kind === 'list') {
      request.bases = this.#segments.map(({ baseOffset }) => baseOffset)
      return 0
    }
    const segment = this.#segments[floorSegmentIndex(this.#segments, request.base)]
    if (segment?.baseOffset !== request.base) return segmentGone
    if (request.kind === 'search') return segment.searchPosition(request.offset)
    const { bytes, bytesPosition, length, filePosition } = request
    return segment.read(bytes, bytesPosition, length, filePosition)
  }
}
