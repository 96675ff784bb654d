/** One segment: all its batches, and its indexes against them, in one pass over the file. */
import path from 'node:path'
import {
  logSuffix,
  offsetIndexSuffix,
  segmentPath,
  timeIndexSuffix,
  transactionIndexSuffix,
} from '../log/file-names.ts'
import type { FileSystem } from '../log/file-system.ts'
import { endExpectation } from './fault-text.ts'
import { type WalkEnd, type WalkedBatch, walkSegment } from './segment-walk.ts'
import { verifyBatch } from './verify-batch.ts'
import type { EpochCheck } from './verify-epochs.ts'
import { OffsetIndexCheck } from './verify-offset-index.ts'
import type { OffsetOrder } from './verify-offset-order.ts'
import type { ProducerCheck } from './verify-producers.ts'
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
  readonly producers: ProducerCheck
}

export interface SegmentPlace {
  readonly directory: string
  readonly baseOffset: number
  /** Whether nothing is appended to it any more, so that its time index has its last entry. */
  readonly isDone: boolean
}

interface IndexChecks {
  readonly offsets: OffsetIndexCheck | undefined
  readonly times: TimeIndexCheck | undefined
}

/** Returns whether the segment was read to its end. */
export function verifySegment(
  report: VerifyReport,
  fs: FileSystem,
  { directory, baseOffset, isDone }: SegmentPlace,
  checks: LogChecks,
): boolean {
  const pathOf = (suffix: string) => segmentPath(directory, baseOffset, suffix)
  const file = pathOf(logSuffix)
  const indexes = openIndexes(report, fs, pathOf, baseOffset)
  let end = verifyBatches(report, walkSegment(fs, file), file, baseOffset, checks, indexes)
  const isWhole = end.fault === undefined
  // Beyond a place where nobody can tell how it goes on, the index says where it does.
  while (end.fault !== undefined) {
    const place = { offset: checks.order.nextOffset, position: end.position }
    report.add('batch', file, place, endExpectation(end))
    indexes.offsets?.lose(end.position)
    indexes.times?.lose()
    checks.order.lose()
    checks.producers.lose()
    const next = indexes.offsets?.nextPosition(end.position)
    if (next === undefined || next >= end.fileBytes) break
    const rest = walkSegment(fs, file, next)
    end = verifyBatches(report, rest, file, baseOffset, checks, indexes)
  }
  indexes.offsets?.end(end)
  indexes.times?.end(isDone)
  const transactions = pathOf(transactionIndexSuffix)
  checks.transactions.endSegment(transactions, fs.readFile(transactions), isWhole)
  report.counts.segments += 1
  report.counts.bytes += end.fileBytes
  return isWhole
}

function openIndexes(
  report: VerifyReport,
  fs: FileSystem,
  pathOf: (suffix: string) => string,
  baseOffset: number,
): IndexChecks {
  const open = <T>(
    suffix: string,
    Check: new (report: VerifyReport, file: string, base: number, bytes: Uint8Array) => T,
  ) => {
    const bytes = fs.readFile(pathOf(suffix))
    return bytes === undefined ? undefined : new Check(report, pathOf(suffix), baseOffset, bytes)
  }
  return {
    offsets: open(offsetIndexSuffix, OffsetIndexCheck),
    times: open(timeIndexSuffix, TimeIndexCheck),
  }
}

function verifyBatches(
  report: VerifyReport,
  walk: Generator<WalkedBatch, WalkEnd>,
  file: string,
  baseOffset: number,
  { order, epochs, transactions, producers }: LogChecks,
  { offsets, times }: IndexChecks,
): WalkEnd {
  let next = walk.next()
  for (; next.done !== true; next = walk.next()) {
    const batch = next.value
    report.passed(batch.sizeBytes)
    const facts = verifyBatch(report, file, batch, order.mayLack(batch.baseOffset))
    if (facts === undefined) {
      order.lose()
      producers.lose()
      offsets?.lose(batch.filePosition)
      times?.lose()
      continue
    }
    order.see(file, facts)
    epochs.see(file, facts)
    transactions.see(batch)
    producers.see(batch)
    offsets?.see(facts)
    times?.see(facts)
    if (facts.lastOffset - baseOffset > relativeOffsetMax) {
      const place = { offset: facts.lastOffset, position: facts.filePosition }
      const expected = `offsets up to ${baseOffset + relativeOffsetMax} in ${path.basename(file)}`
      report.add('segment', file, place, { expected, found: `offset ${facts.lastOffset}` })
    }
  }
  return next.value
}
