/** Batches for tests, in memory of their own. */
import { BatchEncoder, type BatchOptions } from '../../src/log/batch-encoder.ts'
import { sizeInBytesAt, stampBatch } from '../../src/log/batch-header.ts'
import { type BatchMemory, type BatchRun, batchMemory } from '../../src/log/batch-memory.ts'
import { batchSizeBound, type LogRecord, type ProduceRecord } from '../../src/log/record.ts'
import { readRecords } from '../../src/log/record-reader.ts'

const encoder = new BatchEncoder()

export function textRecord(value: string, timestampMs = 1_000): ProduceRecord {
  return { key: null, value: Buffer.from(value), timestampMs }
}

/** `count` records whose values name them: `prefix-0`, `prefix-1`, … */
export function textRecords(count: number, prefix: string, timestampMs = 1_000): ProduceRecord[] {
  return Array.from({ length: count }, (_, index) => textRecord(`${prefix}-${index}`, timestampMs))
}

/** One batch at the start of memory that fits it. */
export function encodeBatch(
  records: readonly ProduceRecord[],
  options: BatchOptions = { compression: 'none' },
): BatchMemory {
  const bound = batchSizeBound(records)
  const memory = batchMemory(new SharedArrayBuffer(bound))
  encoder.begin(memory, 0, bound, options)
  for (const record of records) {
    if (!encoder.tryAppend(record)) throw new Error('the bound was too small')
  }
  return batchMemory(memory.bytes.buffer, 0, encoder.finish())
}

/** Batches side by side in one memory, `gapBytes` apart, so that they are neighbours or not. */
export function runOf(batches: readonly BatchMemory[], gapBytes = 0): BatchRun {
  const total = batches.reduce((sum, { bytes }) => sum + bytes.length + gapBytes, 0)
  const memory = batchMemory(new SharedArrayBuffer(Math.max(1, total)))
  const positions = new Int32Array(batches.length)
  let at = 0
  for (const [index, { bytes }] of batches.entries()) {
    memory.bytes.set(bytes, at)
    positions[index] = at
    at += bytes.length + gapBytes
  }
  return { memory, positions, count: batches.length }
}

/** A run of one batch per array of records. */
export function runOfRecords(...batches: readonly (readonly ProduceRecord[])[]): BatchRun {
  return runOf(batches.map((records) => encodeBatch(records)))
}

/** Stamped as a leader would: for a follower's door. */
export function stampedRun(
  batches: readonly (readonly ProduceRecord[])[],
  baseOffset: number,
  leaderEpoch: number,
): BatchRun {
  const run = runOfRecords(...batches)
  let offset = baseOffset
  for (const [index, records] of batches.entries()) {
    stampBatch(run.memory, run.positions[index], offset, leaderEpoch)
    offset += records.length
  }
  return run
}

/** All records of the batches that fill `byteLength` bytes of memory. */
export function recordsIn(memory: BatchMemory, position: number, byteLength: number): LogRecord[] {
  const records: LogRecord[] = []
  let at = position
  while (at < position + byteLength) {
    records.push(...readRecords(memory, at))
    at += sizeInBytesAt(memory, at)
  }
  return records
}

/** Values as text with their offsets: `0:a-0`. */
export function labels(records: readonly LogRecord[]): string[] {
  return records.map(({ offset, value }) => `${offset}:${Buffer.from(value ?? []).toString()}`)
}
