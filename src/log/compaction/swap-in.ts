/**
 * How a compacted segment takes its place, and what a crash may have left of that (Kafka:
 * `LocalLog.replaceSegments`, `LogLoader`).
 *
 * The new data takes the name of the first old segment by one rename: before it all is as it was,
 * after it all that the others hold is in the new one. The other old segments stay until the disk
 * knows of the rename. No offset or time index may be found beside data that it doesn't fit, so the
 * old ones go before and the new ones come after. The index of aborted transactions comes before:
 * what it lacks is transactions of which the old data has no batch either.
 */
import path from 'node:path'
import {
  cleanedSuffix,
  logSuffix,
  offsetIndexSuffix,
  segmentPath,
  segmentSuffixes,
  swapSuffix,
  timeIndexSuffix,
  transactionIndexSuffix,
} from '../file-names.ts'
import type { FileSystem } from '../file-system.ts'

/** Indexes that are made anew from the data when they are missing. */
const rebuiltSuffixes = [offsetIndexSuffix, timeIndexSuffix] as const

/** Throws what the file system throws. */
export function swapIn(fs: FileSystem, directory: string, baseOffset: number): void {
  const take = (suffix: string) => {
    const file = segmentPath(directory, baseOffset, suffix)
    if (fs.sizeOf(file + cleanedSuffix) !== undefined) fs.rename(file + cleanedSuffix, file)
  }
  take(transactionIndexSuffix)
  for (const suffix of rebuiltSuffixes) fs.remove(segmentPath(directory, baseOffset, suffix))
  take(logSuffix)
  for (const suffix of rebuiltSuffixes) take(suffix)
}

/** What a job made and nobody took; the data last, so that a crash leaves no index alone. */
export function removeCleaned(fs: FileSystem, directory: string): void {
  const names = (fs.list(directory) ?? []).filter((name) => name.endsWith(cleanedSuffix))
  if (names.length === 0) return
  const isData = (name: string) => name.endsWith(logSuffix + cleanedSuffix)
  for (const name of names) if (!isData(name)) fs.remove(path.join(directory, name))
  fs.syncDirectory(directory)
  for (const name of names) if (isData(name)) fs.remove(path.join(directory, name))
}

/**
 * What a crash left of a compaction: data that is still called `.cleaned` was not taken, and goes
 * with all that belongs to it; where it is gone it was taken, and its indexes are brought after it.
 * Data and indexes were on disk before, and the data's name before those of the indexes.
 *
 * Returns whether there was anything.
 */
export function settleCleaned(
  fs: FileSystem,
  directory: string,
  names: readonly string[],
): boolean {
  const cleaned = names.filter((name) => name.endsWith(cleanedSuffix))
  if (cleaned.length === 0) return false
  const waiting = cleaned.filter((name) => name.endsWith(logSuffix + cleanedSuffix))
  const bases = new Set(waiting.map(leadingOffset))
  for (const name of cleaned) {
    if (waiting.includes(name)) continue
    const file = path.join(directory, name)
    if (bases.has(leadingOffset(name))) fs.remove(file)
    else fs.rename(file, file.slice(0, -cleanedSuffix.length))
  }
  for (const base of bases) {
    for (const suffix of rebuiltSuffixes) {
      const index = segmentPath(directory, base, suffix)
      // It may have its name already, without the data.
      if (!cleaned.includes(path.basename(index) + cleanedSuffix)) fs.remove(index)
    }
  }
  // Indexes alone would be taken for those of data that has its name already.
  fs.syncDirectory(directory)
  for (const name of waiting) fs.remove(path.join(directory, name))
  return true
}

/**
 * Completes a swap that Apache Kafka was about to make when it ended: segments under names that end
 * in `.swap` are whole. What lies in their range is what they replace. A swap at or above the first
 * file that ends in `.cleaned` was one of several that belong together, and is taken back.
 *
 * `endOf` tells where the data of a file ends. Returns whether anything was changed.
 */
export function completeSwaps(
  fs: FileSystem,
  directory: string,
  names: readonly string[],
  endOf: (path: string, baseOffset: number) => number,
): boolean {
  const swaps = names.filter((name) => name.endsWith(swapSuffix))
  if (swaps.length === 0) return false
  const cleaned = names.filter((name) => name.endsWith(cleanedSuffix)).map(leadingOffset)
  const cleanedFrom = Math.min(...cleaned, Number.POSITIVE_INFINITY)
  const valid = swaps.filter((name) => leadingOffset(name) < cleanedFrom)
  for (const name of swaps) {
    if (!valid.includes(name)) fs.remove(path.join(directory, name))
  }
  let from = Number.POSITIVE_INFINITY
  let until = Number.NEGATIVE_INFINITY
  for (const name of valid) {
    if (!name.endsWith(logSuffix + swapSuffix)) continue
    const base = leadingOffset(name)
    from = Math.min(from, base)
    until = Math.max(until, endOf(path.join(directory, name), base))
  }
  for (const name of names) {
    const base = leadingOffset(name)
    const isOld = segmentSuffixes.some((suffix) => name.endsWith(suffix))
    if (isOld && base >= from && base < until) fs.remove(path.join(directory, name))
  }
  // After what they replace is gone from the disk as well: one beside the other is no log.
  fs.syncDirectory(directory)
  for (const name of valid) {
    const swap = path.join(directory, name)
    fs.rename(swap, swap.slice(0, -swapSuffix.length))
  }
  return true
}

/** Infinity: the name doesn't begin with an offset. */
function leadingOffset(name: string): number {
  const digits = /^\d{20}(?=\.)/.exec(name)?.[0]
  return digits === undefined ? Number.POSITIVE_INFINITY : Number(digits)
}
