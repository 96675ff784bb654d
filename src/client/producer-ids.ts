/**
 * Producer ids for the producers of this process, out of blocks that the controller gave out
 * (Kafka: RPCProducerIdManager). An id is used once: a new producer is nobody's successor.
 */
import type { AllocateProducerIdsResponse } from '../replication/messages.ts'

type Allocate = () => Promise<AllocateProducerIdsResponse>

export class ProducerIds {
  readonly #allocate: Allocate
  #next = 0
  #end = 0
  #pending: Promise<void> | undefined

  /** @param allocate asks the controller for a block */
  constructor(allocate: Allocate) {
    this.#allocate = allocate
  }

  /** @throws {TidemarkError} what the controller answers; NETWORK_EXCEPTION; BROKER_CLOSED */
  async next(): Promise<number> {
    while (this.#next === this.#end) {
      this.#pending ??= this.#takeBlock()
      await this.#pending
    }
    this.#next += 1
    return this.#next - 1
  }

  async #takeBlock(): Promise<void> {
    try {
      const { producerIdStart, producerIdCount } = await this.#allocate()
      this.#next = producerIdStart
      this.#end = producerIdStart + producerIdCount
    } finally {
      this.#pending = undefined
    }
  }
}
