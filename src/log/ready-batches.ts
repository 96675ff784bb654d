/** Batches that a caller has encoded, checked before a leader's door takes them. */
import { TidemarkError } from '../errors.ts'
import { checkBatch, lastOffsetDeltaAt, recordCountAt, sizeInBytesAt } from './batch-header.ts'
import { type BatchRun, batchMemory } from './batch-memory.ts'

/**
 * The batches that fill `bytes`, all of them.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE naming the position of what isn't one; INVALID_RECORD for
 *   a batch whose records are not as many as its offsets (Kafka: `LogValidator`)
 */
export function readyBatches(bytes: unknown): BatchRun {
  if (!(bytes instanceof Uint8Array)) {
    throw new TidemarkError('INVALID_ARGUMENT', `batches: allowed are bytes, not ${typeof bytes}`)
  }
  const memory = batchMemory(bytes.buffer, bytes.byteOffset, bytes.length)
  const positions: number[] = []
  let at = 0
  while (at < bytes.length) {
    const fault = checkBatch(memory, at, bytes.length - at)
    if (fault !== undefined) {
      throw new TidemarkError('CORRUPT_MESSAGE', `batches, position ${at}: ${fault}`)
    }
    const count = recordCountAt(memory, at)
    const offsets = lastOffsetDeltaAt(memory, at) + 1
    if (count !== offsets) {
      throw new TidemarkError(
        'INVALID_RECORD',
        `batches, position ${at}: ${count} records for ${offsets} offsets`,
      )
    }
    positions.push(at)
    at += sizeInBytesAt(memory, at)
  }
  return { memory, positions: Int32Array.from(positions), count: positions.length }
}
