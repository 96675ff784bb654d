/**
 * Replicas of one partition against each other: the same bytes up to the smaller end, within a
 * leader epoch. Where epochs differ one of them holds what was never committed, which is no fault
 * above the smaller high watermark.
 */
import { logSuffix, segmentBases, segmentPath } from '../log/file-names.ts'
import type { FileSystem } from '../log/file-system.ts'
import { type WalkedBatch, walkSegment } from './segment-walk.ts'
import type { VerifyReport } from './verify-report.ts'

export interface Replica {
  readonly directory: string
  readonly logEndOffset: number
  /** undefined: not known; then all of the log counts as committed. */
  readonly highWatermark: number | undefined
}

interface PlacedBatch {
  readonly batch: WalkedBatch
  readonly file: string
}

/** Each is held against the longest. */
export function verifyReplicas(
  report: VerifyReport,
  fs: FileSystem,
  replicas: readonly Replica[],
): void {
  const [longest, ...others] = [...replicas].sort((a, b) => b.logEndOffset - a.logEndOffset)
  for (const other of others) compare(report, fs, longest, other)
}

function compare(report: VerifyReport, fs: FileSystem, one: Replica, other: Replica): void {
  const end = Math.min(one.logEndOffset, other.logEndOffset)
  const committed = Math.min(one.highWatermark ?? end, other.highWatermark ?? end)
  const ones = batchesOf(fs, one.directory)
  const others = batchesOf(fs, other.directory)
  /** One run of differing batches is told once. */
  let differs = false
  let mine = ones.next()
  let theirs = others.next()
  while (mine.done !== true && theirs.done !== true) {
    const { batch } = mine.value
    const { batch: otherBatch, file } = theirs.value
    if (Math.max(batch.baseOffset, otherBatch.baseOffset) >= end) break
    if (batch.baseOffset !== otherBatch.baseOffset) {
      if (batch.baseOffset < otherBatch.baseOffset) mine = ones.next()
      else theirs = others.next()
      continue
    }
    report.counts.comparedBatches += 1
    const difference = differenceOf(batch, otherBatch)
    const mayDiverge = batch.leaderEpoch !== otherBatch.leaderEpoch && batch.baseOffset >= committed
    if (difference !== undefined && mayDiverge) break
    if (difference !== undefined && !differs) {
      const place = { offset: otherBatch.baseOffset, position: otherBatch.filePosition }
      const expected = `${difference[0]}, as in ${mine.value.file} at ${batch.filePosition}`
      report.add('replica', file, place, { expected, found: difference[1] })
    }
    differs = difference !== undefined
    mine = ones.next()
    theirs = others.next()
  }
  ones.return?.(undefined)
  others.return?.(undefined)
}

/** What the one has and what the other; undefined: the same bytes. */
function differenceOf(one: WalkedBatch, other: WalkedBatch): readonly [string, string] | undefined {
  const place = one.position
  const ones = one.memory.bytes.subarray(place, place + one.sizeBytes)
  const others = other.memory.bytes.subarray(other.position, other.position + other.sizeBytes)
  if (Buffer.compare(ones, others) === 0) return undefined
  if (one.leaderEpoch !== other.leaderEpoch) {
    return [`leader epoch ${one.leaderEpoch}`, `${other.leaderEpoch}`]
  }
  if (one.sizeBytes !== other.sizeBytes) {
    return [`a batch of ${one.sizeBytes} bytes`, `${other.sizeBytes} bytes`]
  }
  const at = ones.findIndex((byte, index) => byte !== others[index])
  return [`byte ${ones[at]} at ${at} of the batch`, `${others[at]}`]
}

function* batchesOf(fs: FileSystem, directory: string): Generator<PlacedBatch> {
  for (const base of segmentBases(fs.list(directory) ?? [])) {
    const file = segmentPath(directory, base, logSuffix)
    for (const batch of walkSegment(fs, file)) yield { batch, file }
  }
}
