/** What brokers did without an event: seen from the words of the board. */
import { partitionIndex } from '../../src/ids.ts'
import type { ProgressBoard } from '../../src/workers/progress-board.ts'
import type { Coverage } from './coverage.ts'
import type { SimulatedBroker } from './simulated-broker.ts'

/** Ends of logs that went back within a life. */
export class Truncations {
  readonly #board: ProgressBoard
  readonly #coverage: Coverage
  readonly #ends = new Map<string, number>()

  constructor(board: ProgressBoard, coverage: Coverage) {
    this.#board = board
    this.#coverage = coverage
  }

  /** After a step of the broker. */
  note({ id, incarnation }: SimulatedBroker, partitions: number): void {
    for (let partition = 0; partition < partitions; partition++) {
      const key = `${incarnation} ${id} ${partition}`
      const end = this.#board.logEndOffset(id, partitionIndex(partition))
      if (end < (this.#ends.get(key) ?? 0)) this.#coverage.count('truncated')
      this.#ends.set(key, end)
    }
  }
}

/** Adds up what brokers counted themselves; once, at the end of a history. */
export function noteTallies(
  board: ProgressBoard,
  brokers: readonly SimulatedBroker[],
  coverage: Coverage,
): void {
  for (const { id, life } of brokers) {
    life?.node.publishTally()
    coverage.count('attached', board.counter(id, 'attaches'))
    coverage.count('detached', board.counter(id, 'detaches'))
  }
}
