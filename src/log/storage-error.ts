/** Turns an operating system's error into ours. */
import { isTidemarkError, TidemarkError } from '../errors.ts'
import { InvariantViolation } from '../invariant.ts'

/**
 * A KAFKA_STORAGE_ERROR that says what failed on which path; one of ours passes as it is.
 *
 * @throws the cause itself if it is a mistake in a program and no disk is to blame: a broken
 *   promise, or what JavaScript throws at a wrong use of a value or of a call.
 */
export function storageError(action: string, path: string, cause: unknown): TidemarkError {
  if (isMistake(cause)) throw cause
  if (isTidemarkError(cause)) return cause
  const why = cause instanceof Error ? cause.message : String(cause)
  return new TidemarkError('KAFKA_STORAGE_ERROR', { detail: `${action} ${path}: ${why}`, cause })
}

/** The system's name of an error (`ENOENT`), or an empty text. */
export function systemErrorCode(cause: unknown): string {
  if (!(cause instanceof Error) || !('code' in cause)) return ''
  return typeof cause.code === 'string' ? cause.code : ''
}

function isMistake(cause: unknown): boolean {
  const isOfLanguage =
    cause instanceof TypeError || cause instanceof RangeError || cause instanceof ReferenceError
  return isOfLanguage || cause instanceof InvariantViolation
}
