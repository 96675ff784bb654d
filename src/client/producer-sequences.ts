/**
 * The sequence numbers of one idempotent producer (Kafka: TransactionManager): which its batches
 * get, which of them may be in flight, and when a partition must begin anew.
 *
 * A batch keeps its number from its first hand-over on, so that a leader knows it again. Numbers
 * are given anew, in a higher epoch, only to batches that are certainly not in the log.
 */
import { TidemarkError } from '../errors.ts'
import type { PartitionIndex } from '../ids.ts'
import { batchesRemembered } from '../log/producers/producer-entry.ts'
import { sequenceAfter } from '../log/producers/sequence-numbers.ts'

/** What a batch carries of its producer. */
export interface BatchSequence {
  /** -1: not given yet. */
  baseSequence: number
  producerEpoch: number
  /** Place among all batches of its partition that had a number. */
  ordinal: number
  /** It was handed over, and whether it was appended is not known. */
  isUncertain: boolean
}

interface PartitionState {
  epoch: number
  nextSequence: number
  nextOrdinal: number
  inFlight: number
  /** Batches with a number whose senders wait, the oldest first. */
  readonly unanswered: Set<BatchSequence>
  /** Begins anew as soon as nothing is in flight. */
  mustRestart: boolean
}

const epochMax = 0x7fff

export function noSequenceYet(): BatchSequence {
  return { baseSequence: -1, producerEpoch: -1, ordinal: -1, isUncertain: false }
}

export class ProducerSequences {
  /** -1: not known yet; nothing may be handed over. */
  producerId = -1
  readonly #partitions = new Map<PartitionIndex, PartitionState>()

  /**
   * Whether a batch may be handed over. Leaders remember the last five, and must know any that
   * comes again: none may be sent while an unanswered one lies further back.
   */
  mayHandOver(partition: PartitionIndex, batch: BatchSequence): boolean {
    if (this.producerId < 0) return false
    const state = this.#partitions.get(partition)
    if (state === undefined) return true
    if (state.mustRestart) return state.inFlight === 0
    if (state.unanswered.has(batch)) return true
    for (const oldest of state.unanswered) {
      return state.nextOrdinal - oldest.ordinal < batchesRemembered
    }
    return true
  }

  /** Whether no batch before this one is unanswered. */
  isOldest(partition: PartitionIndex, batch: BatchSequence): boolean {
    for (const oldest of this.#partitions.get(partition)!.unanswered) return oldest === batch
    return true
  }

  /**
   * Gives a batch its number, unless it has one that still counts.
   *
   * @throws {TidemarkError} INVALID_PRODUCER_EPOCH
   */
  assign(partition: PartitionIndex, batch: BatchSequence, recordCount: number): void {
    let state = this.#partitions.get(partition)
    if (state === undefined) {
      state = {
        epoch: 0,
        nextSequence: 0,
        nextOrdinal: 0,
        inFlight: 0,
        unanswered: new Set(),
        mustRestart: false,
      }
      this.#partitions.set(partition, state)
    }
    if (state.mustRestart) this.#restart(state)
    if (batch.baseSequence >= 0 && batch.producerEpoch === state.epoch) return
    if (!state.unanswered.has(batch)) {
      batch.ordinal = state.nextOrdinal
      state.nextOrdinal += 1
      state.unanswered.add(batch)
    }
    batch.baseSequence = state.nextSequence
    batch.producerEpoch = state.epoch
    state.nextSequence = sequenceAfter(state.nextSequence, recordCount)
  }

  handedOver(partition: PartitionIndex): void {
    this.#partitions.get(partition)!.inFlight += 1
  }

  answered(partition: PartitionIndex): void {
    this.#partitions.get(partition)!.inFlight -= 1
  }

  /** Its senders know what became of it. */
  settled(partition: PartitionIndex, batch: BatchSequence): void {
    this.#partitions.get(partition)?.unanswered.delete(batch)
  }

  /** A number was never appended, and those after it can't be: all begin anew. */
  restart(partition: PartitionIndex): void {
    this.#partitions.get(partition)!.mustRestart = true
  }

  #restart(state: PartitionState): void {
    if (state.epoch === epochMax) {
      throw new TidemarkError(
        'INVALID_PRODUCER_EPOCH',
        `producer ${this.producerId} has had all its epochs: another one must be made`,
      )
    }
    state.mustRestart = false
    state.epoch += 1
    state.nextSequence = 0
  }
}
