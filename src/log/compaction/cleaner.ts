/**
 * One compaction of one log (Kafka: `Cleaner`): of each key the latest record stays. A job of
 * bounded steps over plain files, so that another thread can do it while the log's owner appends
 * and reads. It changes nothing that the log uses: what it makes ends in `.cleaned`, and is on disk
 * when it is done.
 *
 * Only what is on disk may be compacted: if a crash took the latest record of a key, the one before
 * it must still be there. So all of the range is synced first.
 *
 * The last batch of each new segment stays even when nothing of it is left (Kafka keeps that of a
 * round): a segment ends where the next begins, so that a hole still tells of a loss.
 */
import { TidemarkError } from '../../errors.ts'
import {
  baseOffsetAt,
  isControlAt,
  lastOffsetAt,
  nextOffsetAt,
  producerEpochAt,
  producerIdAt,
  recordCountAt,
  sizeInBytesAt,
} from '../batch-header.ts'
import type { BatchMemory } from '../batch-memory.ts'
import {
  logSuffix,
  offsetIndexSuffix,
  segmentPath,
  timeIndexSuffix,
  transactionIndexSuffix,
} from '../file-names.ts'
import type { FileSystem } from '../file-system.ts'
import {
  type AbortedTransaction,
  collectAbortedTransactions,
  encodeTransactionIndex,
} from '../producers/transaction-index.ts'
import { RecordCursor, type RecordPlace } from '../record-reader.ts'
import { scanSegment } from '../segment-scan.ts'
import { syncFile } from '../whole-file.ts'
import { BatchRewriter, deleteHorizonAt, type RewriteRules } from './batch-rewriter.ts'
import { type GroupedSegment, groupSegments } from './cleanable-range.ts'
import { CleanedSegment } from './cleaned-segment.ts'
import { CleanedTransactions } from './cleaned-transactions.ts'
import type { ActiveProducer, CleanedGroup, CleanerJob, CleanerResult } from './cleaner-job.ts'
import { OffsetMap } from './offset-map.ts'
import { removeCleaned } from './swap-in.ts'

/** What one step reads at most, a larger batch aside. */
const stepBytes = 2 * 1024 * 1024
/** So that a small log does not get the memory for a large one. */
const mapBytesMin = 64 * 1024
const mapBytesPerLogByte = 3
/** Of timestamps: farther could not be told from a record's time. */
const horizonMsMax = 2 ** 51

type Visit = (memory: BatchMemory, position: number, isLast: boolean) => boolean

export class Cleaner {
  readonly #fs: FileSystem
  readonly #job: CleanerJob
  readonly #steps: Generator<number>
  readonly #map: OffsetMap
  readonly #rewriter = new BatchRewriter()
  readonly #producers: ReadonlyMap<number, ActiveProducer>
  readonly #groups: CleanedGroup[] = []
  #transactions: CleanedTransactions<AbortedTransaction>
  #output: CleanedSegment | undefined
  #bytesRead = 0
  #bytesWritten = 0
  #recordsRead = 0
  #recordsKept = 0

  constructor(fs: FileSystem, job: CleanerJob) {
    this.#fs = fs
    this.#job = job
    this.#producers = new Map(job.producers.map((each) => [each.producerId, each]))
    this.#transactions = new CleanedTransactions(this.#abortedFrom(job.firstDirtyOffset))
    const logBytes = job.segments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    const enough = Math.max(mapBytesMin, mapBytesPerLogByte * logBytes)
    this.#map = new OffsetMap(Math.min(job.mapBytes, enough))
    this.#steps = this.#run()
  }

  /**
   * A bounded piece of the work. Returns the bytes it went through, at least 1; 0: all is done.
   *
   * @throws {TidemarkError} CORRUPT_MESSAGE for a batch that fails its checks; what the file system
   *   throws. Then `abandon` must be called.
   */
  step(): number {
    const { value, done } = this.#steps.next()
    return done === true ? 0 : Math.max(1, value)
  }

  /** To be asked when all is done. */
  get result(): CleanerResult {
    return {
      generation: this.#job.generation,
      groups: this.#groups,
      cleanedOffset: Math.min(this.#map.endOffset, this.#job.endOffset),
      bytesRead: this.#bytesRead,
      bytesWritten: this.#bytesWritten,
      recordsRead: this.#recordsRead,
      recordsKept: this.#recordsKept,
    }
  }

  /** Gives up; files that end in `.cleaned` may be left. */
  abandon(): void {
    this.#steps.return(0)
    this.#output?.abandon()
  }

  *#run(): Generator<number> {
    removeCleaned(this.#fs, this.#job.directory)
    yield* this.#syncInput()
    yield* this.#fillMap()
    const [first] = this.#job.segments
    this.#transactions = new CleanedTransactions(this.#abortedFrom(first.baseOffset))
    for (const group of groupSegments(this.#toClean(), this.#job.config)) {
      yield* this.#cleanGroup(group)
    }
    // Before anybody takes them: the names must outlive a crash as the bytes do.
    this.#fs.syncDirectory(this.#job.directory)
  }

  *#syncInput(): Generator<number> {
    const { directory, segments, recoveryPoint, endOffset } = this.#job
    for (const [at, { baseOffset }] of segments.entries()) {
      const end = segments[at + 1]?.baseOffset ?? endOffset
      if (end <= recoveryPoint) continue
      syncFile(this.#fs, segmentPath(directory, baseOffset, logSuffix))
      yield 1
    }
    if (endOffset > recoveryPoint) this.#fs.syncDirectory(directory)
  }

  // ── which offset is the latest of each key ───────────────────────────────────────────────────

  *#fillMap(): Generator<number> {
    const { segments, firstDirtyOffset, endOffset } = this.#job
    const map = this.#map
    map.endOffset = firstDirtyOffset
    for (const [at, segment] of segments.entries()) {
      const end = segments[at + 1]?.baseOffset ?? endOffset
      if (end <= firstDirtyOffset) continue
      let isFull = false
      yield* this.#walk(segment, (memory, position) => {
        if (lastOffsetAt(memory, position) < firstDirtyOffset) return true
        isFull = !this.#mapBatch(memory, position)
        if (!isFull) map.endOffset = nextOffsetAt(memory, position)
        return !isFull
      })
      if (isFull) return
      map.endOffset = end
    }
  }

  /** False: the map is full. */
  #mapBatch(memory: BatchMemory, position: number): boolean {
    if (isControlAt(memory, position)) {
      this.#transactions.mayDropMarker(memory, position)
      return true
    }
    if (this.#transactions.isAborted(memory, position)) return true
    const cursor = new RecordCursor(memory, position)
    while (cursor.next()) {
      const { offset, bytes, keyPosition, keyLength } = cursor.place
      if (keyLength < 0 || offset < this.#job.firstDirtyOffset) continue
      if (this.#map.put(bytes, keyPosition, keyLength, offset)) continue
      this.#map.endOffset = offset
      return false
    }
    return true
  }

  // ── what stays ───────────────────────────────────────────────────────────────────────────────

  /** From the first segment to the one that holds the end of the map. */
  #toClean(): GroupedSegment[] {
    const { segments, endOffset, directory } = this.#job
    const bytesOf = (base: number, suffix: string) =>
      this.#fs.sizeOf(segmentPath(directory, base, suffix)) ?? 0
    return segments
      .map((segment, at) => ({
        ...segment,
        offsetIndexBytes: bytesOf(segment.baseOffset, offsetIndexSuffix),
        timeIndexBytes: bytesOf(segment.baseOffset, timeIndexSuffix),
        endOffset: segments[at + 1]?.baseOffset ?? endOffset,
      }))
      .filter(({ baseOffset }) => baseOffset < this.#map.endOffset)
  }

  *#cleanGroup(group: readonly GroupedSegment[]): Generator<number> {
    const { directory, config } = this.#job
    const last = group.findLast(({ sizeBytes }) => sizeBytes > 0)
    const output = new CleanedSegment(
      this.#fs,
      directory,
      group[0].baseOffset,
      config.indexIntervalBytes,
    )
    this.#output = output
    for (const segment of group) {
      yield* this.#walk(segment, (memory, position, isLast) => {
        this.#cleanBatch(output, memory, position, isLast && segment === last)
        return true
      })
    }
    output.finish()
    this.#writeTransactionIndex(output)
    this.#bytesWritten += output.sizeBytes
    const baseOffsets = group.map(({ baseOffset }) => baseOffset)
    this.#groups.push({ baseOffsets, sizeBytes: output.sizeBytes })
  }

  /** An empty one where the old segment has one: it takes its place. */
  #writeTransactionIndex(output: CleanedSegment): void {
    const retained = this.#transactions.retained.splice(0)
    const old = segmentPath(this.#job.directory, output.baseOffset, transactionIndexSuffix)
    if (retained.length === 0 && this.#fs.sizeOf(old) === undefined) return
    output.writeFile(transactionIndexSuffix, encodeTransactionIndex(retained))
  }

  #cleanBatch(
    output: CleanedSegment,
    memory: BatchMemory,
    position: number,
    mustStay: boolean,
  ): void {
    this.#recordsRead += recordCountAt(memory, position)
    const rules = this.#rulesFor(memory, position)
    const rewrite = rules === undefined ? 'none' : this.#rewriter.rewrite(memory, position, rules)
    if (rewrite === 'same') {
      this.#recordsKept += recordCountAt(memory, position)
      output.append(memory, position)
      return
    }
    if (rewrite === 'none') {
      const isProducers = this.#isLastOfProducer(memory, position)
      if (!mustStay && !isProducers) return
      this.#rewriter.empty(memory, position, isProducers)
    }
    this.#recordsKept += recordCountAt(this.#rewriter.memory, 0)
    output.append(this.#rewriter.memory, 0)
  }

  /** undefined: all of its records go. */
  #rulesFor(memory: BatchMemory, position: number): RewriteRules | undefined {
    const { nowMs, config } = this.#job
    const horizonMs = deleteHorizonAt(memory, position)
    const isOver = horizonMs >= 0 && horizonMs <= nowMs
    const deleteHorizonMs = Math.min(nowMs + config.deleteRetentionMs, horizonMsMax)
    if (isControlAt(memory, position)) {
      const isLoneMarker = this.#transactions.mayDropMarker(memory, position)
      if (isLoneMarker && isOver) return undefined
      return { retains: () => true, deleteHorizonMs, isLoneMarker }
    }
    if (this.#transactions.isAborted(memory, position)) return undefined
    const isBeyond = baseOffsetAt(memory, position) >= this.#map.endOffset
    const retains = (place: RecordPlace) => isBeyond || this.#retains(place, isOver)
    return { retains, deleteHorizonMs, isLoneMarker: false }
  }

  #retains(place: RecordPlace, isHorizonOver: boolean): boolean {
    const { offset, bytes, keyPosition, keyLength, valueLength } = place
    if (offset >= this.#map.endOffset) return true
    if (keyLength < 0) return false
    if (offset < this.#map.get(bytes, keyPosition, keyLength)) return false
    return valueLength >= 0 || !isHorizonOver
  }

  #isLastOfProducer(memory: BatchMemory, position: number): boolean {
    const producer = this.#producers.get(producerIdAt(memory, position))
    if (producer === undefined) return false
    if (producer.lastDataOffset >= 0) {
      return lastOffsetAt(memory, position) === producer.lastDataOffset
    }
    const isEpochs = producerEpochAt(memory, position) === producer.producerEpoch
    return isControlAt(memory, position) && isEpochs
  }

  // ── reading ──────────────────────────────────────────────────────────────────────────────────

  /** Shows all batches of a segment, checked; `visit` may end it with false. */
  *#walk(segment: { baseOffset: number; sizeBytes: number }, visit: Visit): Generator<number> {
    const path = segmentPath(this.#job.directory, segment.baseOffset, logSuffix)
    const fd = this.#fs.open(path, 'read')
    try {
      const endPosition = segment.sizeBytes
      let startPosition = 0
      while (startPosition < endPosition) {
        let isEnded = false
        let seen = 0
        const options = { startPosition, endPosition, verify: true }
        const scan = scanSegment(this.#fs, fd, options, (memory, position, filePosition) => {
          if (seen >= stepBytes) return false
          const size = sizeInBytesAt(memory, position)
          seen += size
          isEnded = !visit(memory, position, filePosition + size === endPosition)
          return !isEnded
        })
        if (scan.fault !== undefined) {
          const detail = `${path} at ${scan.position}: ${scan.fault}`
          throw new TidemarkError('CORRUPT_MESSAGE', detail)
        }
        this.#bytesRead += seen
        if (isEnded) return
        startPosition = scan.position
        yield seen
      }
    } finally {
      this.#fs.close(fd)
    }
  }

  /** Those with records or markers from `fromOffset` on. */
  #abortedFrom(fromOffset: number): AbortedTransaction[] {
    const { directory, allBases, endOffset } = this.#job
    return collectAbortedTransactions(this.#fs, directory, allBases, fromOffset, endOffset)
  }
}
