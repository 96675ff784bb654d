/** A broker thread's way to have files synced elsewhere: requests and outcomes over a port. */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { SyncOutcome, SyncPort, SyncRequest } from '../log/background-flush.ts'

export interface SyncMessage extends SyncRequest {
  readonly ticket: number
}

/** How long `wait` sleeps: nobody wakes it. */
const waitMs = 2

export class PortSync implements SyncPort {
  readonly #port: MessagePort
  readonly #sleep = new Int32Array(new SharedArrayBuffer(4))

  constructor(port: MessagePort) {
    this.#port = port
  }

  begin(ticket: number, { files, directories }: SyncRequest): void {
    const message: SyncMessage = { ticket, files, directories }
    this.#port.postMessage(message)
  }

  take(): SyncOutcome | undefined {
    return receiveMessageOnPort(this.#port)?.message as SyncOutcome | undefined
  }

  wait(): void {
    Atomics.wait(this.#sleep, 0, 0, waitMs)
  }
}
