/** Sequence numbers run from 0 to 2^31 - 1 and begin anew (Kafka: `DefaultRecordBatch`). */

const sequenceCount = 2 ** 31
export const noSequence = -1

export function sequenceAfter(sequence: number, count: number): number {
  return (sequence + count) % sequenceCount
}

export function sequenceBefore(sequence: number, count: number): number {
  return (sequence - count + sequenceCount) % sequenceCount
}

/** Of a batch's last record; `noSequence` when the batch has none. */
export function lastSequenceOf(baseSequence: number, lastOffsetDelta: number): number {
  return baseSequence < 0 ? noSequence : sequenceAfter(baseSequence, lastOffsetDelta)
}

/** Whether `next` may follow a batch that ended with `last`. */
export function isInSequence(last: number, next: number): boolean {
  return next === (last < 0 ? 0 : sequenceAfter(last, 1))
}
