/**
 * What became of each batch of a run that a leader was to append. Reused by its owner.
 *
 * Batches of producers are judged one by one, earlier ones of the run counting for later ones: a
 * duplicate is left out and told by its first offsets, one that may not follow is left out with its
 * error (OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, INVALID_RECORD),
 * the others are written.
 */
import { type ErrorCode, errorNumber, errorNumberNone } from '../../errors.ts'

export class AppendOutcomes {
  /**
   * No batch was of a producer, all are in the log, and their own headers tell their offsets:
   * nothing else here is filled in then.
   */
  areAllPlain = true
  /** By place in the run: number of the error for which the batch was refused; 0: it is there. */
  readonly errors: Int32Array
  /** First offset and one past the last; of a duplicate those of the batch that was there. */
  readonly baseOffsets: Float64Array
  readonly nextOffsets: Float64Array
  /** 1: the same batch was in the log already, and was not written again. */
  readonly duplicates: Uint8Array

  /** @param batchesMax of one run */
  constructor(batchesMax: number) {
    this.errors = new Int32Array(batchesMax)
    this.baseOffsets = new Float64Array(batchesMax)
    this.nextOffsets = new Float64Array(batchesMax)
    this.duplicates = new Uint8Array(batchesMax)
  }

  refused(at: number, code: ErrorCode): void {
    this.errors[at] = errorNumber(code)
    this.baseOffsets[at] = -1
    this.nextOffsets[at] = -1
    this.duplicates[at] = 0
  }

  appended(at: number, baseOffset: number, nextOffset: number): void {
    this.errors[at] = errorNumberNone
    this.baseOffsets[at] = baseOffset
    this.nextOffsets[at] = nextOffset
    this.duplicates[at] = 0
  }

  duplicate(at: number, baseOffset: number, nextOffset: number): void {
    this.appended(at, baseOffset, nextOffset)
    this.duplicates[at] = 1
  }
}
