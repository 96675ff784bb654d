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
import { isTidemarkError, TidemarkError } from '../../errors.ts'
import { type PartitionIndex, partitionIndex } from '../../ids.ts'
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
import {
  type ClockElectionsConfig,
  ClockElectionsTimer,
  clockElectionsDefault,
} from './clock-elections.ts'
import { type ControllerEvent, nobodyAsked } from './controller-events.ts'
import { decideAdmin } from './decide-admin.ts'
import { decideAlterPartition } from './decide-alter-partition.ts'
import { decideFencing, decideHeartbeat, decideRegistration } from './decide-broker.ts'
import { decideProducerIds } from './decide-producer-ids.ts'
import { decideCreateTopic } from './decide-topic.ts'
import type { Decision } from './decision.ts'
import { eligibleLeaderReplicasFeature } from './election-rules.ts'
import { failedResponse } from './failed-response.ts'
import { LatestProposals } from './latest-proposals.ts'
import { MetadataImage } from './metadata-image.ts'
import type { MetadataLogPort } from './metadata-log-port.ts'
import type { MetadataRecord } from './metadata-records.ts'
import { randomUuid } from './uuid.ts'

/** Kafka's 4.0-IV3: no leader epoch bump on a shrink, eligible leader replicas. */
const metadataVersion = 25

const metadataVersionFeature = 'metadata.version'

/** Events kept until somebody takes them. */
const eventsMax = 10_000

export interface ControllerConfig {
  readonly brokerSessionTimeoutMs: number
  /** Partitions of the cluster for which there is room. */
  readonly partitionsMax: number
  /** `eligible.leader.replicas.version` of a log that is made anew; an old one keeps its own. */
  readonly eligibleLeaderReplicasVersion: number
  readonly elections: ClockElectionsConfig
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

const controllerConfigDefault: ControllerConfig = {
  brokerSessionTimeoutMs: 9_000,
  partitionsMax: limits.partitionsDefaultMax,
  eligibleLeaderReplicasVersion: 1,
  elections: clockElectionsDefault,
}

/** From here on it is worth looking whether the state is shorter than its history. */
const longLogRecords = 256

export class Controller {
  readonly clusterId: string
  readonly #log: MetadataLogPort
  readonly #clock: Clock
  readonly #config: ControllerConfig
  readonly #newTopicId: () => string
  readonly #image = new MetadataImage()
  readonly #sessions: BrokerSessions
  readonly #proposals = new LatestProposals()
  readonly #subscribers = new Set<number>()
  readonly #elections: ClockElectionsTimer
  readonly #changed = new Set<PartitionIndex>()
  #outgoing: Outgoing[] = []
  #events: ControllerEvent[] = []
  #eventsDropped = 0
  #failure: TidemarkError | undefined

  /**
   * Replays the log; an empty one gets the record of its format first.
   *
   * @throws {TidemarkError} CORRUPT_MESSAGE when the log isn't a metadata log that replays,
   *   UNSUPPORTED_VERSION when a later version wrote it.
   */
  constructor(options: ControllerOptions) {
    this.#log = options.log
    this.#clock = options.clock
    this.clusterId = options.clusterId
    this.#config = { ...controllerConfigDefault, ...options.config }
    this.#newTopicId = options.newTopicId ?? randomUuid
    this.#sessions = new BrokerSessions(this.#config.brokerSessionTimeoutMs)
    this.#replayLog()
    for (let index = 0; index < this.#image.partitionIndexesEnd; index++) {
      this.#changed.add(partitionIndex(index))
    }
    if (this.#log.endOffset === 0) this.#commit(this.#firstRecords())
    refuseNewerFormat(this.#image)
    const nowMs = this.#clock.nowMs()
    this.#elections = new ClockElectionsTimer(this.#config.elections, nowMs)
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
        if (!this.#proposals.admit(request)) return
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
      case 'allocateProducerIds':
        this.#conclude(from, request, decideProducerIds(this.#image, request))
        return
      case 'subscribeMetadata':
        this.#subscribe(from, request)
        return
      default: {
        const nowMs = this.#clock.nowMs()
        this.#conclude(from, request, decideAdmin(this.#image, request, this.#config, nowMs))
      }
    }
  }

  /**
   * Fences at most one broker whose session has ended, so that the next decision sees its effect;
   * holds the elections that are due; writes a snapshot and flushes the log when due.
   *
   * @returns 0 when there was nothing to do: then nothing is, but for new requests, before
   *   `nextStepMs`.
   */
  step(nowMs: number): number {
    const flushed = this.#log.flushIfDue(nowMs) ? 1 : 0
    if (this.#failure !== undefined) return flushed
    return flushed + this.#fenceStale(nowMs) + this.#elect(nowMs) + this.#writeSnapshot(nowMs)
  }

  /** Time after which `step` may have something to do; infinite when there is none. */
  nextStepMs(): number {
    if (this.#failure !== undefined) return Number.POSITIVE_INFINITY
    return Math.min(this.#sessions.nextExpiryMs(), this.#elections.dueAtMs)
  }

  /** Hands over all messages since the last call, in the order in which they must be delivered. */
  takeOutgoing(visit: (connection: number, response: ControllerResponse) => void): number {
    const outgoing = this.#outgoing
    this.#outgoing = []
    for (const { connection, response } of outgoing) visit(connection, response)
    return outgoing.length
  }

  /** Visits the partitions created, changed or removed since the last call, all at the first. */
  takeChanged(visit: (partition: PartitionIndex) => void): void {
    for (const partition of this.#changed) visit(partition)
    this.#changed.clear()
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

  #replayLog(): void {
    const snapshot = this.#log.readSnapshot()
    if (snapshot !== undefined) this.#image.load(snapshot.records, snapshot.endOffset)
    this.#log.replay(this.#image.endOffset, (record, offset) => this.#image.replay(record, offset))
  }

  #firstRecords(): MetadataRecord[] {
    const { eligibleLeaderReplicasVersion } = this.#config
    const levels: [string, number][] = [[metadataVersionFeature, metadataVersion]]
    if (eligibleLeaderReplicasVersion > 0) {
      levels.push([eligibleLeaderReplicasFeature, eligibleLeaderReplicasVersion])
    }
    return levels.map(([name, featureLevel]) => ({ type: 'featureLevel', name, featureLevel }))
  }

  #fenceStale(nowMs: number): number {
    const stale = this.#sessions.findStale(nowMs)
    if (stale === undefined) return 0
    const silentMs = nowMs - this.#sessions.lastContactMs(stale)
    const timeoutMs = this.#config.brokerSessionTimeoutMs
    const decision = decideFencing(this.#image, stale, { silentMs, timeoutMs, nowMs })
    if (!this.#tryCommit(decision.records)) return 0
    this.#sessions.fence(stale)
    this.#note(decision.events)
    return 1
  }

  #elect(nowMs: number): number {
    const elections = this.#elections.take(this.#image, nowMs)
    if (elections === undefined) return 0
    if (this.#tryCommit(elections.records)) this.#note(elections.events)
    return 1
  }

  /** One that fails is tried again when as much has been appended once more. */
  #writeSnapshot(atMs: number): number {
    if (!this.#log.isSnapshotDue) return 0
    const detail = { metadataOffset: this.#image.endOffset }
    const event = { atMs, kind: 'snapshot', brokerId: nobodyAsked, partitions: [], detail } as const
    try {
      this.#log.writeSnapshot(this.#image.snapshotRecords())
      this.#note([event])
    } catch (error) {
      if (!isTidemarkError(error, 'KAFKA_STORAGE_ERROR')) throw error
      this.#note([{ ...event, error: error.code }])
    }
    return 1
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
    this.#subscribers.add(from)
    const end = this.#image.endOffset
    const isMissed = fromOffset < this.#log.startOffset
    if (isMissed || (fromOffset === 0 && end >= longLogRecords)) {
      const records = [...this.#image.snapshotRecords()]
      // Whoever knows nothing yet needs no history: to replay it costs a start more than its logs.
      if (isMissed || records.length * 2 <= end) {
        this.#send(from, { type: 'metadataSnapshot', endOffset: end, records })
        return
      }
    }
    const baseOffset = Math.max(0, Math.min(fromOffset, end))
    const records: MetadataRecord[] = []
    if (baseOffset < end) this.#log.replay(baseOffset, (record) => records.push(record))
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
    const { partitions } = this.#image.replayAll(baseOffset, records)
    for (const partition of partitions) this.#changed.add(partition)
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

/** A later version may have given the records a meaning that we don't know. */
function refuseNewerFormat(image: MetadataImage): void {
  const known: readonly [string, number][] = [
    [metadataVersionFeature, metadataVersion],
    [eligibleLeaderReplicasFeature, 1],
  ]
  for (const [name, most] of known) {
    const level = image.featureLevel(name) ?? 0
    if (level <= most) continue
    const detail = `metadata log: ${name} ${level}; supported are levels up to ${most}`
    throw new TidemarkError('UNSUPPORTED_VERSION', detail)
  }
}
