/** One batch by itself: its checks, its records, and what the other checks want to know of it. */
import { isTidemarkError } from '../errors.ts'
import { batchMagic } from '../log/batch-layout.ts'
import { batchExpectation } from './fault-text.ts'
import { recordsOf, type WalkedBatch } from './segment-walk.ts'
import type { VerifyReport } from './verify-report.ts'

export interface BatchFacts {
  readonly filePosition: number
  readonly firstOffset: number
  readonly lastOffset: number
  /** -1: none. */
  readonly leaderEpoch: number
  readonly maxTimestampMs: number
  /** Of the earliest record that has the largest timestamp; -1: no record, or not read. */
  readonly maxTimestampOffset: number
}

interface RecordFacts {
  readonly count: number
  readonly firstOffset: number
  readonly maxTimestampMs: number
  readonly maxTimestampOffset: number
}

/**
 * Reports what is wrong with a batch. undefined: nothing its header says can be trusted.
 * `mayLack`: whether compaction may have taken records out of it.
 */
export function verifyBatch(
  report: VerifyReport,
  file: string,
  batch: WalkedBatch,
  mayLack: boolean,
): BatchFacts | undefined {
  const { filePosition, baseOffset, lastOffset, leaderEpoch, maxTimestampMs, fault } = batch
  const place = { offset: baseOffset, position: filePosition }
  report.counts.batches += 1
  if (fault !== undefined) {
    report.add('batch', file, place, batchExpectation(batch, fault))
    return undefined
  }
  const facts = {
    filePosition,
    firstOffset: baseOffset,
    lastOffset,
    leaderEpoch,
    maxTimestampMs,
    maxTimestampOffset: -1,
  }
  const records = recordFacts(report, file, batch)
  if (records === undefined) return facts
  checkHeader(report, file, batch, records, mayLack)
  const { maxTimestampOffset } = records
  if (batch.magic === batchMagic) return { ...facts, maxTimestampOffset }
  const { firstOffset } = records
  // The header of a compressed message of old counts for the broker's time only.
  if (batch.logAppendTime) return { ...facts, firstOffset, maxTimestampOffset }
  return { ...facts, firstOffset, maxTimestampOffset, maxTimestampMs: records.maxTimestampMs }
}

function recordFacts(
  report: VerifyReport,
  file: string,
  batch: WalkedBatch,
): RecordFacts | undefined {
  const { baseOffset, filePosition } = batch
  let count = 0
  let firstOffset = baseOffset
  let lastOffset = baseOffset - 1
  let maxTimestampMs = -1
  let maxTimestampOffset = -1
  try {
    for (const { offset, timestampMs } of recordsOf(batch)) {
      if (count === 0) firstOffset = offset
      if (count === 0 || timestampMs > maxTimestampMs) {
        maxTimestampMs = timestampMs
        maxTimestampOffset = offset
      }
      lastOffset = offset
      count += 1
    }
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    const place = { offset: lastOffset + 1, position: filePosition }
    report.add('record', file, place, { expected: 'a whole record', found: error.message })
    return undefined
  }
  report.counts.records += count
  return { count, firstOffset, maxTimestampMs, maxTimestampOffset }
}

/** What the header says of the records must be so. */
function checkHeader(
  report: VerifyReport,
  file: string,
  batch: WalkedBatch,
  records: RecordFacts,
  mayLack: boolean,
): void {
  const { magic, baseOffset, lastOffset, filePosition, maxTimestampMs, logAppendTime } = batch
  if (magic !== batchMagic) return
  const place = { offset: baseOffset, position: filePosition }
  const room = lastOffset + 1 - baseOffset
  if (records.count !== room && !mayLack) {
    const expected = `${room} records for offsets ${baseOffset} to ${lastOffset}`
    report.add('record', file, place, { expected, found: `${records.count}` })
  }
  const newest = records.maxTimestampMs
  if (!logAppendTime && records.count > 0 && newest !== maxTimestampMs) {
    const expected = `max timestamp ${maxTimestampMs} ms as stated`
    report.add('record', file, place, { expected, found: `a newest record of ${newest} ms` })
  }
}
