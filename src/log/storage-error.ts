/** Turns an operating system's error into ours. */
import { isTidemarkError, TidemarkError } from '../errors.ts'

/** A KAFKA_STORAGE_ERROR that says what failed on which path; one of ours passes as it is. */
export function storageError(action: string, path: string, cause: unknown): TidemarkError {
  if (isTidemarkError(cause)) return cause
  const why = cause instanceof Error ? cause.message : String(cause)
  return new TidemarkError('KAFKA_STORAGE_ERROR', { detail: `${action} ${path}: ${why}`, cause })
}

/** The system's name of an error (`ENOENT`), or an empty text. */
export function systemErrorCode(cause: unknown): string {
  if (!(cause instanceof Error) || !('code' in cause)) return ''
  return typeof cause.code === 'string' ? cause.code : ''
}
