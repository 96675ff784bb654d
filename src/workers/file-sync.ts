/**
 * Syncs files by path for threads that must not wait: of all brokers of the process one file at a
 * time, so that at most one thread of Node's pool is busy with it.
 *
 * Any descriptor of a file will do: the system writes the file's pages, whoever made them dirty,
 * and reports a failed write to a descriptor that was opened after it too, unless somebody has been
 * told.
 */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { MessagePort } from 'node:worker_threads'
import type { SyncOutcome, SyncRequest } from '../log/background-flush.ts'
import { systemErrorCode } from '../log/storage-error.ts'
import type { SyncMessage } from './port-sync.ts'

export type SyncOne = (path: string, isDirectory: boolean) => Promise<void>

let last: Promise<unknown> = Promise.resolve()

/** Answers requests on the port until it is closed. */
export function serveSyncs(port: MessagePort): void {
  port.on('message', (message: SyncMessage) => {
    const mine = last.then(() => syncAll(message, syncOne))
    last = mine
    void mine.then((outcome) => port.postMessage({ ...outcome, ticket: message.ticket }))
  })
}

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

async function syncOne(path: string, isDirectory: boolean): Promise<void> {
  const handle = await open(path, constants.O_RDONLY)
  try {
    await (isDirectory ? handle.sync() : handle.datasync())
  } finally {
    await handle.close()
  }
}
