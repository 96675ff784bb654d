/** Tells a failure of a broker's own disk from everything else that can be thrown. */
import { isTidemarkError, TidemarkError } from '../errors.ts'

/**
 * The error as a KAFKA_STORAGE_ERROR if the disk is what failed; undefined if it is something else,
 * a broken promise of ours among them.
 */
export function diskFailureOf(error: unknown): TidemarkError | undefined {
  if (isTidemarkError(error, 'KAFKA_STORAGE_ERROR')) return error
  if (!(error instanceof Error) || isTidemarkError(error)) return undefined
  // Node's error of a system call that failed.
  if (!('syscall' in error) || !('errno' in error)) return undefined
  return new TidemarkError('KAFKA_STORAGE_ERROR', { detail: error.message, cause: error })
}
