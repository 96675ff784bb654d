/** Moves high watermarks forward, wakes who waits for them, and remembers which ones moved. */
import type { Offset, PartitionIndex } from '../ids.ts'
import { invariant } from '../invariant.ts'
import { type HighWatermarkContext, reachableHighWatermark } from './high-watermark.ts'
import type { WaitingAcks } from './waiting-acks.ts'

export interface AdvanceVisitor {
  advanced(partition: PartitionIndex, highWatermark: Offset): void
}

export class CommittedOffsets {
  /** Moves since the start. */
  advanceCount = 0

  readonly #context: HighWatermarkContext
  readonly #acks: WaitingAcks
  readonly #list: Int32Array
  readonly #isListed: Uint8Array
  #count = 0

  constructor(context: HighWatermarkContext, acks: WaitingAcks) {
    this.#context = context
    this.#acks = acks
    this.#list = new Int32Array(context.table.partitionsMax)
    this.#isListed = new Uint8Array(context.table.partitionsMax)
  }

  /**
   * Called after a local append, after a follower's offset changed, at the start of a tenure, after
   * a committed ISR change (KAFKA-13091), and by the periodic check. Strictly forward while one
   * leader leads.
   */
  maybeAdvance(partition: PartitionIndex, nowMs: number): boolean {
    const { table } = this.#context
    const reachable = reachableHighWatermark(this.#context, partition, nowMs)
    if (reachable <= table.highWatermark[partition]) return false
    invariant(reachable <= table.logEndOffset[partition], 'the high watermark is within the log')
    table.highWatermark[partition] = reachable
    this.advanceCount += 1
    this.#acks.highWatermarkMoved(partition, reachable)
    if (this.#isListed[partition] === 0) {
      this.#isListed[partition] = 1
      this.#list[this.#count] = partition
      this.#count += 1
    }
    return true
  }

  /**
   * Visits each partition whose high watermark moved since the last call, once; returns how many.
   */
  takeAdvanced(visitor: AdvanceVisitor): number {
    let visited = 0
    while (this.#count > 0) {
      this.#count -= 1
      const partition = this.#list[this.#count] as PartitionIndex
      this.#isListed[partition] = 0
      if (this.#context.table.leading[partition] === 0) continue
      visitor.advanced(partition, this.#context.table.highWatermark[partition])
      visited += 1
    }
    return visited
  }
}
