/** What a log does to drop its beginning: by age and size, or because it was asked to. */
import { TidemarkError } from '../../errors.ts'
import type { SegmentRow } from '../segment-row.ts'

export interface RetentionNow {
  readonly nowMs: number
  /** Nothing at or above is dropped. */
  readonly highWatermark: number
  /**
   * The log start as last written down. Then only segments below that go; for the rest the log
   * start is raised, and when it is written down the next call takes them. Without it they go at
   * once, and each waits until the disk knows that the one before is gone.
   */
  readonly writtenLogStart?: number
}

export interface RetainedRange extends RetentionNow {
  readonly logStartOffset: number
  readonly logEndOffset: number
}

export interface RetentionEffects {
  /** Ends the active segment: all have expired, and one must stay. */
  readonly roll: () => void
  /** Is told the first offset that is left, before any file goes. */
  readonly raiseStart: (offset: number) => void
}

/**
 * Drops segments that have expired. Returns how many went. Throws what the file system throws.
 */
export function dropExpired(
  row: SegmentRow,
  { logStartOffset, logEndOffset, nowMs, highWatermark, writtenLogStart }: RetainedRange,
  { roll, raiseStart }: RetentionEffects,
): number {
  const bounds = { nowMs, highWatermark, logStartOffset, logEndOffset }
  let count = row.expiredCount(bounds)
  if (count === 0) return 0
  if (count === row.count) roll()
  raiseStart(row.baseOffsetAt(count))
  if (writtenLogStart !== undefined) {
    while (count > 0 && row.baseOffsetAt(count) > writtenLogStart) count -= 1
  }
  row.retireFirst(count, writtenLogStart ?? -1)
  return count
}

/**
 * The log start that a request to delete records asks for; -1 stands for the high watermark (Kafka:
 * `Partition.deleteRecordsOnLeader`).
 *
 * @throws {TidemarkError} OFFSET_OUT_OF_RANGE for an offset above the high watermark
 */
export function requestedLogStart(offset: number, highWatermark: number): number {
  const start = offset === -1 ? highWatermark : offset
  if (Number.isSafeInteger(start) && start >= 0 && start <= highWatermark) return start
  throw new TidemarkError(
    'OFFSET_OUT_OF_RANGE',
    `delete records before ${offset}: allowed are -1 and 0 to ${highWatermark}, the high watermark`,
  )
}
