/**
 * ControllerLink: a broker's side of its talk with the controller: registration, metadata in order,
 * heartbeats. AlterPartition requests go out through it too; their answers are handed on.
 * Source: Kafka's `BrokerLifecycleManager`.
 */
import type { BrokerEpoch, BrokerId, PartitionIndex } from '../ids.ts'
import { type MetadataChanges, MetadataImage } from '../replication/controller/metadata-image.ts'
import type {
  AlterPartitionRequest,
  AlterPartitionResponse,
  ControllerRequest,
  ControllerResponse,
} from '../replication/messages.ts'
import type { Channel } from './channel.ts'

export interface BrokerIdentity {
  readonly brokerId: BrokerId
  readonly incarnationId: string
  readonly clusterId: string
  /** Epoch of the last life if it ended cleanly, else -1. */
  readonly previousBrokerEpoch: BrokerEpoch
  /** Whoever started this thread has seen the one before it end. */
  readonly previousIncarnationEnded: boolean
}

const startingHeartbeatMs = 10
const registrationRetryMs = 50
const shuttingDownHeartbeatMs = 50
const messagesPerStepMax = 64

export class ControllerLink {
  readonly image = new MetadataImage()
  /** Partitions whose registration changed and has not been applied here yet. */
  readonly changed = new Set<PartitionIndex>()
  /** Topics whose settings changed and have not been applied here yet. */
  readonly changedTopics = new Set<string>()
  readonly #identity: BrokerIdentity
  #channel: Channel<ControllerRequest, ControllerResponse>
  readonly #heartbeatMs: number
  readonly #answers: AlterPartitionResponse[] = []
  #brokerEpoch: BrokerEpoch = -1
  #isRegistered = false
  #isFenced = true
  #correlationId = 0
  #sendAtMs = 0
  #subscribed = false
  #wantsShutDown = false
  #mayShutDown = false

  constructor(
    identity: BrokerIdentity,
    channel: Channel<ControllerRequest, ControllerResponse>,
    heartbeatMs: number,
  ) {
    this.#identity = identity
    this.#channel = channel
    this.#heartbeatMs = heartbeatMs
  }

  /** -1 before the registration is committed. */
  get brokerEpoch(): BrokerEpoch {
    return this.#brokerEpoch
  }

  /**
   * The metadata has come to this life's own registration. What it said before belongs to the life
   * before: leading by it, perhaps without what that one had not flushed, would put a second
   * history into the same epoch (Kafka: `BrokerLifecycleManager.initialCatchUpFuture`).
   */
  get isRegistered(): boolean {
    if (this.#isRegistered || this.#brokerEpoch === -1) return this.#isRegistered
    const registered = this.image.broker(this.#identity.brokerId)
    this.#isRegistered = registered?.brokerEpoch === this.#brokerEpoch
    return this.#isRegistered
  }

  get isFenced(): boolean {
    return this.#isFenced
  }

  /** Takes messages in and sends what is due. @returns messages taken */
  step(nowMs: number): number {
    let taken = 0
    while (taken < messagesPerStepMax) {
      const message = this.#channel.receive()
      if (message === undefined) break
      this.#take(message, nowMs)
      taken++
    }
    if (nowMs >= this.#sendAtMs) this.#sendDue(nowMs)
    return taken
  }

  /** When `step` has to be called again though no message came. */
  get dueAtMs(): number {
    return this.#sendAtMs
  }

  /** Asks to be let go: leaderships move away first (Kafka: controlled shutdown). */
  beginShutDown(nowMs: number): void {
    this.#wantsShutDown = true
    this.#sendAtMs = nowMs
  }

  /** All leaderships have moved, and all others know. */
  get mayShutDown(): boolean {
    return this.#mayShutDown
  }

  /** Another controller over the same log: the talk goes on from where this broker's image is. */
  reconnect(channel: Channel<ControllerRequest, ControllerResponse>, nowMs: number): void {
    this.#channel = channel
    this.#subscribed = false
    this.#sendAtMs = nowMs
  }

  send(request: AlterPartitionRequest): void {
    this.#channel.send(request)
  }

  takeAnswer(): AlterPartitionResponse | undefined {
    return this.#answers.shift()
  }

  #take(message: ControllerResponse, nowMs: number): void {
    switch (message.type) {
      case 'metadataUpdate':
        this.#note(this.image.replayAll(message.baseOffset, message.records), nowMs)
        break
      case 'metadataSnapshot':
        this.#note(this.image.load(message.records, message.endOffset), nowMs)
        break
      case 'alterPartitionResponse':
        this.#answers.push(message)
        break
      case 'registerBrokerResponse':
        if (message.error === 'NONE') this.#brokerEpoch = message.brokerEpoch
        this.#sendAtMs = message.error === 'NONE' ? nowMs : nowMs + registrationRetryMs
        break
      case 'brokerHeartbeatResponse':
        this.#mayShutDown ||= message.error === 'NONE' && message.shouldShutDown
        this.#onHeartbeatAnswer(message.error === 'NONE', message.isFenced, nowMs)
        break
      case 'createTopicResponse':
      case 'adminResponse':
      case 'allocateProducerIdsResponse':
        break
      default:
        message satisfies never
    }
  }

  #note({ partitions, topics }: MetadataChanges, nowMs: number): void {
    for (const index of partitions) this.changed.add(index)
    for (const topic of topics) this.changedTopics.add(topic)
    // Fenced until the own registration has been seen: say so at once.
    if (this.#isFenced) this.#sendAtMs = nowMs
  }

  #onHeartbeatAnswer(isAccepted: boolean, isFenced: boolean, nowMs: number): void {
    // STALE_BROKER_EPOCH: another life of this broker was registered; this one is over.
    this.#isFenced = !isAccepted || isFenced
    const intervalMs = this.#isFenced ? startingHeartbeatMs : this.#heartbeatMs
    this.#sendAtMs = nowMs + (this.#wantsShutDown ? shuttingDownHeartbeatMs : intervalMs)
  }

  #sendDue(nowMs: number): void {
    const { brokerId, incarnationId, clusterId } = this.#identity
    const correlationId = ++this.#correlationId
    if (!this.#subscribed) {
      this.#subscribed = true
      this.#channel.send({ type: 'subscribeMetadata', fromOffset: this.image.endOffset })
    }
    if (this.#brokerEpoch === -1) {
      const { previousBrokerEpoch, previousIncarnationEnded } = this.#identity
      this.#channel.send({
        type: 'registerBroker',
        correlationId,
        brokerId,
        incarnationId,
        clusterId,
        previousBrokerEpoch,
        previousIncarnationEnded,
      })
      // The answer sets the next time; this is for a lost one.
      this.#sendAtMs = nowMs + 1_000
      return
    }
    this.#channel.send({
      type: 'brokerHeartbeat',
      correlationId,
      brokerId,
      brokerEpoch: this.#brokerEpoch,
      metadataOffset: this.image.endOffset,
      wantFence: false,
      wantShutDown: this.#wantsShutDown,
    })
    this.#sendAtMs = nowMs + this.#heartbeatMs
  }
}
