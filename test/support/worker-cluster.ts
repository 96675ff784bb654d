/**
 * Brokers, controller and a producer in one thread, over real shared memory and real files, stepped in any
 * order. What a supervisor does when a thread ends is done by `kill` and `start`.
 */
import fs from 'node:fs'
import path from 'node:path'
import { ManualClock } from '../../src/clock.ts'
import {
  type ClusterConfig,
  type ClusterConfigInput,
  clusterConfig,
  topicConfigFromEntries,
} from '../../src/config.ts'
import { errorCodeOf } from '../../src/errors.ts'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { limits } from '../../src/limits.ts'
import { BatchEncoder } from '../../src/log/batch-encoder.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import { batchSizeBound } from '../../src/log/record.ts'
import { Controller } from '../../src/replication/controller/controller.ts'
import type {
  AlterPartitionRequest,
  AlterPartitionResponse,
  ControllerRequest,
  ControllerResponse,
  MetadataUpdate,
} from '../../src/replication/messages.ts'
import type { PartitionRegistration } from '../../src/replication/registration.ts'
import { allocateAckRings } from '../../src/workers/ack-ring.ts'
import { allocateBatchRing, BatchRing } from '../../src/workers/batch-ring.ts'
import { type BrokerNews, BrokerNode } from '../../src/workers/broker-node.ts'
import { type Channel, localChannel } from '../../src/workers/channel.ts'
import type { ClusterMemory } from '../../src/workers/cluster-memory.ts'
import { logConfigOf } from '../../src/workers/partition-store.ts'
import {
  allocateProgressBoard,
  brokerState,
  ProgressBoard,
} from '../../src/workers/progress-board.ts'
import { RingProducer } from '../../src/workers/ring-producer.ts'
import { MemoryMetadataLog } from '../replication/controller/memory-metadata-log.ts'
import { textRecord } from './batch-builder.ts'
import { temporaryDirectory } from './temporary-directory.ts'
import { WorkerDisk } from './worker-disk.ts'

export interface WorkerClusterOptions {
  readonly brokers?: number
  /** Replicas of each partition, the first leading. Default: one partition on all brokers. */
  readonly assignments?: readonly (readonly number[])[]
  readonly config?: ClusterConfigInput
  readonly topic?: Readonly<Record<string, string>>
  readonly partitionsMax?: number
}

export interface Acknowledgement {
  readonly ticket: number
  readonly partition: number
  readonly values: readonly string[]
  readonly acks: number
  readonly error: string
  readonly baseOffset: number
}

interface Sent {
  readonly partition: number
  readonly values: readonly string[]
  readonly acks: number
}

interface Life {
  readonly node: BrokerNode
  readonly disk: WorkerDisk
  readonly connection: number
  readonly controllerEnd: Channel<ControllerResponse, ControllerRequest>
}

export const topicName = 'events'
const routesConnection = 0
const ackCapacity = 1_024
const clusterIdText = 'tidemark-test-cluster'

export class WorkerCluster {
  readonly clock = new ManualClock()
  readonly config: ClusterConfig
  readonly memory: ClusterMemory
  readonly board: ProgressBoard
  readonly controller: Controller
  readonly producer: RingProducer
  readonly brokers: number
  readonly partitions: number
  readonly frozen = new Set<number>()
  /** Brokers whose messages to and from the controller are lost. */
  readonly cutOff = new Set<number>()
  readonly acknowledged: Acknowledgement[] = []
  readonly news: BrokerNews[] = []
  readonly alterRequests: AlterPartitionRequest[] = []
  readonly alterResponses: AlterPartitionResponse[] = []
  readonly #directory = temporaryDirectory()
  readonly #topic: Readonly<Record<string, string>>
  readonly #lives: (Life | undefined)[] = []
  readonly #sent = new Map<number, Sent>()
  readonly #encoder = new BatchEncoder()
  readonly #checkpoints = new Map<number, Map<string, number>>()
  readonly #highest = new Map<string, number>()
  #incarnations = 0
  #values = 0
  #restore: (() => void) | undefined

  constructor(options: WorkerClusterOptions = {}) {
    this.brokers = options.brokers ?? 3
    const all = Array.from({ length: this.brokers }, (_, row) => row + 1)
    const assignments = options.assignments ?? [all]
    this.partitions = assignments.length
    this.#topic = options.topic ?? {}
    this.config = clusterConfig({
      'ring.bytes': limits.ringBytesMin,
      'replica.lag.time.max.ms': 1_000,
      ...options.config,
    })
    const partitionsMax = options.partitionsMax ?? 64
    const shape = { brokers: this.brokers, partitionsMax, clients: limits.producersMax }
    this.memory = {
      board: allocateProgressBoard(shape, this.clock.nowMs()),
      rings: all.map(() => allocateBatchRing(this.config['ring.bytes'])),
      acks: allocateAckRings(limits.producersMax, this.brokers, ackCapacity),
    }
    this.board = new ProgressBoard(this.memory.board)
    this.producer = new RingProducer(this.memory, 0)
    this.controller = new Controller({
      log: new MemoryMetadataLog(),
      clock: this.clock,
      clusterId: clusterIdText,
      config: { brokerSessionTimeoutMs: this.config['broker.session.timeout.ms'], partitionsMax },
    })
    this.controller.handle(routesConnection, { type: 'subscribeMetadata', fromOffset: 0 })
    for (const id of all) this.start(id)
    this.until(
      'all brokers are unfenced',
      () => this.controller.image.activeBrokers().length === this.brokers,
    )
    this.controller.handle(routesConnection, {
      type: 'createTopic',
      correlationId: 1,
      topic: topicName,
      assignments: assignments.map((replicas) => replicas.map(brokerId)),
      configs: this.#topic,
    })
    this.until('all partitions have leaders and followers', () => this.isFollowed())
  }

  ring(leader: number): BatchRing {
    return new BatchRing(this.memory.rings[leader - 1]!)
  }

  node(broker: number): BrokerNode {
    return this.#life(broker).node
  }

  disk(broker: number): WorkerDisk {
    return this.#life(broker).disk
  }

  isAlive(broker: number): boolean {
    return this.#lives[broker] !== undefined
  }

  registration(partition = 0): PartitionRegistration {
    return this.controller.image.partition(partitionIndex(partition))!
  }

  isr(partition = 0): number[] {
    return [...this.registration(partition).inSyncReplicas].sort()
  }

  leader(partition = 0): number {
    return this.registration(partition).leader
  }

  logEndOffset(broker: number, partition = 0): number {
    return this.node(broker).store.log(partitionIndex(partition)).logEndOffset
  }

  highWatermark(broker: number, partition = 0): number {
    return this.board.highWatermark(brokerId(broker), partitionIndex(partition))
  }

  /** Every living replica of every partition leads, or is reconciled with the one that does. */
  isFollowed(): boolean {
    for (let partition = 0; partition < this.partitions; partition++) {
      const registration = this.controller.image.partition(partitionIndex(partition))
      if (registration === undefined || registration.leader < 1) return false
      const { leader, leaderEpoch, index, replicas } = registration
      for (const replica of replicas) {
        if (!this.isAlive(replica)) continue
        const epoch =
          replica === leader
            ? this.board.ledEpoch(replica, index)
            : this.board.followedEpoch(replica, index)
        if (epoch !== leaderEpoch) return false
      }
    }
    return true
  }

  // ── time and steps ───────────────────────────────────────────────────────────────────────────

  /** One step of a broker; a frozen or dead one does nothing. */
  step(broker: number): number {
    const life = this.#lives[broker]
    if (life === undefined || this.frozen.has(broker)) return 0
    let work = 0
    try {
      work = life.node.step()
    } catch (error) {
      if (!life.disk.isEnded) throw error
    }
    if (life.disk.isEnded) {
      this.kill(broker)
      return 1
    }
    const news = life.node.takeNews()
    if (news !== undefined) this.news.push(news)
    return work
  }

  stepController(): number {
    let work = 0
    for (const [broker, life] of this.#lives.entries()) {
      for (
        let request = life?.controllerEnd.receive();
        request;
        request = life?.controllerEnd.receive()
      ) {
        if (this.cutOff.has(broker)) continue
        if (request.type === 'alterPartition') this.alterRequests.push(request)
        this.controller.handle(life!.connection, request)
        work++
      }
    }
    work += this.controller.step(this.clock.nowMs())
    return (
      work +
      this.controller.takeOutgoing((connection, response) => this.#deliver(connection, response))
    )
  }

  pollAcks(): number {
    return this.producer.poll((ticket, error, baseOffset) => {
      const sent = this.#sent.get(ticket)!
      this.#sent.delete(ticket)
      const code = error === 0 ? 'NONE' : errorCodeOf(error)
      this.acknowledged.push({ ticket, ...sent, error: code, baseOffset })
    })
  }

  /** One step of everybody. */
  round(): number {
    let work = this.stepController()
    for (let broker = 1; broker <= this.brokers; broker++) work += this.step(broker)
    work += this.pollAcks()
    this.checkHighWatermarks()
    return work
  }

  /** Rounds at this very moment until nobody has anything to do. */
  settle(): void {
    for (let quiet = 0, rounds = 0; quiet < 3; rounds++) {
      if (rounds > 10_000) throw new Error('the cluster does not come to rest')
      quiet = this.round() === 0 ? quiet + 1 : 0
    }
  }

  /** Lets time pass, a round every `everyMs`. */
  run(ms: number, everyMs = 5): void {
    for (let passed = 0; passed < ms; passed += everyMs) {
      this.clock.advance(everyMs)
      this.round()
    }
  }

  /** Lets time pass until `condition` holds. @returns milliseconds it took */
  until(what: string, condition: () => boolean, maxMs = 60_000, everyMs = 5): number {
    const startMs = this.clock.nowMs()
    while (!condition()) {
      if (this.clock.nowMs() - startMs > maxMs) throw new Error(`not within ${maxMs} ms: ${what}`)
      this.clock.advance(everyMs)
      this.round()
    }
    return this.clock.nowMs() - startMs
  }

  /** All replicas in sync, all logs equally long, all answers given. */
  converge(maxMs = 60_000): number {
    return this.until('the cluster converges', () => this.isConverged(), maxMs)
  }

  isConverged(): boolean {
    if (!this.isFollowed() || this.#sent.size > 0) return false
    for (let partition = 0; partition < this.partitions; partition++) {
      const { leader, replicas, inSyncReplicas } = this.registration(partition)
      if (inSyncReplicas.length !== replicas.length) return false
      const end = this.logEndOffset(leader, partition)
      if (this.highWatermark(leader, partition) !== end) return false
      if (replicas.some((replica) => this.logEndOffset(replica, partition) !== end)) return false
    }
    return true
  }

  // ── brokers come and go ──────────────────────────────────────────────────────────────────────

  start(broker: number): void {
    const id = brokerId(broker)
    const directory = this.directory(broker)
    fs.mkdirSync(directory, { recursive: true })
    const files = fs.readdirSync(directory)
    const config = logConfigOf(topicConfigFromEntries(new Map(Object.entries(this.#topic))))
    for (const name of files) {
      recoverLog(path.join(directory, name), { recoveryPoint: 0, logStartOffset: 0, config })
    }
    const ring = this.ring(broker)
    if (ring.closed) ring.reopen()
    const [brokerEnd, controllerEnd] = localChannel<ControllerRequest, ControllerResponse>()
    const disk = new WorkerDisk()
    const incarnation = ++this.#incarnations
    const node = new BrokerNode({
      identity: {
        brokerId: id,
        incarnationId: Buffer.alloc(16, incarnation).toString('base64url'),
        clusterId: clusterIdText,
        previousBrokerEpoch: -1,
        previousIncarnationEnded: files.length > 0,
      },
      memory: this.memory,
      config: this.config,
      stored: {
        recoveryPoint: new Map(),
        highWatermark: this.#checkpoints.get(broker) ?? new Map(),
        logStartOffset: new Map(),
      },
      brokerDirectory: (each) => this.directory(each),
      channel: {
        send: (message) => {
          if (!disk.isEnded) brokerEnd.send(message)
        },
        receive: () => brokerEnd.receive(),
      },
      clock: this.clock,
      fs: disk,
    })
    disk.onEnd = () => {
      this.#restore = this.#snapshot()
    }
    this.board.setState(id, brokerState.running)
    this.#lives[broker] = { node, disk, connection: incarnation, controllerEnd }
  }

  /** The thread ends between two steps. What it had open is closed, nothing is flushed. */
  kill(broker: number): void {
    const { disk, connection } = this.#life(broker)
    disk.closeAll()
    this.#restore?.()
    this.#restore = undefined
    this.#lives[broker] = undefined
    this.frozen.delete(broker)
    const id = brokerId(broker)
    this.board.setState(id, brokerState.dead)
    for (let other = 1; other <= this.brokers; other++) {
      if (other === broker) continue
      this.board.forceReaderDetached(id, brokerId(other))
      this.board.forceReaderDetached(brokerId(other), id)
    }
    this.board.settlePoll(id)
    this.board.forgetPartitions(id)
    this.ring(broker).close()
    this.controller.connectionClosed(connection)
  }

  /** As `replication-offset-checkpoint` would have it now. */
  checkpoint(broker: number): void {
    const entries = this.node(broker).highWatermarks()
    const byName = entries.map((each) => [`${each.topic}-${each.partition}`, each.offset] as const)
    this.#checkpoints.set(broker, new Map(byName))
  }

  directory(broker: number): string {
    return path.join(this.#directory, `broker-${broker}`)
  }

  // ── producing ────────────────────────────────────────────────────────────────────────────────

  /**
   * Sends one batch of `count` records with values that never repeat, padded to `valueBytes`.
   *
   * @returns its ticket; -1 when the producer is back-pressured or the leader is away
   */
  produce(partition = 0, count = 1, valueBytes = 0, acks = -1, timeoutMs = 30_000): number {
    const values = Array.from({ length: count }, () => {
      return `p${partition}-${++this.#values}-`.padEnd(valueBytes, 'x')
    })
    const records = values.map((value) => textRecord(value, Math.floor(this.clock.nowMs())))
    const index = partitionIndex(partition)
    const bound = batchSizeBound(records)
    if (this.producer.tryClaim(index, bound) !== 'claimed') return -1
    const { claimMemory, claimPosition } = this.producer
    this.#encoder.begin(claimMemory, claimPosition, bound, { compression: 'none' })
    for (const record of records) this.#encoder.tryAppend(record)
    const ticket = this.producer.commit(index, this.#encoder.finish(), acks, timeoutMs)
    if (acks !== 0) this.#sent.set(ticket, { partition, values, acks })
    return ticket
  }

  /** The answer to one batch; undefined: none yet. */
  answer(ticket: number): Acknowledgement | undefined {
    return this.acknowledged.find((each) => each.ticket === ticket)
  }

  get unanswered(): number {
    return this.#sent.size
  }

  /** Failures of logs that brokers told of. */
  failures(): string[] {
    return this.news.flatMap((each) => each.failures.map(({ message }) => message))
  }

  /** A high watermark never goes back within a tenure and is never above the end of one in sync. */
  checkHighWatermarks(): void {
    for (let partition = 0; partition < this.partitions; partition++) {
      const registration = this.controller.image.partition(partitionIndex(partition))
      if (registration === undefined || registration.leader < 1) continue
      const { leader, leaderEpoch, index, inSyncReplicas } = registration
      if (!this.isAlive(leader) || this.board.ledEpoch(leader, index) !== leaderEpoch) continue
      const highWatermark = this.board.highWatermark(leader, index)
      const tenure = `${partition} of ${leader} in epoch ${leaderEpoch}`
      const before = this.#highest.get(tenure) ?? 0
      if (highWatermark < before) {
        throw new Error(`high watermark of ${tenure}: ${highWatermark} after ${before}`)
      }
      this.#highest.set(tenure, highWatermark)
      for (const replica of inSyncReplicas) {
        const end = this.board.logEndOffset(replica, index)
        if (end >= highWatermark) continue
        throw new Error(`high watermark of ${tenure}: ${highWatermark}, ${replica} ends at ${end}`)
      }
    }
  }

  #life(broker: number): Life {
    const life = this.#lives[broker]
    if (life === undefined) throw new Error(`broker ${broker} is not alive`)
    return life
  }

  #deliver(connection: number, response: ControllerResponse): void {
    if (connection === routesConnection) {
      if (response.type === 'metadataUpdate') this.#setRoutes(response)
      return
    }
    for (const [broker, life] of this.#lives.entries()) {
      if (life?.connection !== connection || this.cutOff.has(broker)) continue
      if (response.type === 'alterPartitionResponse') this.alterResponses.push(response)
      life.controllerEnd.send(response)
    }
  }

  #setRoutes(update: MetadataUpdate): void {
    for (const record of update.records) {
      if (record.type !== 'partition' && record.type !== 'partitionChange') continue
      const of = this.controller.image.partitionOf(record.topicId, record.partitionId)
      if (of !== undefined) this.board.setRoute(of.index, of.leader, of.leaderEpoch)
    }
  }

  /** All shared memory as it is now: what the code does after a thread's end must leave no trace. */
  #snapshot(): () => void {
    const { board, rings, acks } = this.memory
    const buffers = [
      board.buffer,
      acks.buffer,
      ...rings.flatMap((ring) => [ring.data, ring.control]),
    ]
    const copies = buffers.map((buffer) => new Uint8Array(buffer).slice())
    return () => {
      for (const [at, buffer] of buffers.entries()) new Uint8Array(buffer).set(copies[at]!)
    }
  }
}
