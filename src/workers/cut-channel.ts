/**
 * CutChannel: a channel that can be cut, each direction alone. What is sent or comes meanwhile
 * waits, in order, and gets through when the cut is mended: as in a connection that stalls.
 */
import type { Channel } from './channel.ts'
import { cut } from './fault-words.ts'

export class CutChannel<Send, Receive> implements Channel<Send, Receive> {
  readonly #channel: Channel<Send, Receive>
  readonly #cutBits: () => number
  #held: Send[] = []

  /** @param cutBits what is cut now: `cut.requests` is what this end sends */
  constructor(channel: Channel<Send, Receive>, cutBits: () => number) {
    this.#channel = channel
    this.#cutBits = cutBits
  }

  send(message: Send): void {
    if (this.#release()) this.#channel.send(message)
    else this.#held.push(message)
  }

  receive(): Receive | undefined {
    this.#release()
    return (this.#cutBits() & cut.responses) === 0 ? this.#channel.receive() : undefined
  }

  /** @returns whether messages get out */
  #release(): boolean {
    if ((this.#cutBits() & cut.requests) !== 0) return false
    for (const message of this.#held.splice(0)) this.#channel.send(message)
    return true
  }
}
