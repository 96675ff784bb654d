/** A producer's batch from its first record to its answer, and whether it may be sent again. */
import type { ErrorCode, TidemarkError } from '../errors.ts'
import type { PartitionIndex } from '../ids.ts'
import { batchOverheadBytes } from '../log/batch-layout.ts'
import type { ProduceRecord } from '../log/record.ts'
import type { RecordMetadata } from './producer.ts'
import { sizeInBatch } from './producer-record.ts'
import { type BatchSequence, noSequenceYet, type ProducerSequences } from './producer-sequences.ts'

export interface Pending {
  readonly record: ProduceRecord
  readonly resolve: (metadata: RecordMetadata) => void
  readonly reject: (error: TidemarkError) => void
}

interface BatchPlace {
  readonly topic: string
  readonly partition: number
  readonly index: PartitionIndex
}

export interface Batch extends BatchPlace, BatchSequence {
  readonly pending: Pending[]
  /** Batches of a partition leave in this order. */
  readonly order: number
  readonly deadlineMs: number
  /** Exactly what it takes without compression. */
  bytes: number
  /** Not before: linger, or back-off after a refusal. */
  dueAtMs: number
  /** It was handed over once: it takes no more records, and keeps its back-off. */
  isSealed: boolean
  /** Its records have been answered. */
  isSettled: boolean
}

/** The batch is certainly not in the log: it may be sent again without a duplicate. */
const notAppended: ReadonlySet<ErrorCode> = new Set([
  'NOT_LEADER_OR_FOLLOWER',
  'NOT_ENOUGH_REPLICAS',
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
])

export function newBatch(
  place: BatchPlace,
  order: number,
  nowMs: number,
  options: { readonly lingerMs: number; readonly deliveryTimeoutMs: number },
): Batch {
  return {
    ...place,
    pending: [],
    order,
    deadlineMs: nowMs + options.deliveryTimeoutMs,
    bytes: batchOverheadBytes,
    dueAtMs: nowMs + options.lingerMs,
    isSealed: false,
    isSettled: false,
    ...noSequenceYet(),
  }
}

/** What the batch grows by with one more record. */
export function sizeAfter({ pending }: Batch, record: ProduceRecord): number {
  return sizeInBatch(record, pending.length, pending[0]?.record.timestampMs ?? record.timestampMs)
}

export function isNotAppended(code: ErrorCode): boolean {
  return notAppended.has(code)
}

/**
 * Whether an idempotent producer sends a refused batch again: whenever it could help, since its
 * leader knows it again.
 *
 * A first one that is out of order never was appended, unless an earlier attempt's outcome is
 * unknown: a leader that remembers less than five would say the same of it. Then, as in Kafka, its
 * sender is told.
 */
export function mayComeAgain(
  batch: Batch,
  why: {
    readonly code: ErrorCode
    readonly retriable: boolean
    readonly sequences: ProducerSequences
  },
): boolean {
  if (why.code === 'OUT_OF_ORDER_SEQUENCE_NUMBER') {
    // One before it is still to come: that it waits for.
    if (!why.sequences.isOldest(batch.index, batch)) return true
    why.sequences.restart(batch.index)
    return !batch.isUncertain
  }
  if (!isNotAppended(why.code)) batch.isUncertain = true
  return why.retriable
}
