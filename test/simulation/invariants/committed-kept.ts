/**
 * Invariant: while elections are clean, a record that was acknowledged with acks=all, or that a
 * consumer was shown below the high watermark, is in the log of every later leader, at its offset.
 */
import type { LeaderEpoch, Offset, PartitionIndex } from '../../../src/ids.ts'

/** A batch somebody was promised; `contents`, its CRC, tells it from every other batch. */
export interface PromisedBatch {
  readonly baseOffset: Offset
  /** Exclusive. */
  readonly endOffset: Offset
  readonly contents: number
}

interface Promises {
  batches: Map<Offset, PromisedBatch>
  endOffset: Offset
  /** Promises of leaders before this epoch are void; see `forgive`. */
  validFromEpoch: LeaderEpoch
}

export class CommittedKept {
  readonly #partitions = new Map<PartitionIndex, Promises>()

  /**
   * A leader promised a batch in `leaderEpoch`.
   *
   * @returns what is broken: another batch was promised at that offset; undefined: nothing
   */
  promise(
    partition: PartitionIndex,
    leaderEpoch: LeaderEpoch,
    batch: PromisedBatch,
  ): string | undefined {
    const promises = this.#of(partition)
    if (leaderEpoch < promises.validFromEpoch) return undefined
    const known = promises.batches.get(batch.baseOffset)
    if (known === undefined) {
      promises.batches.set(batch.baseOffset, batch)
      promises.endOffset = Math.max(promises.endOffset, batch.endOffset)
      return undefined
    }
    if (known.contents === batch.contents) return undefined
    return `two batches at offset ${batch.baseOffset} were both said to be committed`
  }

  /** Everything promised lies below. */
  endOffset(partition: PartitionIndex): Offset {
    return this.#partitions.get(partition)?.endOffset ?? 0
  }

  /**
   * @param contentsAt what a leader's log has at a base offset @param logStartOffset below it
   *   records may be gone
   * @returns what is broken; undefined: nothing
   */
  missing(
    partition: PartitionIndex,
    logStartOffset: Offset,
    contentsAt: (baseOffset: Offset) => number | undefined,
  ): string | undefined {
    for (const { baseOffset, endOffset, contents } of this.#of(partition).batches.values()) {
      if (endOffset <= logStartOffset) continue
      const found = contentsAt(baseOffset)
      if (found === contents) continue
      return `the committed batch at offset ${baseOffset} is ${found === undefined ? 'gone' : 'another'}`
    }
    return undefined
  }

  /**
   * The leader of `leaderEpoch` was elected though it may lack committed records: what it has not
   * is forgiven, and whatever leaders before it promise from now on.
   */
  forgive(
    partition: PartitionIndex,
    leaderEpoch: LeaderEpoch,
    contentsAt: (baseOffset: Offset) => number | undefined,
  ): void {
    const promises = this.#of(partition)
    promises.validFromEpoch = leaderEpoch
    promises.endOffset = 0
    for (const [baseOffset, { endOffset, contents }] of promises.batches) {
      if (contentsAt(baseOffset) === contents) {
        promises.endOffset = Math.max(promises.endOffset, endOffset)
      } else promises.batches.delete(baseOffset)
    }
  }

  #of(partition: PartitionIndex): Promises {
    let promises = this.#partitions.get(partition)
    if (promises === undefined) {
      promises = { batches: new Map(), endOffset: 0, validFromEpoch: 0 }
      this.#partitions.set(partition, promises)
    }
    return promises
  }
}
