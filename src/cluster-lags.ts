/** ClusterLags: asks every leader how far its followers are behind, for whoever scrapes metrics. */
import type { BrokerId } from './ids.ts'
import type { LagTableBuffers } from './workers/lag-table.ts'
import { type LagReport, LagTable } from './workers/lag-table.ts'
import { brokerState, type ProgressBoard } from './workers/progress-board.ts'

/** A leader that hasn't answered by then is frozen, or busier than a scrape may wait for. */
const answerMsMax = 100

export class ClusterLags {
  readonly #board: ProgressBoard
  readonly #tables = new Map<BrokerId, LagTable>()
  #open: Promise<Map<BrokerId, LagReport>> | undefined

  constructor(board: ProgressBoard, buffers: LagTableBuffers) {
    this.#board = board
    for (let id = 1; id <= buffers.brokers; id += 1) {
      this.#tables.set(id as BrokerId, new LagTable(buffers, id as BrokerId))
    }
  }

  /** Reports of the leaders that answered. Whoever asks meanwhile gets the same. */
  read(): Promise<Map<BrokerId, LagReport>> {
    this.#open ??= this.#ask().finally(() => {
      this.#open = undefined
    })
    return this.#open
  }

  async #ask(): Promise<Map<BrokerId, LagReport>> {
    const asked = new Map<BrokerId, number>()
    for (const [id, table] of this.#tables) {
      if (this.#board.state(id) !== brokerState.running) continue
      asked.set(id, table.request())
      this.#board.wakeBroker(id)
    }
    const reports = new Map<BrokerId, LagReport>()
    for (const deadline = performance.now() + answerMsMax; ; ) {
      for (const [id, request] of asked) {
        const table = this.#tables.get(id)!
        if (!table.isServed(request)) continue
        reports.set(id, table.read())
        asked.delete(id)
      }
      if (asked.size === 0 || performance.now() > deadline) return reports
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
}
