/**
 * The controller: sole owner of committed in-sync replicas, leaders and epochs. Each request goes
 *
 *     decide (pure) → append to the metadata log → replay → tell subscribers → answer
 *
 * so that what subscribers and clients learn is what a restart would replay. A state machine
 * without thread or clock of its own: whoever drives it hands in all requests that wait before it
 * calls `step`, so that a heartbeat that waited is counted before anybody is fenced for silence.
 */
import type { Clock } from '../../clock.ts'
import { isTidemarkError, type TidemarkError } from '../../errors.ts'
import { invariant } from '../../invariant.ts'
import { limits } from '../../limits.ts'
import type {
  BrokerHeartbeatRequest,
  ControllerRequest,
  ControllerResponse,
  CreateTopicRequest,
  MetadataUpdate,
  RegisterBrokerRequest,
  SubscribeMetadataRequest,
} from '../messages.ts'
import { BrokerSessions } from './broker-sessions.ts'
import type { ControllerEvent } from './controller-events.ts'
import { decideAlterPartition } from './decide-alter-partition.ts'
import { decideFencing, decideHeartbeat, decideRegistration } from './decide-broker.ts'
import { decideCreateTopic } from './decide-topic.ts'
import type { Decision } from './decision.ts'
import { failedResponse } from './failed-response.ts'
import { MetadataImage } from './metadata-image.ts'
import type { MetadataLogPort } from './metadata-log-port.ts'
import type { MetadataRecord } from './metadata-records.ts'
import { randomUuid } from './uuid.ts'

/**
 * Kafka's 3.6-IV2: no leader epoch bump on a shrink, no directories, no eligible leader replicas.
 */
const metadataVersion = 14

/** Events kept until somebody takes them. */
const eventsMax = 10_000

export interface ControllerConfig {
  readonly brokerSessionTimeoutMs: number
  /** Partitions of the cluster for which there is room. */
  readonly partitionsMax: number
}

export interface ControllerOptions {
  readonly log: MetadataLogPort
  readonly clock: Clock
  readonly clusterId: string
  readonly config?: Partial<ControllerConfig>
  readonly newTopicId?: () => string
}

interface Outgoing {
  readonly connection: number
  readonly response: ControllerResponse
}

export const controllerConfigDefault: ControllerConfig = {
  brokerSessionTimeoutMs: 9_000,
  partitionsMax: limits.partitionsDefaultMax,
}

export class Controller {
  readonly clusterId: string
  readonly #log: MetadataLogPort
  readonly #clock: Clock
  readonly #config: ControllerConfig
  readonly #newTopicId: () => string
  readonly #image = new MetadataImage()
  readonly #sessions: BrokerSessions
  readonly #subscribers = new Set<number>()
  #outgoing: Outgoing[] = []
  #events: ControllerEvent[] = []
  #eventsDropped = 0
  #failure: TidemarkError | undefined

  /**
   * Replays the log; an empty one gets the record of its format first.
   *
   * @throws {TidemarkError} CORRUPT_MESSAGE when the log isn't a metadata log that replays.
   */
  constructor(options: ControllerOptions) {
    this.#log = options.log
    this.#clock = options.clock
    this.clusterId = options.clusterId
    this.#config = { ...controllerConfigDefault, ...options.config }
    this.#newTopicId = options.newTopicId ?? randomUuid
    this.#sessions = new BrokerSessions(this.#config.brokerSessionTimeoutMs)
    this.#log.replay(0, (record, offset) => this.#image.replay(record, offset))
    if (this.#log.endOffset === 0) {
      const name = 'metadata.version'
      this.#commit([{ type: 'featureLevel', name, featureLevel: metadataVersion }])
    }
    const nowMs = this.#clock.nowMs()
    for (const { brokerId, fenced } of this.#image.brokers()) {
      this.#sessions.begin(brokerId, fenced, nowMs)
    }
  }

  /** The state as committed; to be read only. */
  get image(): MetadataImage {
    return this.#image
  }

  /** Why the log takes no more records, and with it the controller no more changes. */
  get failure(): TidemarkError | undefined {
    return this.#failure
  }

  /** Events that were lost because nobody took them. */
  get eventsDropped(): number {
    return this.#eventsDropped
  }

  /** Handles one request of a connection; what there is to say goes to `takeOutgoing`. */
  handle(from: number, request: ControllerRequest): void {
    switch (request.type) {
      case 'alterPartition': {
        const nowMs = this.#clock.nowMs()
        this.#conclude(from, request, decideAlterPartition(this.#image, request, nowMs))
        return
      }
      case 'brokerHeartbeat':
        this.#heartbeat(from, request)
        return
      case 'registerBroker':
        this.#register(from, request)
        return
      case 'createTopic':
        this.#createTopic(from, request)
        return
      case 'subscribeMetadata':
        this.#subscribe(from, request)
        return
      default:
        invariant(false, () => `controller request ${JSON.stringify(request satisfies never)}`)
    }
  }

  /**
   * Fences at most one broker whose session has ended, so that the next decision sees its effect,
   * and flushes the log when due.
   *
   * @returns 0 when there was nothing to do: then nothing is, but for new requests, before
   *   `nextStepMs`.
   */
  step(nowMs: number): number {
    const flushed = this.#log.flushIfDue(nowMs) ? 1 : 0
    if (this.#failure !== undefined) return flushed
    const stale = this.#sessions.findStale(nowMs)
    if (stale === undefined) return flushed
    const silentMs = nowMs - this.#sessions.lastContactMs(stale)
    const timeoutMs = this.#config.brokerSessionTimeoutMs
    const decision = decideFencing(this.#image, stale, { silentMs, timeoutMs, nowMs })
    if (!this.#tryCommit(decision.records)) return flushed
    this.#sessions.fence(stale)
    this.#note(decision.events)
    return flushed + 1
  }

  /** Time after which `step` may find a session ended; infinite when there is none. */
  nextStepMs(): number {
    return this.#failure === undefined ? this.#sessions.nextExpiryMs() : Number.POSITIVE_INFINITY
  }

  /** Hands over all messages since the last call, in the order in which they must be delivered. */
  takeOutgoing(visit: (connection: number, response: ControllerResponse) => void): number {
    const outgoing = this.#outgoing
    this.#outgoing = []
    for (const { connection, response } of outgoing) visit(connection, response)
    return outgoing.length
  }

  takeEvents(): ControllerEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  /** Ends the subscription; the session of the broker behind it goes on until it times out. */
  connectionClosed(connection: number): void {
    this.#subscribers.delete(connection)
    this.#outgoing = this.#outgoing.filter((each) => each.connection !== connection)
  }

  #register(from: number, request: RegisterBrokerRequest): void {
    const { brokerId } = request
    const nowMs = this.#clock.nowMs()
    const sessionAlive = this.#sessions.isAlive(brokerId, nowMs)
    const facts = { clusterId: this.clusterId, sessionAlive, nowMs }
    const decision = decideRegistration(this.#image, request, facts)
    if (!this.#conclude(from, request, decision) || decision.response.error !== 'NONE') return
    if (decision.records.length === 0) this.#sessions.refresh(brokerId, nowMs)
    else this.#sessions.begin(brokerId, true, nowMs)
  }

  #heartbeat(from: number, request: BrokerHeartbeatRequest): void {
    const { brokerId, brokerEpoch, metadataOffset } = request
    if (this.#image.broker(brokerId)?.brokerEpoch !== brokerEpoch) {
      this.#send(from, failedResponse(request, 'STALE_BROKER_EPOCH'))
      return
    }
    const nowMs = this.#clock.nowMs()
    const decision = decideHeartbeat(this.#image, request, {
      shutdownOffset: this.#sessions.shutdownOffset(brokerId),
      lowestActiveOffset: this.#sessions.lowestActiveOffset(),
      nowMs,
    })
    // Whatever comes of it, the broker was heard of.
    this.#sessions.refresh(brokerId, nowMs)
    if (!this.#conclude(from, request, decision)) return
    const { isFenced } = decision.response
    this.#sessions.touch(brokerId, isFenced, metadataOffset, nowMs)
    if (decision.next === 'controlledShutdown') {
      this.#sessions.beginShutdown(brokerId, this.#image.endOffset)
    }
  }

  #createTopic(from: number, request: CreateTopicRequest): void {
    let topicId = this.#newTopicId()
    // An id of before would make a record that doesn't replay.
    while (this.#image.topic(topicId) !== undefined) topicId = this.#newTopicId()
    this.#conclude(from, request, decideCreateTopic(this.#image, request, topicId, this.#config))
  }

  /**
   * Answers at once, if only to say that there is nothing yet. A subscriber that is ahead of us
   * gets an update that doesn't begin where it is, and finds out by that.
   */
  #subscribe(from: number, { fromOffset }: SubscribeMetadataRequest): void {
    const end = this.#image.endOffset
    const baseOffset = Math.max(0, Math.min(fromOffset, end))
    const records: MetadataRecord[] = []
    if (baseOffset < end) this.#log.replay(baseOffset, (record) => records.push(record))
    this.#subscribers.add(from)
    this.#send(from, { type: 'metadataUpdate', baseOffset, records })
  }

  /** Commits and answers; false: the log failed, which is the answer then. */
  #conclude(
    from: number,
    request: Exclude<ControllerRequest, SubscribeMetadataRequest>,
    decision: Decision<ControllerResponse>,
  ): boolean {
    if (!this.#tryCommit(decision.records)) {
      this.#send(from, failedResponse(request, 'KAFKA_STORAGE_ERROR'))
      return false
    }
    this.#note(decision.events)
    this.#send(from, decision.response)
    return true
  }

  #tryCommit(records: readonly MetadataRecord[]): boolean {
    if (records.length === 0) return true
    if (this.#failure !== undefined) return false
    try {
      this.#commit(records)
      return true
    } catch (error) {
      if (!isTidemarkError(error, 'KAFKA_STORAGE_ERROR')) throw error
      this.#failure = error
      return false
    }
  }

  #commit(records: readonly MetadataRecord[]): void {
    const baseOffset = this.#log.append(records)
    this.#image.replayAll(baseOffset, records)
    if (this.#subscribers.size === 0) return
    const update: MetadataUpdate = { type: 'metadataUpdate', baseOffset, records }
    for (const connection of this.#subscribers) this.#send(connection, update)
  }

  #send(connection: number, response: ControllerResponse): void {
    this.#outgoing.push({ connection, response })
  }

  #note(events: readonly ControllerEvent[]): void {
    for (const event of events) {
      if (this.#events.length < eventsMax) this.#events.push(event)
      else this.#eventsDropped++
    }
  }
}
