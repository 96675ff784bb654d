/** Offsets that callers hand to a log: what is allowed, and what is said of others. */
import { TidemarkError } from '../errors.ts'

/** @throws {TidemarkError} INVALID_ARGUMENT */
export function checkTruncationOffset(offset: number): void {
  if (Number.isSafeInteger(offset) && offset >= 0) return
  throw new TidemarkError('INVALID_ARGUMENT', `cannot truncate to offset ${offset}`)
}

/** @throws {TidemarkError} OFFSET_OUT_OF_RANGE */
export function checkReadOffset(offset: number, startOffset: number, endOffset: number): void {
  if (offset >= startOffset && offset <= endOffset) return
  throw new TidemarkError(
    'OFFSET_OUT_OF_RANGE',
    `offset ${offset}: the log holds ${startOffset} to ${endOffset}`,
  )
}

/** @throws {TidemarkError} OFFSET_OUT_OF_RANGE */
export function checkLogStart(offset: number, endOffset: number): void {
  if (offset <= endOffset) return
  throw new TidemarkError(
    'OFFSET_OUT_OF_RANGE',
    `log start ${offset}: the log ends at ${endOffset}`,
  )
}
