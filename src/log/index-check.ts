/**
 * Whether the index files of a complete segment belong to its data, for a few reads and without
 * walking it. Entries have no checksum: they must ascend within the segment, the last of each file
 * must be what its batch says, and after the last no batch may lie that should have one.
 */
import { baseOffsetAt, lastOffsetAt, maxTimestampAt } from './batch-header.ts'
import type { LogConfig } from './log-config.ts'
import type { Segment } from './segment.ts'

/** Leaves the files' entries in the segment's memory. */
export function indexesFit(segment: Segment, { indexIntervalBytes }: LogConfig): boolean {
  const { indexes, sizeBytes } = segment
  if (!indexes.load(sizeBytes) || !lastTimeFits(segment)) return false
  if (!endFits(segment, indexIntervalBytes)) return false
  // Each offset entry comes with one of time, unless there is no time at all.
  return indexes.timeEntries > 0 || indexes.offsetEntries === 0 || indexes.maxTimestampMs < 0
}

function lastTimeFits(segment: Segment): boolean {
  const { timeEntries, maxTimestampMs, maxTimestampOffset } = segment.indexes
  if (timeEntries === 0) return true
  let fits = false
  segment.walk(segment.positionOf(maxTimestampOffset), (memory, position) => {
    const holds =
      baseOffsetAt(memory, position) <= maxTimestampOffset &&
      lastOffsetAt(memory, position) >= maxTimestampOffset
    fits = holds && maxTimestampAt(memory, position) === maxTimestampMs
    return false
  })
  return fits
}

function endFits(segment: Segment, intervalBytes: number): boolean {
  const { indexes, sizeBytes } = segment
  const start = indexes.lastPosition
  let expected = indexes.lastIndexedOffset
  let nextOffset = segment.baseOffset
  let fits = true
  const { position: end } = segment.walk(start, (memory, position, filePosition) => {
    const lastOffset = lastOffsetAt(memory, position)
    fits =
      (expected ?? lastOffset) === lastOffset &&
      baseOffsetAt(memory, position) >= nextOffset &&
      filePosition - start <= intervalBytes
    expected = undefined
    nextOffset = lastOffset + 1
    indexes.see(lastOffset, maxTimestampAt(memory, position))
    return fits
  })
  return fits && expected === undefined && end === sizeBytes
}
