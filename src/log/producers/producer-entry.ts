/**
 * What a partition knows of one producer (Kafka: `ProducerStateEntry`): its epoch, its last five
 * batches, and whether it has a transaction open.
 */
import type { ProducerSnapshotEntry } from './producer-snapshot.ts'
import { noSequence, sequenceBefore } from './sequence-numbers.ts'

/** A producer may have as many in flight: any of them may come again. */
export const batchesRemembered = 5
const noEpoch = -1

export class ProducerEntry {
  readonly producerId: number
  producerEpoch = noEpoch
  /** Of whoever wrote the last end of a transaction; -1: nobody yet. */
  coordinatorEpoch = -1
  /** Of the last batch or marker, in milliseconds; -1: it has none. */
  timestampMs = -1
  /** -1: no transaction is open. */
  transactionFirstOffset = -1
  /** Rings of the last batches; the newest is at `#newest`. */
  readonly #lastSequences = new Int32Array(batchesRemembered)
  readonly #lastOffsets = new Float64Array(batchesRemembered)
  readonly #offsetDeltas = new Int32Array(batchesRemembered)
  #newest = 0
  #count = 0

  constructor(producerId: number) {
    this.producerId = producerId
  }

  static fromSnapshot(snapshot: ProducerSnapshotEntry): ProducerEntry {
    const { producerId, producerEpoch, lastSequence, lastOffset, offsetDelta } = snapshot
    const entry = new ProducerEntry(producerId)
    entry.producerEpoch = producerEpoch
    if (lastOffset >= 0) entry.#remember(lastSequence, lastOffset, offsetDelta)
    entry.timestampMs = snapshot.timestampMs
    entry.coordinatorEpoch = snapshot.coordinatorEpoch
    entry.transactionFirstOffset = snapshot.currentTransactionFirstOffset
    return entry
  }

  /** `noSequence`: no batch of this epoch is remembered. */
  get lastSequence(): number {
    return this.#count === 0 ? noSequence : this.#lastSequences[this.#newest]
  }

  /** -1: no batch is remembered. */
  get lastOffset(): number {
    return this.#count === 0 ? -1 : this.#lastOffsets[this.#newest]
  }

  addBatch(
    producerEpoch: number,
    lastSequence: number,
    lastOffset: number,
    offsetDelta: number,
  ): void {
    this.#enterEpoch(producerEpoch)
    this.#remember(lastSequence, lastOffset, offsetDelta)
  }

  /** Remembers a batch behind the newest, whose turn it is among those that are shown so. */
  recall(lastSequence: number, lastOffset: number, offsetDelta: number): void {
    const newest = this.#newest
    const sequence = this.#lastSequences[newest]
    const offset = this.#lastOffsets[newest]
    const delta = this.#offsetDeltas[newest]
    this.#lastSequences[newest] = lastSequence
    this.#lastOffsets[newest] = lastOffset
    this.#offsetDeltas[newest] = offsetDelta
    this.#remember(sequence, offset, delta)
  }

  endTransaction(producerEpoch: number, coordinatorEpoch: number, timestampMs: number): void {
    this.#enterEpoch(producerEpoch)
    this.coordinatorEpoch = coordinatorEpoch
    this.timestampMs = timestampMs
    this.transactionFirstOffset = -1
  }

  /**
   * Last offset of the remembered batch with exactly these sequence numbers; -1: none. As many
   * records have as many offsets, so the first one is known too.
   */
  offsetOfDuplicate(producerEpoch: number, baseSequence: number, lastSequence: number): number {
    if (producerEpoch !== this.producerEpoch || baseSequence < 0) return -1
    for (let age = this.#count - 1; age >= 0; age -= 1) {
      const at = (this.#newest - age + batchesRemembered) % batchesRemembered
      const last = this.#lastSequences[at]
      if (last !== lastSequence) continue
      if (sequenceBefore(last, this.#offsetDeltas[at]) === baseSequence)
        return this.#lastOffsets[at]
    }
    return -1
  }

  snapshot(): ProducerSnapshotEntry {
    return {
      producerId: this.producerId,
      producerEpoch: this.producerEpoch,
      lastSequence: this.lastSequence,
      lastOffset: this.lastOffset,
      offsetDelta: this.#count === 0 ? 0 : this.#offsetDeltas[this.#newest],
      timestampMs: this.timestampMs,
      coordinatorEpoch: this.coordinatorEpoch,
      currentTransactionFirstOffset: this.transactionFirstOffset,
    }
  }

  #enterEpoch(producerEpoch: number): void {
    if (producerEpoch === this.producerEpoch) return
    this.producerEpoch = producerEpoch
    this.#count = 0
  }

  #remember(lastSequence: number, lastOffset: number, offsetDelta: number): void {
    this.#newest = (this.#newest + 1) % batchesRemembered
    this.#lastSequences[this.#newest] = lastSequence
    this.#lastOffsets[this.#newest] = lastOffset
    this.#offsetDeltas[this.#newest] = offsetDelta
    this.#count = Math.min(batchesRemembered, this.#count + 1)
  }
}
