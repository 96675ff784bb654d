/**
 * Channel: messages between two threads, taken when the receiver asks. Across threads it is a
 * MessagePort read synchronously; in one thread (tests, simulation) a pair of arrays.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'

export interface Channel<Send, Receive> {
  send(message: Send): void
  /** The next message that has come, if any. */
  receive(): Receive | undefined
}

export class PortChannel<Send, Receive> implements Channel<Send, Receive> {
  readonly #port: MessagePort
  readonly #onSent: () => void

  /** @param onSent wakes the receiver; called when the message is already there */
  constructor(port: MessagePort, onSent: () => void) {
    this.#port = port
    this.#onSent = onSent
  }

  send(message: Send): void {
    this.#port.postMessage(message)
    this.#onSent()
  }

  receive(): Receive | undefined {
    return receiveMessageOnPort(this.#port)?.message as Receive | undefined
  }
}

/** Two ends of a channel within one thread. */
export function localChannel<A, B>(): [Channel<A, B>, Channel<B, A>] {
  const toRight: A[] = []
  const toLeft: B[] = []
  return [
    { send: (message) => toRight.push(message), receive: () => toLeft.shift() },
    { send: (message) => toLeft.push(message), receive: () => toRight.shift() },
  ]
}
