/**
 * What a leader lets a producer append (Kafka: `ProducerAppendInfo`, `LogValidator`). Pure, and
 * without an allocation: followers and recovery don't ask, they take what the leader took.
 */
import { type ErrorCode, TidemarkError } from '../../errors.ts'
import {
  baseSequenceAt,
  hasProducerIdAt,
  isControlAt,
  isTransactionalAt,
  lastOffsetDeltaAt,
  producerEpochAt,
  producerIdAt,
  recordCountAt,
} from '../batch-header.ts'
import type { BatchMemory } from '../batch-memory.ts'
import type { EndMarker } from './end-marker.ts'
import type { ProducerEntry } from './producer-entry.ts'
import { isInSequence } from './sequence-numbers.ts'

/**
 * What is wrong with a client's batch whatever the producer did before. Ends of transactions come
 * from their coordinator, not from clients.
 */
export function clientBatchFault(memory: BatchMemory, position: number): ErrorCode | undefined {
  if (isControlAt(memory, position)) return 'INVALID_RECORD'
  if (!hasProducerIdAt(memory, position)) {
    return isTransactionalAt(memory, position) ? 'INVALID_RECORD' : undefined
  }
  const whole = recordCountAt(memory, position) === lastOffsetDeltaAt(memory, position) + 1
  const isKnowable = Number.isSafeInteger(producerIdAt(memory, position))
  const isNumbered = baseSequenceAt(memory, position) >= 0 && producerEpochAt(memory, position) >= 0
  return whole && isKnowable && isNumbered ? undefined : 'INVALID_RECORD'
}

/**
 * Whether a batch with records may follow what the producer wrote before. A producer that nothing
 * is known of, since its records have gone or its state has expired, may begin anywhere
 * (KAFKA-7190).
 */
export function sequenceRefusal(
  entry: ProducerEntry | undefined,
  producerEpoch: number,
  baseSequence: number,
  isTransactional: boolean,
): ErrorCode | undefined {
  if (entry === undefined || entry.producerEpoch < 0) return undefined
  if (producerEpoch < entry.producerEpoch) return 'INVALID_PRODUCER_EPOCH'
  const last = producerEpoch > entry.producerEpoch ? -1 : entry.lastSequence
  if (!isInSequence(last, baseSequence)) return 'OUT_OF_ORDER_SEQUENCE_NUMBER'
  return entry.transactionFirstOffset >= 0 && !isTransactional ? 'INVALID_TXN_STATE' : undefined
}

/**
 * Whether the end of a transaction may be written by whoever wants to.
 *
 * @throws {TidemarkError} INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED
 */
export function checkEndMarker(entry: ProducerEntry | undefined, marker: EndMarker): void {
  if (entry === undefined) return
  const { producerId, producerEpoch, coordinatorEpoch } = marker
  if (producerEpoch < entry.producerEpoch) {
    throw new TidemarkError(
      'INVALID_PRODUCER_EPOCH',
      `producer ${producerId} has epoch ${entry.producerEpoch}, its transaction's end ${producerEpoch}`,
    )
  }
  if (coordinatorEpoch < entry.coordinatorEpoch) {
    throw new TidemarkError(
      'TRANSACTION_COORDINATOR_FENCED',
      `producer ${producerId}: coordinator epoch ${coordinatorEpoch} after ${entry.coordinatorEpoch}`,
    )
  }
}
