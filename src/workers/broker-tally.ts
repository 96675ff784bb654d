/** A broker's counters: plain numbers while it works, stored into the board once a step. */
import type { BrokerId } from '../ids.ts'
import type { ProgressBoard } from './progress-board.ts'
import { type BrokerCounter, brokerCounters } from './progress-board-layout.ts'

export class BrokerTally {
  readonly #board: ProgressBoard
  readonly #brokerId: BrokerId
  readonly #values: Record<BrokerCounter, number>
  readonly #stored: Record<BrokerCounter, number>

  /** Goes on from what an earlier thread of this broker had counted. */
  constructor(board: ProgressBoard, brokerId: BrokerId) {
    this.#board = board
    this.#brokerId = brokerId
    const entries = brokerCounters.map((name) => [name, board.counter(brokerId, name)] as const)
    this.#values = Object.fromEntries(entries) as Record<BrokerCounter, number>
    this.#stored = { ...this.#values }
  }

  add(name: BrokerCounter, amount: number): void {
    this.#values[name] += amount
  }

  set(name: BrokerCounter, value: number): void {
    this.#values[name] = value
  }

  value(name: BrokerCounter): number {
    return this.#values[name]
  }

  publish(): void {
    for (const name of brokerCounters) {
      const value = this.#values[name]
      if (value === this.#stored[name]) continue
      this.#stored[name] = value
      this.#board.setCounter(this.#brokerId, name, value)
    }
  }
}
