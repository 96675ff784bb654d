/**
 * The segments of one log in order, the last being the one written to. Knows files and positions;
 * the log above it knows what the offsets mean. Throws what the file system throws.
 */
import path from 'node:path'
import type { Clock } from '../clock.ts'
import type { BatchRun } from './batch-memory.ts'
import type { CleanedGroup } from './compaction/cleaner-job.ts'
import { swapIn } from './compaction/swap-in.ts'
import type { LogConfig } from './log-config.ts'
import type { OpenFiles } from './open-files.ts'
import { ReadPlan, type ReadRange, type ReadRequest, runNow, segmentGone } from './read-plan.ts'
import { type DoomedFiles, doomSegment } from './retention/doomed-files.ts'
import { expiredSegmentCount, type RetentionBounds } from './retention/retention-rules.ts'
import { Segment } from './segment.ts'
import { floorSegmentIndex } from './segment-files.ts'
import type { SyncPlan } from './sync-plan.ts'

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
  /** A segment was completed since the last plan. */
  #hasRolled = false
  /**
   * Bases of segments whose data is in another one now. Their files go once the disk knows that
   * one by its name.
   */
  #replaced: number[] = []
  /** So many of those the plan under way covers. */
  #plannedReplaced = 0
  /** Of the segments' contents: what was planned for another is not done. */
  generation = 0
  #lowestCut = Number.POSITIVE_INFINITY
  /** What is being synced elsewhere; until that has ended a sync of ours covers it too. */
  #plan: SyncPlan | undefined = undefined
  /** Made at the first read: most logs of a follower are never read by their owner. */
  #readPlan: ReadPlan | undefined = undefined
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

  /** Where the first segment begins that has not, with a share of `retention.bytes`. */
  expiredEnd(bounds: RetentionBounds, bytesShare: number): number {
    const { config } = this.#options
    const retentionBytes = Math.floor(config.retentionBytes * bytesShare)
    const count = expiredSegmentCount(this.#segments, { ...config, retentionBytes }, bounds)
    return count === this.#segments.length ? bounds.logEndOffset : this.baseOffsetAt(count)
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

  /** A file beside the segments was made or removed. */
  markDirectoryUnsynced(): void {
    this.#directoryDirty = true
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
    this.#hasRolled = true
    if (this.#cutDirty || this.#plan?.hasCut === true) this.sync()
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
    this.#readPlan ??= new ReadPlan()
    return runNow(this.#readPlan.read(range), this.#answer)
  }

  /**
   * Cuts from the batch on that holds `offset`, which lies at or above the first base. `isOnDisk`:
   * some of that lies below the recovery point, where nobody would look for a hole after a crash.
   * Returns where the data ends now.
   */
  truncateTo(offset: number, isOnDisk: boolean): number {
    this.#readPlan = undefined
    this.#settleReplaced()
    this.#noteCut(offset)
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
    this.#readPlan = undefined
    this.#settleReplaced()
    this.#noteCut(0)
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
    const { fs } = this.#options.files
    if (this.#plan !== undefined) this.#takeBack(this.#plan)
    const first = this.#firstUnsynced()
    if (first === this.#segments.length && !this.#directoryDirty) return
    for (let at = first; at < this.#segments.length; at += 1) this.#segments[at].sync()
    for (const directory of this.#unsyncedDirectories()) fs.syncDirectory(directory)
    this.#forgetDirectories()
    this.#firstDirty = false
    this.#doomReplaced(this.#replaced.length)
  }

  /**
   * Whether somebody should make a plan: a segment is complete; a truncation isn't on disk; or the
   * first segment nears its end and the roll would have to wait for the directory.
   */
  get wantsPlan(): boolean {
    if (this.#plan !== undefined) return false
    if (this.#hasRolled || this.#cutDirty || this.#replaced.length > 0) return true
    return this.#firstDirty && 2 * this.#active.sizeBytes > this.#options.config.segmentBytes
  }

  /**
   * What must be synced for all segments but the active one to be on disk; after a truncation, or
   * for `everything`, the active one as well. `endPlan` must follow. undefined: nothing is, or a
   * plan is under way.
   */
  planSync(dataEndOffset: number, everything: boolean): SyncPlan | undefined {
    if (this.#plan !== undefined) return undefined
    this.#hasRolled = false
    const hasCut = this.#cutDirty
    const withActive = hasCut || everything
    const end = withActive ? this.#segments.length : this.#segments.length - 1
    const segments = this.#segments
      .slice(this.#firstUnsynced(), end)
      .map((segment) => ({ segment, sizeBytes: segment.sizeBytes }))
    const directories = this.#unsyncedDirectories()
    if (segments.length === 0 && directories.length === 0) return undefined
    const files = segments.flatMap(({ segment }) => segment.unsyncedFiles())
    const endOffset = withActive ? dataEndOffset : this.#active.baseOffset
    this.#forgetDirectories()
    this.#plannedReplaced = this.#replaced.length
    this.#plan = { segments, files, directories, endOffset, hasCut }
    return this.#plan
  }

  /** `counts`: all of the plan is on disk and still belongs to the row. */
  endPlan(counts: boolean): void {
    const plan = this.#plan
    this.#plan = undefined
    if (plan === undefined) return
    if (!counts) {
      this.#takeBack(plan)
      return
    }
    for (const { segment, sizeBytes } of plan.segments) segment.markSynced(sizeBytes)
    if (plan.directories.length === 0) return
    this.#firstDirty = false
    this.#doomReplaced(this.#plannedReplaced)
  }

  has(segment: Segment): boolean {
    return this.#segments[floorSegmentIndex(this.#segments, segment.baseOffset)] === segment
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
    this.#readPlan = undefined
    this.#settleReplaced()
    for (let left = count; left > 0; left -= 1) {
      const isUnsynced = this.#directoryDirty || this.#plan !== undefined
      if (this.#segments[1].baseOffset > writtenStart && isUnsynced) {
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
   * Puts a compacted segment in the place of those it was made of. False: they are not all here any
   * more. The old data may still be read by others, and where it goes on they find in the new.
   */
  replace({ baseOffsets, sizeBytes }: CleanedGroup): boolean {
    const { files, directory, clock } = this.#options
    const [baseOffset, ...others] = baseOffsets
    const first = floorSegmentIndex(this.#segments, baseOffset)
    const old = this.#segments.slice(Math.max(0, first), first + baseOffsets.length)
    const areHere = baseOffsets.every((base, at) => old[at]?.baseOffset === base)
    if (!areHere || old.includes(this.#active)) return false
    for (const segment of old) segment.closeFile()
    swapIn(files.fs, directory, baseOffset)
    const place = { baseOffset, sizeBytes, createdMs: clock.nowMs() }
    this.#segments.splice(first, old.length, new Segment(files, directory, place))
    this.#replaced.push(...others)
    this.#directoryDirty = true
    this.#readPlan = undefined
    this.generation += 1
    this.#sumSealedBytes()
    return true
  }

  /** Lowest offset that the log was cut to since the last call; infinity: it wasn't. */
  takeLowestCut(): number {
    const offset = this.#lowestCut
    this.#lowestCut = Number.POSITIVE_INFINITY
    return offset
  }

  #noteCut(offset: number): void {
    this.generation += 1
    this.#lowestCut = Math.min(this.#lowestCut, offset)
  }

  #settleReplaced(): void {
    if (this.#replaced.length === 0) return
    this.#options.files.fs.syncDirectory(this.#options.directory)
    this.#doomReplaced(this.#replaced.length)
  }

  #doomReplaced(count: number): void {
    const { files, directory, clock, config, doomed } = this.#options
    if (count === 0 || this.#replaced.length === 0) return
    const dueMs = clock.nowMs() + config.fileDeleteDelayMs
    for (const base of this.#replaced.splice(0, count)) {
      doomSegment(files.fs, directory, base, (path) => doomed.add(path, dueMs))
    }
    this.#plannedReplaced = 0
    this.#directoryDirty = true
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

  /** All below it are on disk. An active segment that nothing was written to says nothing. */
  #firstUnsynced(): number {
    const last = this.#segments.length - 1
    let first = last + 1
    for (let at = last; at >= 0; at -= 1) {
      if (this.#segments[at].needsSync) first = at
      else if (at < last) break
    }
    return first
  }

  #unsyncedDirectories(): string[] {
    const { directory } = this.#options
    if (this.#entryDirty) return [directory, path.dirname(directory)]
    return this.#directoryDirty ? [directory] : []
  }

  #forgetDirectories(): void {
    this.#directoryDirty = false
    this.#entryDirty = false
    this.#cutDirty = false
  }

  /** What a plan has taken over is not on disk for certain. */
  #takeBack({ directories, hasCut }: SyncPlan): void {
    if (directories.length > 0) this.#directoryDirty = true
    if (directories.length > 1) this.#entryDirty = true
    if (hasCut) this.#cutDirty = true
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
