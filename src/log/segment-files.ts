/** What lies in a partition's directory when it is opened: tidied, and as segments in order. */
import path from 'node:path'
import { TidemarkError } from '../errors.ts'
import { nextOffsetAt } from './batch-header.ts'
import { completeSwaps, settleCleaned } from './compaction/swap-in.ts'
import {
  baseOffsetOfName,
  deletedSuffix,
  logSuffix,
  offsetIndexSuffix,
  segmentBases,
  segmentPath,
  timeIndexSuffix,
  transactionIndexSuffix,
} from './file-names.ts'
import { OpenFile, type OpenFiles } from './open-files.ts'
import { Segment } from './segment.ts'
import { scanSegment } from './segment-scan.ts'

/**
 * Removes what an interrupted operation left and indexes without a data file, and returns the
 * names of the files that remain.
 *
 * @throws {TidemarkError} CORRUPT_FILE for a segment that would take others' place and isn't whole
 */
export function tidiedNames(files: OpenFiles, directory: string): string[] {
  const { fs } = files
  let names = fs.list(directory) ?? []
  const endOf = (file: string, baseOffset: number) => endOffsetOfFile(files, file, baseOffset)
  if (completeSwaps(fs, directory, names, endOf)) names = fs.list(directory) ?? []
  if (settleCleaned(fs, directory, names)) names = fs.list(directory) ?? []
  const present = new Set(segmentBases(names))
  return names.filter((name) => {
    if (!isLeftOver(name, present)) return true
    fs.remove(path.join(directory, name))
    return false
  })
}

/** The segments, ascending. @throws {TidemarkError} as `tidiedNames` */
export function findSegments(
  files: OpenFiles,
  directory: string,
  nowMs: number,
  names = tidiedNames(files, directory),
): Segment[] {
  return segmentsOf(files, directory, segmentBases(names), nowMs)
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
 *
 * @returns whether there were any
 */
export function dropBelow(segments: Segment[], logStartOffset: number): boolean {
  const { length } = segments
  while (segments.length > 1 && segments[1].baseOffset <= logStartOffset) {
    segments[0].remove()
    segments.shift()
  }
  return segments.length < length
}

function isLeftOver(name: string, bases: ReadonlySet<number>): boolean {
  if (name.endsWith(deletedSuffix)) return true
  for (const suffix of [offsetIndexSuffix, timeIndexSuffix, transactionIndexSuffix]) {
    const base = baseOffsetOfName(name, suffix)
    if (base !== undefined && !bases.has(base)) return true
  }
  return false
}

/**
 * A compaction was ended by a crash when the segment that it made had its name, and those that it
 * replaces were still there: they lie within the new one, which ends where one of the next begins.
 * They are removed. A segment that only claims to reach so far is read and checked whole before.
 */
export function dropSuperseded(files: OpenFiles, segments: Segment[]): void {
  for (let at = 0; at + 1 < segments.length; at += 1) {
    const segment = segments[at]
    const next = segments[at + 1]
    if (next.baseOffset < endOffsetOf(files, segment, false)) {
      const end = endOffsetOf(files, segment, true)
      const follower = segments.findIndex(({ baseOffset }) => baseOffset === end)
      if (follower > at) for (const old of segments.splice(at + 1, follower - at - 1)) old.remove()
    }
    segment.closeFile()
  }
}

/** Where the data ends: from the last entry of the index, or from the start with all checks. */
function endOffsetOf(files: OpenFiles, segment: Segment, verify: boolean): number {
  const endPosition = segment.sizeBytes
  const indexed = verify ? 0 : segment.searchPosition(Number.MAX_SAFE_INTEGER)
  const startPosition = indexed < endPosition ? indexed : 0
  let end = segment.baseOffset
  scanSegment(files.fs, segment.fd, { startPosition, endPosition, verify }, (memory, position) => {
    end = nextOffsetAt(memory, position)
    return true
  })
  return end
}

/**
 * Of a file that is about to replace others.
 *
 * @throws {TidemarkError} CORRUPT_FILE when not all of it is whole
 */
function endOffsetOfFile(files: OpenFiles, path: string, baseOffset: number): number {
  const file = new OpenFile(path, 'read')
  const endPosition = files.fs.sizeOf(path) ?? 0
  const options = { startPosition: 0, endPosition, verify: true }
  let end = baseOffset
  const scan = scanSegment(files.fs, files.descriptor(file), options, (memory, position) => {
    end = nextOffsetAt(memory, position)
    return true
  })
  files.close(file)
  if (scan.fault === undefined && scan.position === endPosition) return end
  const detail = `${path} at ${scan.position}: ${scan.fault ?? 'bytes-cut'}`
  throw new TidemarkError('CORRUPT_FILE', detail)
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
