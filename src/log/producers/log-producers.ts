/**
 * The producers of one log with their files: snapshots at every roll and at the end, and an index
 * of aborted transactions beside each segment that has some.
 *
 * States are taken account of when a batch is about to be written. A write that fails ends the
 * log's writing life, so that they are ahead of the file in no log that goes on.
 */
import type { BatchMemory } from '../batch-memory.ts'
import { baseOffsetOfName, segmentPath, transactionIndexSuffix } from '../file-names.ts'
import type { FileSystem } from '../file-system.ts'
import type { Segment } from '../segment.ts'
import type { ProducerEntry } from './producer-entry.ts'
import type { ProducerSnapshotEntry } from './producer-snapshot.ts'
import { ProducerStates } from './producer-states.ts'
import { replayProducerBatches } from './replay.ts'
import {
  keptSnapshots,
  readSnapshot,
  snapshotOffsets,
  snapshotPath,
  writeSnapshot,
} from './snapshot-files.ts'
import {
  type AbortedTransaction,
  appendToTransactionIndex,
  collectAbortedTransactions,
  isTransactionIndex,
  truncateTransactionIndex,
} from './transaction-index.ts'

export interface LogProducersOptions {
  readonly fs: FileSystem
  /** The partition's. */
  readonly directory: string
  /** A producer that has written nothing for so long is forgotten. */
  readonly expirationMs: number
  /** So much of a log's end is read as fast as a snapshot, and gets none for itself. Default 0. */
  readonly shortReplayBytes?: number
}

/** What is in the log when its producers are loaded. */
export interface LoadedRange {
  /** Ascending, whole. */
  readonly segments: readonly Segment[]
  readonly logStartOffset: number
  /** One past the last offset. */
  readonly endOffset: number
  readonly nowMs: number
  /** What is in the directory, if that is known. */
  readonly names?: readonly string[]
}

export class LogProducers {
  readonly #fs: FileSystem
  readonly #directory: string
  readonly #expirationMs: number
  readonly #shortReplayBytes: number
  /** undefined: there never was a producer; so it is in most logs of many. */
  #states: ProducerStates | undefined = undefined
  /** Of the files, ascending. */
  #snapshotOffsets: number[] = []
  /** A snapshot up to here says nothing new. */
  #takenAt = 0
  /** Base offsets of the segments that have an index of aborted transactions, ascending. */
  #indexBases: number[] = []
  /** To go to the active segment's index once their markers are written. */
  #aborted: AbortedTransaction[] = []

  constructor({ fs, directory, expirationMs, shortReplayBytes = 0 }: LogProducersOptions) {
    this.#shortReplayBytes = shortReplayBytes
    this.#fs = fs
    this.#directory = directory
    this.#expirationMs = expirationMs
  }

  /**
   * Takes the newest snapshot that is whole and the batches behind it, and removes the files that
   * belong to nothing (Kafka: `UnifiedLog.rebuildProducerState`).
   */
  load(range: LoadedRange): void {
    const { segments, endOffset } = range
    const names = range.names ?? this.#fs.list(this.#directory) ?? []
    this.#snapshotOffsets = snapshotOffsets(names)
    const bases = segments.map(({ baseOffset }) => baseOffset)
    const kept = new Set(keptSnapshots(this.#snapshotOffsets, bases))
    this.#removeSnapshots((offset) => !kept.has(offset))
    this.#findIndexes(names)
    this.#reload(range)
    for (const [index, segment] of segments.entries()) {
      if (this.#hasBadIndex(segment)) this.#rebuildIndex(range, index)
    }
    const last = segments.at(-1)
    if (last !== undefined && this.isShortReplay(last, range.logStartOffset)) {
      this.removeExpired(range.nowMs)
      return
    }
    this.takeSnapshot(endOffset)
  }

  /**
   * Whether the batches themselves tell the next owner as much as a snapshot at the log's end, by a
   * look at no more than a few: all that stand behind the newest snapshot are in the last segment.
   */
  isShortReplay(last: Segment, logStartOffset: number): boolean {
    const { baseOffset, sizeBytes } = last
    if (sizeBytes > this.#shortReplayBytes || logStartOffset > baseOffset) return false
    return this.#takenAt >= baseOffset
  }

  /**
   * The same before segments are recovered from `range.endOffset` on: snapshots above may be of a
   * history that was undone. Each segment is then begun with `recoverSegment`.
   */
  beginRecovery(range: LoadedRange): void {
    this.#snapshotOffsets = snapshotOffsets(this.#fs.list(this.#directory) ?? [])
    this.#reload(range)
  }

  recoverSegment(baseOffset: number): void {
    this.#fs.remove(this.#indexPath(baseOffset))
    this.takeSnapshot(baseOffset)
  }

  /**
   * Goes back to `endOffset`, from which on nothing is in the log any more. Returns whether files
   * were removed.
   */
  truncateTo(range: LoadedRange): boolean {
    const { segments, endOffset } = range
    this.#aborted = []
    const before = this.#snapshotOffsets.length + this.#indexBases.length
    this.#removeSnapshots((offset) => offset > endOffset)
    const last = segments.at(-1)!.baseOffset
    this.#indexBases = this.#indexBases.filter((base) => base <= last)
    if (this.#indexBases.at(-1) === last) {
      truncateTransactionIndex(this.#fs, this.#directory, last, endOffset)
    }
    if (this.#states?.isEmpty === false) this.#reload(range)
    this.#takenAt = Math.min(this.#takenAt, this.#snapshotOffsets.at(-1) ?? range.logStartOffset)
    return this.#snapshotOffsets.length + this.#indexBases.length < before
  }

  /** The log is empty now. Its segments, and their indexes with them, are gone already. */
  restart(offset: number): void {
    this.#takenAt = offset
    this.#states = undefined
    this.#aborted = []
    this.#indexBases = []
    this.#removeSnapshots(() => true)
  }

  /** Segments below `baseOffset` are gone, and their files with them. */
  dropBelow(baseOffset: number): void {
    this.#removeSnapshots((offset) => offset < baseOffset)
    this.#indexBases = this.#indexBases.filter((base) => base >= baseOffset)
  }

  get size(): number {
    return this.#states?.size ?? 0
  }

  entry(producerId: number): ProducerEntry | undefined {
    return this.#states?.entry(producerId)
  }

  snapshot(): ProducerSnapshotEntry[] {
    return this.#states?.snapshot() ?? []
  }

  /** See `ProducerStates.see`. `saveAborted` must follow once the batch is written. */
  see(memory: BatchMemory, position: number): void {
    this.#states ??= new ProducerStates()
    const aborted = this.#states.see(memory, position)
    if (aborted !== undefined) this.#aborted.push(aborted)
  }

  /** Index after data, so that it tells of no marker that isn't there. Returns whether it wrote. */
  saveAborted(segmentBase: number): boolean {
    if (this.#aborted.length === 0) return false
    if (this.#indexBases.at(-1) !== segmentBase) this.#indexBases.push(segmentBase)
    appendToTransactionIndex(this.#fs, this.#directory, segmentBase, this.#aborted)
    this.#aborted = []
    return true
  }

  /**
   * Writes the producers down as they are at `offset`, the log's end, unless that was done.
   * Returns whether it did. One at a segment's base is synced with that segment.
   */
  takeSnapshot(offset: number): boolean {
    if (offset <= this.#takenAt) return false
    this.#takenAt = offset
    writeSnapshot(this.#fs, snapshotPath(this.#directory, offset), this.snapshot())
    this.#snapshotOffsets.push(offset)
    return true
  }

  /**
   * The first offset of which it isn't decided, below `highWatermark`, whether readers of committed
   * records see it; else that (Kafka: `UnifiedLog.lastStableOffset`).
   */
  lastStableOffset(highWatermark: number, logStartOffset: number): number {
    const first = this.#states?.firstUnstableOffset(highWatermark) ?? -1
    if (first < 0) return highWatermark
    return Math.min(highWatermark, Math.max(first, logStartOffset))
  }

  forgetCompletedBelow(offset: number): void {
    this.#states?.forgetCompletedBelow(offset)
  }

  removeExpired(nowMs: number): void {
    this.#states?.removeExpired(nowMs, this.#expirationMs)
  }

  abortedTransactions(fromOffset: number, endOffset: number): AbortedTransaction[] {
    const bases = this.#indexBases
    return collectAbortedTransactions(this.#fs, this.#directory, bases, fromOffset, endOffset)
  }

  #reload({ segments, logStartOffset, endOffset, nowMs }: LoadedRange): void {
    this.#states?.clear()
    this.#removeSnapshots((offset) => offset > endOffset || offset <= logStartOffset)
    const entries = this.#newestSnapshot()
    if (entries !== undefined && entries.length > 0) {
      this.#states ??= new ProducerStates()
      this.#states.load(entries)
      this.#states.removeExpired(nowMs, this.#expirationMs)
      this.#recall(this.#states, segments, logStartOffset)
    }
    this.#takenAt = this.#snapshotOffsets.at(-1) ?? logStartOffset
    replayProducerBatches(this.#fs, segments, this.#takenAt, endOffset, (memory, position) => {
      this.see(memory, position)
    })
    // Those that the batches tell of are in the indexes.
    this.#aborted = []
  }

  /** Batches below the newest snapshot, so that a leader knows those that come once more. */
  #recall(states: ProducerStates, segments: readonly Segment[], logStartOffset: number): void {
    const end = this.#snapshotOffsets.at(-1)!
    const from = Math.max(logStartOffset, end - states.recalledOffsets)
    if (states.size === 0 || segments.length === 0) return
    replayProducerBatches(this.#fs, segments, from, end, (memory, position) => {
      states.recall(memory, position)
    })
  }

  /** Ones that aren't whole are removed on the way. */
  #newestSnapshot(): ProducerSnapshotEntry[] | undefined {
    for (;;) {
      const newest = this.#snapshotOffsets.at(-1)
      if (newest === undefined) return undefined
      const entries = readSnapshot(this.#fs, snapshotPath(this.#directory, newest), newest)
      if (entries !== undefined) return entries
      this.#removeSnapshots((offset) => offset === newest)
    }
  }

  #removeSnapshots(isUnwanted: (offset: number) => boolean): void {
    const unwanted = new Set(this.#snapshotOffsets.filter(isUnwanted))
    if (unwanted.size === 0) return
    for (const offset of unwanted) this.#fs.remove(snapshotPath(this.#directory, offset))
    this.#snapshotOffsets = this.#snapshotOffsets.filter((offset) => !unwanted.has(offset))
  }

  /** Segments were exchanged for others, and their indexes with them. */
  indexesReplaced(): void {
    this.#findIndexes(this.#fs.list(this.#directory) ?? [])
  }

  #findIndexes(names: readonly string[]): void {
    this.#indexBases = names
      .map((name) => baseOffsetOfName(name, transactionIndexSuffix))
      .filter((base) => base !== undefined)
      .sort((one, other) => one - other)
  }

  #hasBadIndex({ baseOffset }: Segment): boolean {
    if (!this.#indexBases.includes(baseOffset)) return false
    const bytes = this.#fs.readFile(this.#indexPath(baseOffset))
    return bytes !== undefined && !isTransactionIndex(bytes, baseOffset)
  }

  #rebuildIndex({ segments, endOffset }: LoadedRange, index: number): void {
    const { baseOffset } = segments[index]
    const states = new ProducerStates()
    let fromOffset = segments[0].baseOffset
    for (const offset of this.#snapshotOffsets.toReversed()) {
      if (offset > baseOffset || offset < fromOffset) continue
      const entries = readSnapshot(this.#fs, snapshotPath(this.#directory, offset), offset)
      if (entries === undefined) continue
      states.load(entries)
      fromOffset = offset
      break
    }
    const aborted: AbortedTransaction[] = []
    const end = segments[index + 1]?.baseOffset ?? endOffset
    replayProducerBatches(this.#fs, segments, fromOffset, end, (memory, position) => {
      const transaction = states.see(memory, position)
      if (transaction !== undefined && transaction.lastOffset >= baseOffset)
        aborted.push(transaction)
    })
    this.#fs.remove(this.#indexPath(baseOffset))
    appendToTransactionIndex(this.#fs, this.#directory, baseOffset, aborted)
  }

  #indexPath(baseOffset: number): string {
    return segmentPath(this.#directory, baseOffset, transactionIndexSuffix)
  }
}
