import { expect } from 'vitest'
import { ManualClock } from '../../../src/clock.ts'
import { type BrokerId, brokerId, type PartitionIndex, partitionIndex } from '../../../src/ids.ts'
import {
  Controller,
  type ControllerConfig,
} from '../../../src/replication/controller/controller.ts'
import type { MetadataImage } from '../../../src/replication/controller/metadata-image.ts'
import type { MetadataLogPort } from '../../../src/replication/controller/metadata-log-port.ts'
import type {
  AdminRequest,
  AdminResponse,
  AlterPartitionItem,
  AlterPartitionItemResult,
  AlterPartitionRequest,
  AlterPartitionResponse,
  BrokerHeartbeatRequest,
  BrokerHeartbeatResponse,
  ControllerRequest,
  ControllerResponse,
  CreateTopicRequest,
  CreateTopicResponse,
  RegisterBrokerRequest,
  RegisterBrokerResponse,
} from '../../../src/replication/messages.ts'
import type { PartitionRegistration } from '../../../src/replication/registration.ts'
import { MemoryMetadataLog } from './memory-metadata-log.ts'

export const sessionTimeoutMs = 9_000
export const clusterId = 'test-cluster'

type Uncorrelated<R> = R extends unknown ? Omit<R, 'correlationId'> : never

/** An incarnation id that tells broker and life apart. */
export function incarnation(broker: number, life = 1): string {
  const bytes = Buffer.alloc(16, 0x11)
  bytes[0] = broker
  bytes[1] = life
  return bytes.toString('base64url')
}

export function topicIdOf(number: number): string {
  const bytes = Buffer.alloc(16, 0x22)
  bytes.writeUInt32BE(number)
  return bytes.toString('base64url')
}

/**
 * A controller over a log, in memory if not given, and a clock of the test's, with short ways to
 * talk to it.
 */
export class ControllerHarness<L extends MetadataLogPort = MemoryMetadataLog> {
  readonly clock = new ManualClock()
  readonly log: L
  controller: Controller
  /** What others than connection 0 were told, in order. */
  told: [number, ControllerResponse][] = []
  readonly #config: Partial<ControllerConfig>
  #topics = 0
  #correlation = 0

  constructor(
    log: L = new MemoryMetadataLog() as never,
    partitionsMax = 1_000,
    config: Partial<ControllerConfig> = {},
  ) {
    this.log = log
    this.#config = { brokerSessionTimeoutMs: sessionTimeoutMs, partitionsMax, ...config }
    this.controller = this.#open()
  }

  /** Another controller over the same log, as after the end of the first. */
  restart(): void {
    this.controller = this.#open()
  }

  #open(): Controller {
    return new Controller({
      log: this.log,
      clock: this.clock,
      clusterId,
      config: this.#config,
      newTopicId: () => topicIdOf(++this.#topics),
    })
  }

  /** Without eligible leader replicas, as before KIP-966. */
  static withoutEligible(): ControllerHarness {
    const log = new MemoryMetadataLog()
    return new ControllerHarness(log, 1_000, { eligibleLeaderReplicasVersion: 0 })
  }

  get image(): MetadataImage {
    return this.controller.image
  }

  /** Sends a request as connection 0 and returns its answer. */
  ask(request: ControllerRequest): ControllerResponse {
    this.controller.handle(0, request)
    const answers: ControllerResponse[] = []
    this.controller.takeOutgoing((connection, response) => {
      if (connection === 0) answers.push(response)
      else this.told.push([connection, response])
    })
    expect(answers).toHaveLength(1)
    return answers[0]
  }

  register(broker: number, change: Partial<RegisterBrokerRequest> = {}): RegisterBrokerResponse {
    return this.ask({
      type: 'registerBroker',
      correlationId: ++this.#correlation,
      brokerId: brokerId(broker),
      incarnationId: incarnation(broker),
      clusterId,
      previousBrokerEpoch: -1,
      previousIncarnationEnded: false,
      ...change,
    }) as RegisterBrokerResponse
  }

  heartbeat(broker: number, change: Partial<BrokerHeartbeatRequest> = {}): BrokerHeartbeatResponse {
    return this.ask({
      type: 'brokerHeartbeat',
      correlationId: ++this.#correlation,
      brokerId: brokerId(broker),
      brokerEpoch: this.epochOf(broker),
      metadataOffset: this.image.endOffset,
      wantFence: false,
      wantShutDown: false,
      ...change,
    }) as BrokerHeartbeatResponse
  }

  /** Registers brokers and unfences them. */
  start(...brokers: number[]): this {
    for (const broker of brokers) {
      expect(this.register(broker).error).toBe('NONE')
      expect(this.heartbeat(broker)).toMatchObject({ error: 'NONE', isFenced: false })
    }
    return this
  }

  createTopic(
    topic: string,
    assignments: readonly (readonly number[])[],
    configs: CreateTopicRequest['configs'] = {},
  ): CreateTopicResponse {
    return this.ask({
      type: 'createTopic',
      correlationId: ++this.#correlation,
      topic,
      assignments: assignments as readonly (readonly BrokerId[])[],
      configs,
    }) as CreateTopicResponse
  }

  /** Sends proposals of a leader. */
  propose(
    sender: number,
    items: readonly AlterPartitionItem[],
    change: Partial<AlterPartitionRequest> = {},
  ): AlterPartitionResponse {
    return this.ask({
      type: 'alterPartition',
      correlationId: ++this.#correlation,
      brokerId: brokerId(sender),
      brokerEpoch: this.epochOf(sender),
      items,
      ...change,
    }) as AlterPartitionResponse
  }

  /**
   * Sends one proposal of the partition's leader, right but for `change`, and returns its result.
   */
  proposeOne(
    index: number,
    members: readonly number[],
    change: Partial<AlterPartitionItem> = {},
    sender = this.partition(index).leader as number,
  ): AlterPartitionItemResult {
    const response = this.propose(sender, [this.item(index, members, change)])
    expect(response.error).toBe('NONE')
    expect(response.items).toHaveLength(1)
    return response.items[0]
  }

  item(
    index: number,
    members: readonly number[],
    change: Partial<AlterPartitionItem> = {},
  ): AlterPartitionItem {
    const { leaderEpoch, partitionEpoch } = this.partition(index)
    return {
      partition: partitionIndex(index),
      leaderEpoch,
      partitionEpoch,
      newInSyncReplicas: members.map((member) => ({
        brokerId: brokerId(member),
        brokerEpoch: this.epochOf(member),
      })),
      leaderRecoveryState: 'recovered',
      ...change,
    }
  }

  /** Sends a request of an administrator. */
  administer(request: Uncorrelated<AdminRequest>): AdminResponse {
    return this.ask({ ...request, correlationId: ++this.#correlation }) as AdminResponse
  }

  /** Asks for elections and returns the error of each partition. */
  elect(
    election: 'preferred' | 'unclean',
    ...partitions: readonly (readonly [string, number])[]
  ): string[] {
    const named = partitions.map(([topic, partition]) => ({ topic, partition }))
    const { error, results } = this.administer({
      type: 'electLeaders',
      election,
      partitions: named,
    })
    expect(error).toBe('NONE')
    return results.map((each) => each.error)
  }

  /** Asks for one move, or with null for its end, and returns the error. */
  reassign(topic: string, partition: number, replicas: readonly number[] | null): string {
    const { error, results } = this.administer({
      type: 'alterReassignments',
      partitions: [{ topic, partition, replicas: replicas as readonly BrokerId[] | null }],
    })
    expect(error).toBe('NONE')
    expect(results).toHaveLength(1)
    return results[0].error
  }

  configure(topic: string | undefined, changes: Readonly<Record<string, string | null>>): string {
    return this.administer({ type: 'alterConfigs', topic, changes }).error
  }

  /** In-sync and eligible replicas, and the last known leader. */
  eligible(index: number): { leader: number; isr: unknown; elr: unknown; lastKnown: unknown } {
    const { leader, inSyncReplicas, eligibleLeaderReplicas, lastKnownLeader } =
      this.partition(index)
    return {
      leader,
      isr: inSyncReplicas,
      elr: eligibleLeaderReplicas,
      lastKnown: lastKnownLeader,
    }
  }

  /**
   * Lets the sessions of these brokers end while the others keep theirs; returns how many steps
   * fenced.
   */
  silence(...brokers: number[]): number {
    const heard = this.image
      .brokers()
      .filter(({ brokerId, fenced }) => !fenced && !brokers.includes(brokerId))
    this.clock.advance(sessionTimeoutMs)
    for (const { brokerId } of heard) this.heartbeat(brokerId)
    this.clock.advance(1)
    let steps = 0
    // Bounded: a controller that fences the same broker for ever must fail, not hang.
    while (this.controller.step(this.clock.nowMs()) > 0) expect(++steps).toBeLessThan(20)
    return steps
  }

  epochOf(broker: number): number {
    return this.image.broker(brokerId(broker))?.brokerEpoch ?? -1
  }

  partition(index: number): PartitionRegistration {
    return this.image.partition(partitionIndex(index) as PartitionIndex)!
  }

  /** Leader, ISR and epochs of a partition, for one comparison. */
  state(index: number): {
    leader: number
    isr: readonly number[]
    leaderEpoch: number
    partitionEpoch: number
  } {
    const { leader, inSyncReplicas, leaderEpoch, partitionEpoch } = this.partition(index)
    return { leader, isr: inSyncReplicas, leaderEpoch, partitionEpoch }
  }
}

/** All that an image holds, for comparison with another. */
export function contentsOf(image: MetadataImage): unknown {
  const partitions: unknown[] = []
  image.forEachPartition((registration) => partitions.push(registration))
  return {
    endOffset: image.endOffset,
    partitionIndexesEnd: image.partitionIndexesEnd,
    partitions,
    brokers: image.brokers(),
    topics: Array.from(image.topics(), (topic) => ({
      topicId: topic.topicId,
      name: topic.name,
      partitions: [...topic.partitions],
      config: [...image.config(2, topic.name)],
    })),
    features: ['metadata.version', 'eligible.leader.replicas.version'].map((name) =>
      image.featureLevel(name),
    ),
    defaults: [...image.config(4, '')],
  }
}
