/**
 * What of a log a compaction should work on, and whether it is worth it (Kafka:
 * `LogCleanerManager`). Pure.
 */
import type { LogConfig } from '../log-config.ts'

/** What the rules look at; a `Segment` is one. */
export interface CleanableSegment {
  readonly baseOffset: number
  readonly sizeBytes: number
  /** Newest record. */
  largestTimestampMs(): number
  /** Newest of the first batch; -1: unknown. */
  firstTimestampMs(): number
}

export interface CleanableLog {
  /** Ascending; the last is the one written to, and never compacted. */
  readonly segments: readonly CleanableSegment[]
  readonly logStartOffset: number
  readonly logEndOffset: number
  /** Where the last compaction ended; undefined: there was none that anybody knows of. */
  readonly cleanedOffset: number | undefined
  /** Nothing at or above is compacted. */
  readonly lastStableOffset: number
  readonly nowMs: number
}

export interface CleanableRange {
  readonly firstDirtyOffset: number
  /** A segment's base. */
  readonly firstUncleanableOffset: number
  readonly cleanBytes: number
  readonly dirtyBytes: number
  /** A record has waited for longer than `max.compaction.lag.ms`. */
  readonly isOverdue: boolean
}

export function cleanableRange(log: CleanableLog, config: LogConfig): CleanableRange {
  const { segments } = log
  const firstDirtyOffset = dirtyFrom(log)
  const bound = Math.max(firstDirtyOffset, uncleanableFrom(log, config, firstDirtyOffset))
  const firstUncleanableOffset = floorBase(segments, bound)
  let cleanBytes = 0
  let dirtyBytes = 0
  // The segment that holds the first dirty offset counts as dirty.
  const firstDirtyBase = floorBase(segments, Math.min(firstDirtyOffset, firstUncleanableOffset))
  for (const { baseOffset, sizeBytes } of segments) {
    if (baseOffset < firstDirtyBase) cleanBytes += sizeBytes
    else if (baseOffset < firstUncleanableOffset) dirtyBytes += sizeBytes
  }
  const isOverdue = isAnyOverdue(log, config, firstDirtyOffset)
  return { firstDirtyOffset, firstUncleanableOffset, cleanBytes, dirtyBytes, isOverdue }
}

/** Share of the bytes that no compaction has seen; 0: there is nothing to compact. */
export function dirtyRatio({ cleanBytes, dirtyBytes }: CleanableRange): number {
  return dirtyBytes === 0 ? 0 : dirtyBytes / (cleanBytes + dirtyBytes)
}

export function isWorthCleaning(range: CleanableRange, config: LogConfig): boolean {
  if (range.dirtyBytes === 0) return false
  return range.isOverdue || dirtyRatio(range) > config.minCleanableDirtyRatio
}

/** A checkpoint outside of the log is of another life: all has to be looked at. */
function dirtyFrom({ cleanedOffset, logStartOffset, logEndOffset }: CleanableLog): number {
  if (cleanedOffset === undefined || cleanedOffset > logEndOffset) return logStartOffset
  return Math.max(cleanedOffset, logStartOffset)
}

function uncleanableFrom(log: CleanableLog, config: LogConfig, firstDirtyOffset: number): number {
  const { segments, lastStableOffset, nowMs } = log
  const active = segments[segments.length - 1]
  const bound = Math.min(lastStableOffset, active.baseOffset)
  const { minCompactionLagMs } = config
  if (minCompactionLagMs === 0) return bound
  const young = dirtySegments(segments, firstDirtyOffset).find(
    (segment) => segment.largestTimestampMs() > nowMs - minCompactionLagMs,
  )
  return young === undefined ? bound : Math.min(bound, young.baseOffset)
}

function isAnyOverdue(log: CleanableLog, config: LogConfig, firstDirtyOffset: number): boolean {
  const until = log.nowMs - config.maxCompactionLagMs
  if (until <= 0) return false
  return dirtySegments(log.segments, firstDirtyOffset).some((segment) => {
    const firstMs = segment.firstTimestampMs()
    return firstMs > 0 && firstMs < until
  })
}

/** Those that are not written to any more, from the one on that holds the offset. */
function dirtySegments(
  segments: readonly CleanableSegment[],
  firstDirtyOffset: number,
): readonly CleanableSegment[] {
  const from = floorBase(segments, firstDirtyOffset)
  return segments.slice(0, -1).filter(({ baseOffset }) => baseOffset >= from)
}

/** Base of the segment that holds the offset, or the first one's. */
function floorBase(segments: readonly CleanableSegment[], offset: number): number {
  const holder = segments.findLast(({ baseOffset }) => baseOffset <= offset)
  return (holder ?? segments[0]).baseOffset
}

export interface GroupedSegment {
  readonly baseOffset: number
  readonly sizeBytes: number
  readonly offsetIndexBytes: number
  readonly timeIndexBytes: number
  /** Exclusive: where the next segment begins. */
  readonly endOffset: number
}

const int32Max = 0x7fff_ffff

/**
 * Which neighbours become one segment: as many as fit by size, index and offset range (Kafka:
 * `Cleaner.groupSegmentsBySize`).
 */
export function groupSegments<T extends GroupedSegment>(
  segments: readonly T[],
  { segmentBytes, segmentIndexBytes }: Pick<LogConfig, 'segmentBytes' | 'segmentIndexBytes'>,
): T[][] {
  const groups: T[][] = []
  let sizeBytes = 0
  let offsetIndexBytes = 0
  let timeIndexBytes = 0
  for (const segment of segments) {
    const group = groups.at(-1)
    sizeBytes += segment.sizeBytes
    offsetIndexBytes += segment.offsetIndexBytes
    timeIndexBytes += segment.timeIndexBytes
    const fits =
      group !== undefined &&
      sizeBytes <= segmentBytes &&
      offsetIndexBytes <= segmentIndexBytes &&
      timeIndexBytes <= segmentIndexBytes &&
      segment.endOffset - 1 - group[0].baseOffset <= int32Max
    if (fits) {
      group.push(segment)
      continue
    }
    groups.push([segment])
    sizeBytes = segment.sizeBytes
    offsetIndexBytes = segment.offsetIndexBytes
    timeIndexBytes = segment.timeIndexBytes
  }
  return groups
}
