import type { Log } from '../../src/log/log.ts'
import type { RecordInput } from '../../src/log/record-input.ts'
import { sampleValue } from './batches.ts'

const recordsPerAppend = 1_000

/** A thousand records of 100 bytes each without a pattern, the time of each given. */
export function sampleRecords(firstMs: number): RecordInput[] {
  const bytes = sampleValue(100 + recordsPerAppend)
  return Array.from({ length: recordsPerAppend }, (_, at) => ({
    value: bytes.slice(at, at + 100),
    timestampMs: firstMs + at,
  }))
}

/** Appends until the log has so many bytes; record number n has the time n in milliseconds. */
export function fillLog(log: Log, bytes: number): void {
  const values = sampleRecords(0)
  while (log.sizeBytes < bytes) {
    const first = log.logEndOffset
    log.append(values.map(({ value }, at) => ({ value, timestampMs: first + at })))
  }
}
