/** A partition's directory: every segment, the history of epochs, snapshots, the topic's id. */
import path from 'node:path'
import { isTidemarkError } from '../errors.ts'
import {
  baseOffsetOfName,
  leaderEpochFileName,
  logSuffix,
  offsetIndexSuffix,
  partitionMetadataFileName,
  producerSnapshotSuffix,
  segmentBases,
  segmentPath,
  timeIndexSuffix,
  transactionIndexSuffix,
} from '../log/file-names.ts'
import type { FileSystem } from '../log/file-system.ts'
import { readTopicId } from '../log/partition-metadata.ts'
import { decodeProducerSnapshot } from '../log/producers/producer-snapshot.ts'
import { parseEpochCheckpoint } from './checkpoint-lines.ts'
import { EpochCheck, type EpochHistory } from './verify-epochs.ts'
import { OffsetOrder } from './verify-offset-order.ts'
import { ProducerCheck } from './verify-producers.ts'
import type { VerifyReport } from './verify-report.ts'
import { type LogChecks, verifySegment } from './verify-segment.ts'
import { TransactionCheck } from './verify-transaction-index.ts'

/** What the broker's directory, if there is one, says of the partition. */
export interface PartitionContext {
  /** Below it compaction may have left gaps: 0, or Infinity for all of the log. */
  readonly gapsBelow: number
  /** undefined: nobody knows where the log begins, but that it isn't before its first segment. */
  readonly logStartOffset: number | undefined
  /** Whether the broker closed its logs properly, which ends the newest segment's time index. */
  readonly isClosed: boolean
}

export interface VerifiedPartition {
  readonly directory: string
  /** -1: no segment. */
  readonly firstOffset: number
  readonly logEndOffset: number
  /** Whether all segments were read to their end. */
  readonly isWhole: boolean
  readonly topicId: string | undefined
}

/** Indexes go with a segment. */
const companionSuffixes = [offsetIndexSuffix, timeIndexSuffix, transactionIndexSuffix]

export function verifyPartition(
  report: VerifyReport,
  fs: FileSystem,
  directory: string,
  context: PartitionContext,
): VerifiedPartition {
  const names = (fs.list(directory) ?? []).sort()
  const bases = segmentBases(names)
  report.counts.partitions += 1
  const order = new OffsetOrder(report, context.gapsBelow)
  const epochs = new EpochCheck(report, epochHistory(report, fs, directory, context, bases[0]))
  const hasAllBatches = bases[0] === 0 && context.gapsBelow === 0
  const producers = new ProducerCheck(report, fs, directory, hasAllBatches)
  const transactions = new TransactionCheck(report)
  const checks: LogChecks = { order, epochs, transactions, producers }
  let isWhole = true
  let complete = true
  for (const [index, baseOffset] of bases.entries()) {
    order.beginSegment(segmentPath(directory, baseOffset, logSuffix), baseOffset, complete)
    const isDone = context.isClosed || index + 1 < bases.length
    complete = verifySegment(report, fs, { directory, baseOffset, isDone }, checks)
    isWhole &&= complete
  }
  const logEndOffset = Math.max(0, order.nextOffset)
  if (isWhole) epochs.end(logEndOffset)
  producers.end(logEndOffset)
  checkCompanions(report, directory, names, bases)
  checkSnapshots(report, fs, directory, names, isWhole ? logEndOffset : Number.POSITIVE_INFINITY)
  const topicId = topicIdOf(report, fs, directory)
  return { directory, firstOffset: bases[0] ?? -1, logEndOffset, isWhole, topicId }
}

function epochHistory(
  report: VerifyReport,
  fs: FileSystem,
  directory: string,
  { logStartOffset }: PartitionContext,
  firstOffset = 0,
): EpochHistory {
  const file = path.join(directory, leaderEpochFileName)
  const bytes = fs.readFile(file)
  const start = logStartOffset === undefined ? undefined : Math.max(logStartOffset, firstOffset)
  const history = { file, isMissing: bytes === undefined, logStartOffset: start }
  if (bytes === undefined) return { ...history, entries: undefined }
  const { entries, fault } = parseEpochCheckpoint(bytes)
  if (fault === undefined) return { ...history, entries }
  report.add('epoch-checkpoint', file, { position: fault.position }, fault)
  return { ...history, entries: undefined }
}

function checkCompanions(
  report: VerifyReport,
  directory: string,
  names: readonly string[],
  bases: readonly number[],
): void {
  const present = new Set(bases)
  for (const name of names) {
    for (const suffix of companionSuffixes) {
      const base = baseOffsetOfName(name, suffix)
      if (base === undefined || present.has(base)) continue
      const expected = `a segment ${path.basename(segmentPath(directory, base, logSuffix))} beside it`
      report.add('segment', path.join(directory, name), {}, { expected, found: 'none' })
    }
  }
}

function checkSnapshots(
  report: VerifyReport,
  fs: FileSystem,
  directory: string,
  names: readonly string[],
  logEndOffset: number,
): void {
  for (const name of names) {
    const offset = baseOffsetOfName(name, producerSnapshotSuffix)
    if (offset === undefined) continue
    const file = path.join(directory, name)
    if (offset > logEndOffset) {
      const expected = `a snapshot at an offset up to ${logEndOffset}, where the log ends`
      report.add('producer-snapshot', file, {}, { expected, found: `offset ${offset}` })
    }
    try {
      for (const { producerId, lastOffset } of decodeProducerSnapshot(readWhole(fs, file))) {
        if (lastOffset < offset) continue
        const expected = `producers' last offsets below ${offset}`
        const found = `${lastOffset} of producer ${producerId}`
        report.add('producer-snapshot', file, { offset: lastOffset }, { expected, found })
      }
    } catch (error) {
      if (!isTidemarkError(error, 'CORRUPT_FILE')) throw error
      const expected = 'a snapshot of producers'
      report.add('producer-snapshot', file, {}, { expected, found: error.message })
    }
  }
}

function topicIdOf(report: VerifyReport, fs: FileSystem, directory: string): string | undefined {
  const file = path.join(directory, partitionMetadataFileName)
  const expected = "the lines 'version: 0' and 'topic_id: ID', an id of 16 bytes in base64"
  try {
    const topicId = readTopicId(fs, directory)
    if (topicId === undefined) {
      const found = 'a part of it, as after a loss of power'
      if (fs.sizeOf(file) !== undefined) report.add('meta-file', file, {}, { expected, found })
      return undefined
    }
    const bytes = Buffer.from(topicId, 'base64url')
    if (bytes.length === 16 && bytes.toString('base64url') === topicId) return topicId
    report.add('meta-file', file, {}, { expected, found: `'${topicId.slice(0, 80)}'` })
  } catch (error) {
    if (!isTidemarkError(error, 'CORRUPT_FILE')) throw error
    report.add('meta-file', file, {}, { expected, found: error.message })
  }
  return undefined
}

function readWhole(fs: FileSystem, file: string): Uint8Array {
  return fs.readFile(file) ?? new Uint8Array(0)
}
