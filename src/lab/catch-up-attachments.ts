/**
 * CatchUpAttachments: notes when a leader sends a follower to the disk, and when it takes it back.
 */
import type { Cluster } from '../cluster.ts'
import type { CatchUpEvents } from './catch-up-events.ts'

export class CatchUpAttachments {
  readonly #cluster: Cluster
  readonly #events: CatchUpEvents
  #attaches = 0
  #detaches = 0

  constructor(cluster: Cluster, events: CatchUpEvents) {
    this.#cluster = cluster
    this.#events = events
  }

  /** What changed since the last call. The first attachments of all are no news. */
  note(nowMs: number): void {
    const { board, brokerIds } = this.#cluster
    let attaches = 0
    let detaches = 0
    for (const id of brokerIds) {
      attaches += board.counter(id, 'attaches')
      detaches += board.counter(id, 'detaches')
    }
    if (detaches > this.#detaches) {
      this.#events.note(
        nowMs,
        'leader',
        'detached a follower from the ring',
        'it stood still or held too much of the ring; its space goes back to the producers',
      )
    }
    if (attaches > this.#attaches && this.#attaches > 0) {
      this.#events.note(
        nowMs,
        'leader',
        'attached a follower to the ring',
        'what is published from now on reaches it in memory; what came before it reads from disk',
      )
    }
    this.#attaches = attaches
    this.#detaches = detaches
  }
}
