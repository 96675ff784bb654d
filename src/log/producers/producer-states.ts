/**
 * The producers of a partition and their transactions, as the batches up to some offset tell them
 * (Kafka: `ProducerStateManager`). Knows no files. What a leader may append is asked before
 * (`producer-rules.ts`); here everything that stands in the log is taken as it is.
 */
import {
  baseOffsetAt,
  baseSequenceAt,
  isControlAt,
  isTransactionalAt,
  lastOffsetAt,
  lastOffsetDeltaAt,
  maxTimestampAt,
  producerEpochAt,
  producerIdAt,
} from '../batch-header.ts'
import type { BatchMemory } from '../batch-memory.ts'
import { decodeEndMarker, type EndMarker } from './end-marker.ts'
import { batchesRemembered, ProducerEntry } from './producer-entry.ts'
import type { ProducerSnapshotEntry } from './producer-snapshot.ts'
import { lastSequenceOf } from './sequence-numbers.ts'
import type { AbortedTransaction } from './transaction-index.ts'

/** Of one record each, their headers are read in some 10 ms. */
const recalledOffsetsMax = 16_384
const recalledSlack = 256

interface CompletedTransaction {
  readonly firstOffset: number
  /** Of its marker. */
  readonly lastOffset: number
}

export class ProducerStates {
  readonly #entries = new Map<number, ProducerEntry>()
  /** Producer of each open transaction by its first offset, ascending: the order of beginning. */
  readonly #open = new Map<number, number>()
  /** Ended, with a marker that may not be replicated yet. */
  #completed: CompletedTransaction[] = []

  get size(): number {
    return this.#entries.size
  }

  /** Whether there is nothing that a truncation could undo. */
  get isEmpty(): boolean {
    return this.#entries.size === 0 && this.#completed.length === 0
  }

  entry(producerId: number): ProducerEntry | undefined {
    return this.#entries.get(producerId)
  }

  /**
   * Takes account of a producer's batch that is in the log, or is about to be. Of a control batch
   * all bytes must lie in the memory, of others the header.
   *
   * @returns the transaction, if the batch aborts one that has records here
   */
  see(memory: BatchMemory, position: number): AbortedTransaction | undefined {
    if (isControlAt(memory, position)) {
      const marker = decodeEndMarker(memory, position)
      // Compaction may leave a marker's batch without its record: all of that transaction is gone.
      if (marker === undefined) return undefined
      return this.#endTransaction(marker, baseOffsetAt(memory, position))
    }
    const entry = this.#entryOrNew(producerIdAt(memory, position))
    const delta = lastOffsetDeltaAt(memory, position)
    const lastSequence = lastSequenceOf(baseSequenceAt(memory, position), delta)
    const epoch = producerEpochAt(memory, position)
    entry.addBatch(epoch, lastSequence, lastOffsetAt(memory, position), delta)
    entry.timestampMs = maxTimestampAt(memory, position)
    if (isTransactionalAt(memory, position) && entry.transactionFirstOffset < 0) {
      const firstOffset = baseOffsetAt(memory, position)
      entry.transactionFirstOffset = firstOffset
      this.#open.set(firstOffset, entry.producerId)
    }
    return undefined
  }

  /**
   * A snapshot knows each producer's last batch only; the ones before, shown in order, let a leader
   * know them again if they are sent once more.
   */
  recall(memory: BatchMemory, position: number): void {
    if (isControlAt(memory, position)) return
    const entry = this.#entries.get(producerIdAt(memory, position))
    if (entry?.producerEpoch !== producerEpochAt(memory, position)) return
    const lastOffset = lastOffsetAt(memory, position)
    if (lastOffset >= entry.lastOffset) return
    const delta = lastOffsetDeltaAt(memory, position)
    entry.recall(lastSequenceOf(baseSequenceAt(memory, position), delta), lastOffset, delta)
  }

  /** How many offsets back the last batches of all lie, at a guess. */
  get recalledOffsets(): number {
    let largest = 0
    for (const { offsetDelta } of this.snapshot()) largest = Math.max(largest, offsetDelta + 1)
    return Math.min(recalledOffsetsMax, recalledSlack + batchesRemembered * largest * this.size)
  }

  /**
   * First offset of which it isn't decided yet, everywhere, whether readers of committed records
   * see it: of an open transaction, or one whose end isn't below `highWatermark`. -1: all is
   * decided.
   */
  firstUnstableOffset(highWatermark: number): number {
    this.forgetCompletedBelow(highWatermark)
    let first = -1
    for (const firstOffset of this.#open.keys()) {
      first = firstOffset
      break
    }
    for (const { firstOffset } of this.#completed) {
      if (first < 0 || firstOffset < first) first = firstOffset
    }
    return first
  }

  /** Ends of transactions below `offset` are replicated, or gone. */
  forgetCompletedBelow(offset: number): void {
    if (this.#completed.length === 0) return
    this.#completed = this.#completed.filter(({ lastOffset }) => lastOffset >= offset)
  }

  /** A producer with an open transaction never expires. */
  removeExpired(nowMs: number, expirationMs: number): void {
    for (const [producerId, entry] of this.#entries) {
      if (entry.transactionFirstOffset >= 0) continue
      if (nowMs - entry.timestampMs >= expirationMs) this.#entries.delete(producerId)
    }
  }

  /** Ascending by producer id, so that the same state has the same bytes. */
  snapshot(): ProducerSnapshotEntry[] {
    const entries = Array.from(this.#entries.values(), (entry) => entry.snapshot())
    return entries.sort((one, other) => one.producerId - other.producerId)
  }

  clear(): void {
    this.#entries.clear()
    this.#open.clear()
    this.#completed = []
  }

  load(entries: readonly ProducerSnapshotEntry[]): void {
    const open: [number, number][] = []
    for (const each of entries) {
      this.#entries.set(each.producerId, ProducerEntry.fromSnapshot(each))
      const { producerId, currentTransactionFirstOffset: firstOffset } = each
      if (firstOffset >= 0) open.push([firstOffset, producerId])
    }
    open.sort(([one], [other]) => one - other)
    for (const [firstOffset, producerId] of open) this.#open.set(firstOffset, producerId)
  }

  #endTransaction(marker: EndMarker, offset: number): AbortedTransaction | undefined {
    const { producerId, producerEpoch, coordinatorEpoch, timestampMs, isCommit } = marker
    const entry = this.#entryOrNew(producerId)
    const firstOffset = entry.transactionFirstOffset
    entry.endTransaction(producerEpoch, coordinatorEpoch, timestampMs)
    // A transaction without a record here has nothing to be read or not.
    if (firstOffset < 0) return undefined
    this.#open.delete(firstOffset)
    this.#completed.push({ firstOffset, lastOffset: offset })
    if (isCommit) return undefined
    let lastStableOffset = offset + 1
    for (const other of this.#open.keys()) {
      lastStableOffset = other
      break
    }
    return { producerId, firstOffset, lastOffset: offset, lastStableOffset }
  }

  #entryOrNew(producerId: number): ProducerEntry {
    let entry = this.#entries.get(producerId)
    if (entry === undefined) {
      entry = new ProducerEntry(producerId)
      this.#entries.set(producerId, entry)
    }
    return entry
  }
}
