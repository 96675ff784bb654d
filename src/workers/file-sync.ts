/**
 * Syncs files for broker threads, which must not wait: of all brokers of the process one file at a
 * time, so that at most one thread of Node's pool is busy with it.
 */
import type { MessagePort } from 'node:worker_threads'
import { syncAll, syncOne } from '../log/file-sync.ts'
import type { SyncMessage } from './port-sync.ts'

let last: Promise<unknown> = Promise.resolve()

/** Answers requests on the port until it is closed. */
export function serveSyncs(port: MessagePort): void {
  port.on('message', (message: SyncMessage) => {
    const mine = last.then(() => syncAll(message, syncOne))
    last = mine
    void mine.then((outcome) => port.postMessage({ ...outcome, ticket: message.ticket }))
  })
}
