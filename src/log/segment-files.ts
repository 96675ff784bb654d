/** What lies in a partition's directory when it is opened: tidied, and as segments in order. */
import path from 'node:path'
import { TidemarkError } from '../errors.ts'
import {
  abandonedSuffixes,
  baseOffsetOfName,
  logSuffix,
  offsetIndexSuffix,
  segmentBases,
  segmentPath,
  swapSuffix,
  timeIndexSuffix,
  transactionIndexSuffix,
} from './file-names.ts'
import type { OpenFiles } from './open-files.ts'
import { Segment } from './segment.ts'

/**
 * Removes what an interrupted operation left and indexes without a data file, and returns the
 * segments, ascending.
 *
 * @throws {TidemarkError} UNSUPPORTED_VERSION for a directory within the swap of a compaction.
 */
export function findSegments(files: OpenFiles, directory: string, nowMs: number): Segment[] {
  const { fs } = files
  const names = fs.list(directory) ?? []
  const bases = segmentBases(names)
  const present = new Set(bases)
  for (const name of names) {
    if (name.endsWith(swapSuffix)) {
      throw new TidemarkError(
        'UNSUPPORTED_VERSION',
        `${path.join(directory, name)}: an interrupted compaction is not completed yet`,
      )
    }
    if (isLeftOver(name, present)) fs.remove(path.join(directory, name))
  }
  return segmentsOf(files, directory, bases, nowMs)
}

/** Segments of somebody else's log, ascending, as they are now; nothing is tidied. */
export function readSegments(files: OpenFiles, directory: string): Segment[] {
  return segmentsOf(files, directory, segmentBases(files.fs.list(directory) ?? []), 0)
}

function segmentsOf(
  files: OpenFiles,
  directory: string,
  bases: readonly number[],
  createdMs: number,
): Segment[] {
  return bases.map((baseOffset) => {
    const sizeBytes = files.fs.sizeOf(segmentPath(directory, baseOffset, logSuffix)) ?? 0
    return new Segment(files, directory, { baseOffset, sizeBytes, createdMs })
  })
}

/**
 * Removes the segments that end at or below the log start. Their removal may have been under way,
 * and what a crash left of it in no order.
 */
export function dropBelow(segments: Segment[], logStartOffset: number): void {
  while (segments.length > 1 && segments[1].baseOffset <= logStartOffset) {
    segments[0].remove()
    segments.shift()
  }
}

function isLeftOver(name: string, bases: ReadonlySet<number>): boolean {
  if (abandonedSuffixes.some((suffix) => name.endsWith(suffix))) return true
  for (const suffix of [offsetIndexSuffix, timeIndexSuffix, transactionIndexSuffix]) {
    const base = baseOffsetOfName(name, suffix)
    if (base !== undefined && !bases.has(base)) return true
  }
  return false
}

/** Index in the ascending row of the segment that covers `offset`; -1: all lie above. */
export function floorSegmentIndex(segments: readonly Segment[], offset: number): number {
  let low = 0
  let high = segments.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (segments[middle].baseOffset <= offset) low = middle + 1
    else high = middle
  }
  return low - 1
}
