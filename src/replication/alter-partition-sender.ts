/**
 * Carries ISR proposals to the controller: at most one request under way, at most one item a
 * partition, everything submitted meanwhile goes together into the next request (Kafka:
 * `AlterPartitionManager`).
 *
 * Items stay until their answer comes; new metadata doesn't remove them (KAFKA-12686), so an
 * answer can never be taken for that of another proposal. No time limit on a request: a lost one
 * is sent again when the transport says so.
 */
import type { BrokerEpoch, BrokerId, PartitionIndex } from '../ids.ts'
import type {
  AlterPartitionItem,
  AlterPartitionItemResult,
  AlterPartitionRequest,
  AlterPartitionResponse,
} from './messages.ts'

/** Pause after an error of the whole request. */
const alterPartitionRetryMs = 50

export interface ProposalReceiver {
  /**
   * The item has left the sender when this is called, so that it may be submitted again at once.
   */
  proposalAnswered(item: AlterPartitionItem, result: AlterPartitionItemResult, nowMs: number): void
}

export class AlterPartitionSender {
  readonly #unsent = new Map<PartitionIndex, AlterPartitionItem>()
  #inFlight: AlterPartitionRequest | undefined
  #correlationId = 0
  #notBeforeMs = 0

  /** Proposals without an answer. */
  get size(): number {
    return this.#unsent.size
  }

  has(partition: PartitionIndex): boolean {
    return this.#unsent.has(partition)
  }

  /**
   * False (Kafka: OPERATION_NOT_ATTEMPTED) while another item of that partition has no answer yet.
   */
  trySubmit(item: AlterPartitionItem): boolean {
    if (this.#unsent.has(item.partition)) return false
    this.#unsent.set(item.partition, item)
    return true
  }

  /** The next request, when there is something to send, none is under way, and no pause is on. */
  takeRequest(
    brokerId: BrokerId,
    brokerEpoch: () => BrokerEpoch,
    nowMs: number,
  ): AlterPartitionRequest | undefined {
    if (this.#unsent.size === 0 || this.#inFlight !== undefined) return undefined
    if (nowMs < this.#notBeforeMs) return undefined
    this.#correlationId += 1
    this.#inFlight = {
      type: 'alterPartition',
      correlationId: this.#correlationId,
      brokerId,
      brokerEpoch: brokerEpoch(),
      items: [...this.#unsent.values()],
    }
    return this.#inFlight
  }

  /**
   * Hands each answered item to the receiver. Items that the response left out stay for the next
   * request. So does an item refused with NOT_CONTROLLER: whoever answered is not, or not yet, as
   * far as we are (KAFKA-14154), and Kafka's channel would carry the request to the next
   * controller unseen.
   *
   * @returns false for a response that is not that of the request under way (late or repeated).
   */
  onResponse(response: AlterPartitionResponse, receiver: ProposalReceiver, nowMs: number): boolean {
    const request = this.#inFlight
    if (request === undefined || request.correlationId !== response.correlationId) return false
    if (response.error !== 'NONE') {
      this.#inFlight = undefined
      this.#notBeforeMs = nowMs + alterPartitionRetryMs
      return true
    }
    const results = new Map(response.items.map((result) => [result.partition, result]))
    for (const item of request.items) {
      const result = results.get(item.partition)
      if (result === undefined) continue
      if (result.error === 'NOT_CONTROLLER') {
        this.#notBeforeMs = nowMs + alterPartitionRetryMs
        continue
      }
      this.#unsent.delete(item.partition)
      receiver.proposalAnswered(item, result, nowMs)
    }
    this.#inFlight = undefined
    return true
  }

  /**
   * The request or its response may be lost: everything unanswered is sent again, after the pause.
   */
  onConnectionLost(nowMs: number): void {
    if (this.#inFlight === undefined) return
    this.#inFlight = undefined
    this.#notBeforeMs = nowMs + alterPartitionRetryMs
  }
}
