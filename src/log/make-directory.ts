/** Directories whose own entries in their parents outlive a loss of power. */
import path from 'node:path'
import type { FileSystem } from './file-system.ts'

/**
 * Makes a directory, and those above it that are missing, and waits until the disk has the entry of
 * each. One that is there already is synced into its parent too: whoever made it may have been
 * killed before it could.
 */
export function makeDirectoryDurably(fs: FileSystem, directory: string): void {
  const parents = [path.dirname(directory)]
  while (!fs.isDirectory(parents.at(-1)!)) parents.push(path.dirname(parents.at(-1)!))
  fs.makeDirectory(directory)
  for (const parent of parents.reverse()) fs.syncDirectory(parent)
}
