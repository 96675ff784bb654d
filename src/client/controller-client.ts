/**
 * ControllerClient: the application's connection to the controller: requests answered by promises,
 * and a metadata image that follows the controller's log.
 */
import type { MessagePort } from 'node:worker_threads'
import { TidemarkError } from '../errors.ts'
import { MetadataImage } from '../replication/controller/metadata-image.ts'
import type {
  AdminRequest,
  AdminResponse,
  AllocateProducerIdsRequest,
  AllocateProducerIdsResponse,
  ControllerRequest,
  ControllerResponse,
  CreateTopicRequest,
  CreateTopicResponse,
  PartitionResult,
} from '../replication/messages.ts'
import { ProducerIds } from './producer-ids.ts'

type Answer = CreateTopicResponse | AdminResponse | AllocateProducerIdsResponse
type Question = AdminRequest | CreateTopicRequest | AllocateProducerIdsRequest
type Uncorrelated<R> = R extends unknown ? Omit<R, 'correlationId'> : never

interface Waiting {
  readonly resolve: (response: Answer) => void
  readonly reject: (error: TidemarkError) => void
}

export class ControllerClient {
  readonly image = new MetadataImage()
  /** For the producers of this process. */
  readonly producerIds = new ProducerIds(() => this.#allocateProducerIds())
  #port: MessagePort
  readonly #wake: () => void
  readonly #waiting = new Map<number, Waiting>()
  #isClosed = false
  #correlationId = 0

  /** @param wake tells the controller that there is something to read */
  constructor(port: MessagePort, wake: () => void) {
    this.#port = port
    this.#wake = wake
    this.#listen()
  }

  /** The connection to another controller over the same log; the image goes on from where it is. */
  reconnect(port: MessagePort): void {
    this.#port.close()
    this.#port = port
    const detail = 'the controller went away: whether the request was carried out is not known'
    this.#rejectAll(new TidemarkError('NETWORK_EXCEPTION', detail))
    this.#listen()
  }

  #listen(): void {
    const port = this.#port
    port.on('message', (message: ControllerResponse) => {
      // What a controller that is gone has still to say would be told twice.
      if (port === this.#port) this.#take(message)
    })
    this.#send({ type: 'subscribeMetadata', fromOffset: this.image.endOffset })
  }

  /** @throws {TidemarkError} what the controller answers, for example TOPIC_ALREADY_EXISTS */
  async createTopic(
    request: Omit<CreateTopicRequest, 'type' | 'correlationId'>,
  ): Promise<CreateTopicResponse> {
    return (await this.#ask({ ...request, type: 'createTopic' })) as CreateTopicResponse
  }

  /**
   * Results of each partition that the request names; they may have errors of their own.
   *
   * @throws {TidemarkError} what the controller answers to the request as a whole;
   *   NETWORK_EXCEPTION when it went away: whether anything was done is not known
   */
  async administer(request: Uncorrelated<AdminRequest>): Promise<readonly PartitionResult[]> {
    return ((await this.#ask(request)) as AdminResponse).results
  }

  async #allocateProducerIds(): Promise<AllocateProducerIdsResponse> {
    const answer = await this.#ask({ type: 'allocateProducerIds' })
    return answer as AllocateProducerIdsResponse
  }

  async #ask(request: Uncorrelated<Question>): Promise<Answer> {
    if (this.#isClosed) throw closedError()
    const correlationId = ++this.#correlationId
    const response = await new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(correlationId, { resolve, reject })
      this.#send({ ...request, correlationId })
    })
    if (response.error !== 'NONE') throw new TidemarkError(response.error, response.detail)
    return response
  }

  close(): void {
    this.#port.close()
    this.#isClosed = true
    this.#rejectAll(closedError())
  }

  #rejectAll(error: TidemarkError): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  #send(request: ControllerRequest): void {
    this.#port.postMessage(request)
    this.#wake()
  }

  #take(message: ControllerResponse): void {
    if (message.type === 'metadataUpdate') {
      this.image.replayAll(message.baseOffset, message.records)
    } else if (message.type === 'metadataSnapshot') {
      this.image.load(message.records, message.endOffset)
    } else if (isAnswer(message)) {
      this.#waiting.get(message.correlationId)?.resolve(message)
      this.#waiting.delete(message.correlationId)
    }
  }
}

function closedError(): TidemarkError {
  return new TidemarkError('BROKER_CLOSED', 'the cluster is closed')
}

function isAnswer(message: ControllerResponse): message is Answer {
  const { type } = message
  if (type === 'createTopicResponse' || type === 'adminResponse') return true
  return type === 'allocateProducerIdsResponse'
}
