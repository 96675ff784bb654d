/** A directory belongs to one owner at a time, in this process and among all others. */
import path from 'node:path'
import { TidemarkError } from '../errors.ts'
import type { FileSystem } from './file-system.ts'
import { makeDirectoryDurably } from './make-directory.ts'
import { storageError } from './storage-error.ts'

export const lockFileName = '.lock'

/**
 * Makes the directory if need be, locks it, and lets `take` have it with the lock's descriptor;
 * when that fails, the lock is let go.
 *
 * @param what names the directory in errors
 * @throws {TidemarkError} DIRECTORY_IN_USE, KAFKA_STORAGE_ERROR, and what `take` throws
 */
export function lockDirectory<T>(
  fs: FileSystem,
  directory: string,
  what: string,
  take: (lockFd: number) => T,
): T {
  let lockFd = -1
  try {
    makeDirectoryDurably(fs, directory)
    lockFd = fs.open(path.join(directory, lockFileName), 'create')
    if (fs.tryLock(lockFd)) return take(lockFd)
    throw new TidemarkError(
      'DIRECTORY_IN_USE',
      `${what} ${directory} is in use by another process, or in this one`,
    )
  } catch (cause) {
    if (lockFd >= 0) fs.close(lockFd)
    throw storageError(`cannot open ${what}`, directory, cause)
  }
}
