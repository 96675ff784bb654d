/**
 * ControllerClient: the application's connection to the controller: requests answered by promises,
 * and a metadata image that follows the controller's log.
 */
import type { MessagePort } from 'node:worker_threads'
import { TidemarkError } from '../errors.ts'
import type { PartitionIndex } from '../ids.ts'
import { MetadataImage } from '../replication/controller/metadata-image.ts'
import type {
  ControllerRequest,
  ControllerResponse,
  CreateTopicRequest,
  CreateTopicResponse,
} from '../replication/messages.ts'

interface Waiting {
  readonly resolve: (response: CreateTopicResponse) => void
  readonly reject: (error: TidemarkError) => void
}

export class ControllerClient {
  readonly image = new MetadataImage()
  readonly #port: MessagePort
  readonly #wake: () => void
  readonly #waiting = new Map<number, Waiting>()
  readonly #onChanged: (partitions: ReadonlySet<PartitionIndex>) => void
  #correlationId = 0

  /** @param onChanged told the partitions that an update created or changed */
  constructor(
    port: MessagePort,
    wake: () => void,
    onChanged: (partitions: ReadonlySet<PartitionIndex>) => void,
  ) {
    this.#port = port
    this.#wake = wake
    this.#onChanged = onChanged
    port.on('message', (message: ControllerResponse) => this.#take(message))
    this.#send({ type: 'subscribeMetadata', fromOffset: 0 })
  }

  /** @throws {TidemarkError} what the controller answers, for example TOPIC_ALREADY_EXISTS */
  async createTopic(
    request: Omit<CreateTopicRequest, 'type' | 'correlationId'>,
  ): Promise<CreateTopicResponse> {
    const correlationId = ++this.#correlationId
    const response = await new Promise<CreateTopicResponse>((resolve, reject) => {
      this.#waiting.set(correlationId, { resolve, reject })
      this.#send({ ...request, type: 'createTopic', correlationId })
    })
    if (response.error !== 'NONE') throw new TidemarkError(response.error, response.detail)
    return response
  }

  close(): void {
    this.#port.close()
    const error = new TidemarkError('BROKER_CLOSED', 'the cluster is closed')
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  #send(request: ControllerRequest): void {
    this.#port.postMessage(request)
    this.#wake()
  }

  #take(message: ControllerResponse): void {
    if (message.type === 'metadataUpdate') {
      this.#onChanged(this.image.replayAll(message.baseOffset, message.records))
    } else if (message.type === 'createTopicResponse') {
      this.#waiting.get(message.correlationId)?.resolve(message)
      this.#waiting.delete(message.correlationId)
    }
  }
}
