/**
 * What a reader of committed records sees (Kafka: `CompletedFetch`): no batch of an aborted
 * transaction, and no control batch. It reads up to the last stable offset, so that each
 * transaction it meets is decided.
 */
import {
  hasProducerIdAt,
  isControlAt,
  isTransactionalAt,
  lastOffsetAt,
  producerIdAt,
} from '../batch-header.ts'
import type { BatchMemory } from '../batch-memory.ts'
import type { AbortedTransaction } from './transaction-index.ts'

export class ReadCommitted {
  /** Latest beginning first, so that the next to begin is the last. */
  readonly #aborted: AbortedTransaction[]
  /** Producers whose aborted transaction has begun and not ended. */
  readonly #aborting = new Set<number>()

  /** @param aborted those of the range that is read, from its very beginning on */
  constructor(aborted: readonly AbortedTransaction[]) {
    this.#aborted = aborted.toSorted((one, other) => other.firstOffset - one.firstOffset)
  }

  /** Whether the batch's records are shown. To be asked once of each batch, in order of offsets. */
  admits(memory: BatchMemory, position: number): boolean {
    const isControl = isControlAt(memory, position)
    if (!hasProducerIdAt(memory, position)) return !isControl
    const lastOffset = lastOffsetAt(memory, position)
    this.#begin(lastOffset)
    const producerId = producerIdAt(memory, position)
    if (!isControl) return !isTransactionalAt(memory, position) || !this.#aborting.has(producerId)
    // A commit of a producer that aborts can't be: the marker ends what it has open.
    this.#aborting.delete(producerId)
    return false
  }

  #begin(lastOffset: number): void {
    for (let next = this.#aborted.at(-1); next !== undefined; next = this.#aborted.at(-1)) {
      if (next.firstOffset > lastOffset) return
      this.#aborting.add(next.producerId)
      this.#aborted.pop()
    }
  }
}
