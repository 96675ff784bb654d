/** One segment: all its batches, and its indexes against them, in one pass over the file. */
import path from 'node:path'
import { logSuffix, offsetIndexSuffix, segmentPath, timeIndexSuffix } from '../log/file-names.ts'
import type { FileSystem } from '../log/file-system.ts'
import { endExpectation } from './fault-text.ts'
import { transactionIndexSuffix } from './file-kind.ts'
import { walkSegment } from './segment-walk.ts'
import { verifyBatch } from './verify-batch.ts'
import type { EpochCheck } from './verify-epochs.ts'
import { OffsetIndexCheck } from './verify-offset-index.ts'
import type { OffsetOrder } from './verify-offset-order.ts'
import type { VerifyReport } from './verify-report.ts'
import { TimeIndexCheck } from './verify-time-index.ts'
import type { TransactionCheck } from './verify-transaction-index.ts'

/** Relative offsets are 32 bits wide. */
const relativeOffsetMax = 0x7fff_ffff

/** What is carried from segment to segment. */
export interface LogChecks {
  readonly order: OffsetOrder
  readonly epochs: EpochCheck
  readonly transactions: TransactionCheck
}

export interface SegmentPlace {
  readonly directory: string
  readonly baseOffset: number
  /** Whether nothing is appended to it any more, so that its time index has its last entry. */
  readonly isDone: boolean
}

/** Returns whether the segment was read to its end. */
export function verifySegment(
  report: VerifyReport,
  fs: FileSystem,
  { directory, baseOffset, isDone }: SegmentPlace,
  { order, epochs, transactions }: LogChecks,
): boolean {
  const pathOf = (suffix: string) => segmentPath(directory, baseOffset, suffix)
  const file = pathOf(logSuffix)
  const times = fs.readFile(pathOf(timeIndexSuffix))
  const offsets = fs.readFile(pathOf(offsetIndexSuffix))
  const indexChecks = [
    ...(offsets === undefined
      ? []
      : [new OffsetIndexCheck(report, pathOf(offsetIndexSuffix), baseOffset, offsets)]),
    ...(times === undefined
      ? []
      : [new TimeIndexCheck(report, pathOf(timeIndexSuffix), baseOffset, times)]),
  ]
  const walk = walkSegment(fs, file)
  let next = walk.next()
  for (; next.done !== true; next = walk.next()) {
    const batch = next.value
    const facts = verifyBatch(report, file, batch, order.mayLack(batch.baseOffset))
    if (facts === undefined) {
      order.lose()
      for (const check of indexChecks) check.lose(batch.filePosition)
      continue
    }
    order.see(file, facts)
    epochs.see(file, facts)
    transactions.see(batch)
    for (const check of indexChecks) check.see(facts)
    if (facts.lastOffset - baseOffset > relativeOffsetMax) {
      const place = { offset: facts.lastOffset, position: facts.filePosition }
      const expected = `offsets up to ${baseOffset + relativeOffsetMax} in ${path.basename(file)}`
      report.add('segment', file, place, { expected, found: `offset ${facts.lastOffset}` })
    }
  }
  const end = next.value
  const isWhole = end.fault === undefined
  if (!isWhole) {
    const place = { offset: order.nextOffset, position: end.position }
    report.add('batch', file, place, endExpectation(end))
  }
  for (const check of indexChecks) check.end(end, isDone)
  transactions.endSegment(
    pathOf(transactionIndexSuffix),
    fs.readFile(pathOf(transactionIndexSuffix)),
    isWhole,
  )
  report.counts.segments += 1
  report.counts.bytes += end.fileBytes
  return isWhole
}
