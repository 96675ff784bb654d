/**
 * Which transactional batches and markers a compaction may drop (Kafka:
 * `CleanedTransactionMetadata`). Batches are shown in the order of the log. Those of aborted
 * transactions go, and a marker goes once nothing of its transaction is left.
 */
import { isTransactionalAt, lastOffsetAt, producerIdAt } from '../batch-header.ts'
import type { BatchMemory } from '../batch-memory.ts'
import { forEachRecord } from '../record-reader.ts'

interface AbortedRange {
  readonly producerId: number
  readonly firstOffset: number
  /** Of its marker. */
  readonly lastOffset: number
}

const abortType = 0
const commitType = 1

export class CleanedTransactions<T extends AbortedRange> {
  /** Aborted transactions whose markers stay: the new index holds these. */
  retained: T[] = []
  /** By first offset, those that have not begun yet. */
  readonly #coming: T[]
  #next = 0
  readonly #aborted = new Map<number, { readonly transaction: T; isSeen: boolean }>()
  /** Producers of whose open transaction, committed in the end, a batch was seen. */
  readonly #committed = new Set<number>()

  constructor(aborted: readonly T[]) {
    this.#coming = [...aborted].sort((a, b) => a.firstOffset - b.firstOffset)
  }

  /** Whether the records of a batch that is no control batch may go, having been aborted. */
  isAborted(memory: BatchMemory, position: number): boolean {
    this.#begin(lastOffsetAt(memory, position))
    if (!isTransactionalAt(memory, position)) return false
    const producerId = producerIdAt(memory, position)
    const aborted = this.#aborted.get(producerId)
    if (aborted === undefined) {
      this.#committed.add(producerId)
      return false
    }
    aborted.isSeen = true
    return true
  }

  /** Whether a control batch may go, as far as its transaction is concerned. */
  mayDropMarker(memory: BatchMemory, position: number): boolean {
    this.#begin(lastOffsetAt(memory, position))
    const type = controlTypeAt(memory, position)
    const producerId = producerIdAt(memory, position)
    // Emptied by an earlier compaction.
    if (type === undefined) return true
    if (type === commitType) return !this.#committed.delete(producerId)
    if (type !== abortType) return false
    const aborted = this.#aborted.get(producerId)
    this.#aborted.delete(producerId)
    if (aborted === undefined || !aborted.isSeen) return true
    this.retained.push(aborted.transaction)
    return false
  }

  #begin(offset: number): void {
    const coming = this.#coming
    for (; this.#next < coming.length; this.#next += 1) {
      const transaction = coming[this.#next]
      if (transaction.firstOffset > offset) return
      const { producerId } = transaction
      if (!this.#aborted.has(producerId)) {
        this.#aborted.set(producerId, { transaction, isSeen: false })
      }
    }
  }
}

/** undefined: the batch has no record. */
function controlTypeAt(memory: BatchMemory, position: number): number | undefined {
  let type: number | undefined
  forEachRecord(memory, position, ({ bytes, keyPosition, keyLength }) => {
    const isKnown = keyLength >= 4
    type ??= isKnown ? (bytes[keyPosition + 2] << 8) | bytes[keyPosition + 3] : -1
  })
  return type
}
