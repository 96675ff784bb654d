/**
 * Lets the disk finish what it still has to write, so that the next measurement begins with none of
 * it.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Where the system has no `sync` that takes a file system, nothing is waited for. */
export async function settleDisk(directory: string): Promise<void> {
  try {
    await promisify(execFile)('sync', ['-f', directory])
  } catch {
    // A figure with some write-back in it is still a figure.
  }
}
