/**
 * The end of a transaction in the log (Kafka: `EndTransactionMarker`, `ControlRecordType`): a
 * control batch of one record. Key: i16 version, i16 type; value: i16 version, i32 coordinator
 * epoch.
 */
import { isTidemarkError } from '../../errors.ts'
import { invariant } from '../../invariant.ts'
import { BatchEncoder } from '../batch-encoder.ts'
import { producerEpochAt, producerIdAt } from '../batch-header.ts'
import { type BatchMemory, type BatchRun, batchMemory } from '../batch-memory.ts'
import { forEachRecord, type RecordPlace } from '../record-reader.ts'
import type { ProducerEntry } from './producer-entry.ts'
import { checkEndMarker } from './producer-rules.ts'

export interface EndMarker {
  readonly producerId: number
  readonly producerEpoch: number
  readonly isCommit: boolean
  readonly coordinatorEpoch: number
  readonly timestampMs: number
}

const abortType = 0
const commitType = 1
const keyBytes = 4
const valueBytes = 6
/** Of the batch: a header, and a record with ten bytes of payload. */
const endMarkerBytesMax = 128

/**
 * @param entry what is known of the producer
 * @throws {TidemarkError} INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED
 */
export function endMarkerRun(marker: EndMarker, entry: ProducerEntry | undefined): BatchRun {
  checkEndMarker(entry, marker)
  const memory = batchMemory(new ArrayBuffer(endMarkerBytesMax))
  const { producerId, producerEpoch, isCommit, coordinatorEpoch, timestampMs } = marker
  const key = new Uint8Array(keyBytes)
  new DataView(key.buffer).setInt16(2, isCommit ? commitType : abortType)
  const value = new Uint8Array(valueBytes)
  new DataView(value.buffer).setInt32(2, coordinatorEpoch)
  const encoder = new BatchEncoder()
  encoder.begin(memory, 0, endMarkerBytesMax, {
    compression: 'none',
    transactional: true,
    control: true,
    producerId,
    producerEpoch,
  })
  invariant(encoder.tryAppend({ key, value, timestampMs }), 'there is room for a marker')
  encoder.finish()
  return { memory, positions: new Int32Array(1), count: 1 }
}

/**
 * What a control batch says of its producer's transaction; undefined when it says nothing of that,
 * or can't be read. All of the batch must lie in the memory.
 */
export function decodeEndMarker(memory: BatchMemory, position: number): EndMarker | undefined {
  let first: Pick<EndMarker, 'isCommit' | 'coordinatorEpoch' | 'timestampMs'> | undefined
  let isFirst = true
  try {
    forEachRecord(memory, position, (place) => {
      if (isFirst) first = decodeRecord(place)
      isFirst = false
    })
  } catch (error) {
    if (isTidemarkError(error)) return undefined
    throw error
  }
  if (first === undefined) return undefined
  return {
    producerId: producerIdAt(memory, position),
    producerEpoch: producerEpochAt(memory, position),
    ...first,
  }
}

function decodeRecord(place: RecordPlace) {
  const { bytes, keyPosition, keyLength, valuePosition, valueLength, timestampMs } = place
  if (keyLength < keyBytes || valueLength < valueBytes) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const type = view.getInt16(keyPosition + 2)
  if (view.getInt16(keyPosition) < 0 || view.getInt16(valuePosition) < 0) return undefined
  if (type !== abortType && type !== commitType) return undefined
  const coordinatorEpoch = view.getInt32(valuePosition + 2)
  return { isCommit: type === commitType, coordinatorEpoch, timestampMs }
}
