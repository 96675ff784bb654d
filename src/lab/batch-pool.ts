/**
 * Batches encoded beforehand, in one shared memory, for threads that only write them: the limits
 * that a broker is held against. They pass through as much memory as a broker's ring has, so that
 * caches help as little.
 */
import { systemClock } from '../clock.ts'
import { TidemarkError } from '../errors.ts'
import { limits } from '../limits.ts'
import { BatchEncoder } from '../log/batch-encoder.ts'
import { batchMemory } from '../log/batch-memory.ts'

export interface BatchPool {
  /** Batches of `batchBytes`, one every `batchStride` bytes, used in turn. */
  readonly pool: SharedArrayBuffer
  readonly batchBytes: number
  readonly batchStride: number
  readonly poolBatches: number
  /** Values of the records of one batch. */
  readonly payloadBytes: number
}

export interface BatchPoolOptions {
  /** Upper bound of a batch, its header included. */
  readonly batchBytes: number
  readonly recordBytes: number
  /** Bytes of batches that are needed at most; fewer make a smaller pool. */
  readonly totalBytes: number
}

const batchAlignmentBytes = 8

/** @throws {TidemarkError} INVALID_ARGUMENT when no record fits in a batch */
export function makeBatchPool({
  batchBytes,
  recordBytes,
  totalBytes,
}: BatchPoolOptions): BatchPool {
  const encoder = new BatchEncoder()
  const first = batchMemory(new ArrayBuffer(batchBytes))
  encoder.begin(first, 0, batchBytes, { compression: 'none' })
  for (;;) {
    const position = encoder.tryAppendRaw(systemClock.nowMs(), -1, recordBytes)
    if (position === -1) break
    fillValue(first.bytes, position, recordBytes)
  }
  const payloadBytes = encoder.recordCount * recordBytes
  const encodedBytes = encoder.finish()
  if (encodedBytes === 0) {
    const detail = `recordBytes ${recordBytes}: allowed is what fits in a batch of ${batchBytes} bytes`
    throw new TidemarkError('INVALID_ARGUMENT', detail)
  }
  const batchStride = Math.ceil(encodedBytes / batchAlignmentBytes) * batchAlignmentBytes
  const fitting = Math.max(1, Math.floor(limits.ringBytesDefault / batchStride))
  const poolBatches = Math.min(Math.ceil(totalBytes / encodedBytes), fitting)
  const pool = new SharedArrayBuffer(poolBatches * batchStride)
  const bytes = new Uint8Array(pool)
  const encoded = first.bytes.subarray(0, encodedBytes)
  for (let index = 0; index < poolBatches; index += 1) bytes.set(encoded, index * batchStride)
  return { pool, batchBytes: encodedBytes, batchStride, poolBatches, payloadBytes }
}

/** Bytes without a pattern that a file system could make use of. */
function fillValue(bytes: Uint8Array, position: number, length: number): void {
  let state = (position + 1) | 0
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    bytes[position + index] = state >>> 24
  }
}
