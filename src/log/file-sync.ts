/**
 * Syncs files by path, for those who must not wait for the disk.
 *
 * Any descriptor of a file will do: the system writes the file's pages, whoever made them dirty,
 * and reports a failed write to a descriptor that was opened after it too, unless somebody has been
 * told.
 */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { SyncOutcome, SyncRequest } from './background-flush.ts'
import { type FileSystem, realFileSystem } from './file-system.ts'
import { systemErrorCode } from './storage-error.ts'

export type SyncOne = (path: string, isDirectory: boolean) => Promise<void>

/** In order; ends at the first that cannot be synced. Never rejects. */
export async function syncAll(
  { files, directories }: SyncRequest,
  sync: SyncOne,
): Promise<Omit<SyncOutcome, 'ticket'>> {
  const absent: string[] = []
  const all = [...files, ...directories]
  for (const [at, path] of all.entries()) {
    try {
      await sync(path, at >= files.length)
    } catch (cause) {
      if (systemErrorCode(cause) === 'ENOENT') absent.push(path)
      else return { absent, failure: { path, message: String(cause) } }
    }
  }
  return { absent }
}

/** In a thread of Node's pool. */
export async function syncOne(path: string, isDirectory: boolean): Promise<void> {
  const handle = await open(path, constants.O_RDONLY)
  try {
    await (isDirectory ? handle.sync() : handle.datasync())
  } finally {
    await handle.close()
  }
}

/** The way for files of that system; one that isn't the real one is made to wait for. */
export function syncOneOf(fs: FileSystem): SyncOne {
  if (fs === realFileSystem) return syncOne
  return async (path, isDirectory) => {
    if (isDirectory) {
      fs.syncDirectory(path)
      return
    }
    const fd = fs.open(path, 'read')
    try {
      fs.dataSync(fd)
    } finally {
      fs.close(fd)
    }
  }
}
