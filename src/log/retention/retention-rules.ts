/**
 * Which segments a log may drop (Kafka: `UnifiedLog.deleteOldSegments`). Pure: the oldest first,
 * and it ends at the first that does not qualify; a rule each for log start, size and age.
 */
import type { LogConfig } from '../log-config.ts'

/** What the rules look at; a `Segment` is one. */
export interface AgedSegment {
  readonly baseOffset: number
  readonly sizeBytes: number
  /** Newest record, or when the file was last written if no record has a time. */
  largestTimestampMs(): number
}

export interface RetentionBounds {
  readonly nowMs: number
  /** Nothing at or above is dropped: it isn't committed. */
  readonly highWatermark: number
  readonly logStartOffset: number
  readonly logEndOffset: number
}

type RetentionConfig = Pick<LogConfig, 'deletes' | 'retentionMs' | 'retentionBytes'>

/**
 * How many of the ascending `segments`, counted from the oldest, have expired. All: the last one,
 * which isn't empty then, must be rolled first.
 */
export function expiredSegmentCount(
  segments: readonly AgedSegment[],
  config: RetentionConfig,
  bounds: RetentionBounds,
): number {
  const { nowMs, logStartOffset } = bounds
  let count = droppable(segments, 0, bounds, (_, endOffset, isLast) => {
    return !isLast && endOffset <= logStartOffset
  })
  if (!config.deletes) return count
  if (config.retentionBytes >= 0) {
    let excess = -config.retentionBytes
    for (let at = count; at < segments.length; at += 1) excess += segments[at].sizeBytes
    count = droppable(segments, count, bounds, ({ sizeBytes }) => {
      excess -= sizeBytes
      return excess >= 0
    })
  }
  if (config.retentionMs >= 0) {
    count = droppable(segments, count, bounds, (segment) => {
      return nowMs - segment.largestTimestampMs() > config.retentionMs
    })
  }
  return count
}

/** Goes on from `first` for as long as segments are committed whole and `expires` says so. */
function droppable(
  segments: readonly AgedSegment[],
  first: number,
  { highWatermark, logEndOffset }: RetentionBounds,
  expires: (segment: AgedSegment, endOffset: number, isLast: boolean) => boolean,
): number {
  let count = first
  for (; count < segments.length; count += 1) {
    const segment = segments[count]
    const isLast = count === segments.length - 1
    const endOffset = isLast ? logEndOffset : segments[count + 1].baseOffset
    if (highWatermark < endOffset || (isLast && segment.sizeBytes === 0)) break
    if (!expires(segment, endOffset, isLast)) break
  }
  return count
}
