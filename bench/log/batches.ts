import { BatchEncoder } from '../../src/log/batch-encoder.ts'
import { type BatchMemory, type BatchRun, batchMemory } from '../../src/log/batch-memory.ts'

export interface SampleBatch {
  readonly memory: BatchMemory
  readonly sizeBytes: number
  readonly recordCount: number
}

/** A batch as full as `batchBytes` allows, in shared memory, of values without a pattern. */
export function sampleBatch(batchBytes: number, valueBytes: number): SampleBatch {
  const memory = batchMemory(new SharedArrayBuffer(batchBytes))
  const value = sampleValue(valueBytes)
  const encoder = new BatchEncoder()
  encoder.begin(memory, 0, batchBytes, { compression: 'none' })
  while (encoder.tryAppend({ key: null, value, timestampMs: 1_700_000_000_000 })) {
    // Until it is full.
  }
  const recordCount = encoder.recordCount
  return { memory, sizeBytes: encoder.finish(), recordCount }
}

export function sampleValue(bytes: number): Uint8Array {
  let state = 1
  return Uint8Array.from({ length: bytes }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state >>> 24
  })
}

export interface SampleRun extends BatchRun {
  /** Of one batch. */
  readonly sizeBytes: number
  readonly recordCount: number
}

/** `count` such batches, each at a multiple of `batchBytes`, so that they don't touch. */
export function sampleRun(count: number, batchBytes: number): SampleRun {
  const { memory: one, sizeBytes, recordCount } = sampleBatch(batchBytes, 1024)
  const memory = batchMemory(new SharedArrayBuffer(count * batchBytes))
  const positions = Int32Array.from({ length: count }, (_, index) => index * batchBytes)
  for (const position of positions) memory.bytes.set(one.bytes.subarray(0, sizeBytes), position)
  return { memory, positions, count, sizeBytes, recordCount }
}
