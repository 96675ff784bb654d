/**
 * Brokers and controller in one thread, over real shared memory and real files, stepped in any
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
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { limits } from '../../src/limits.ts'
import { logConfigOf } from '../../src/log/log-config.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
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
import type { BrokerNews } from '../../src/workers/broker-news.ts'
import { BrokerNode } from '../../src/workers/broker-node.ts'
import { type Channel, localChannel } from '../../src/workers/channel.ts'
import type { ClusterMemory } from '../../src/workers/cluster-memory.ts'
import { allocateLagTables } from '../../src/workers/lag-table.ts'
import { brokerState, ProgressBoard } from '../../src/workers/progress-board.ts'
import { allocateProgressBoard } from '../../src/workers/progress-board-layout.ts'
import { MemoryMetadataLog } from '../replication/controller/memory-metadata-log.ts'
import { temporaryDirectory } from './temporary-directory.ts'
import { WorkerDisk } from './worker-disk.ts'

export interface WorkerClusterOptions {
  readonly brokers?: number
  /** Replicas of each partition, the first leading. Default: one partition on all brokers. */
  readonly assignments?: readonly (readonly number[])[]
  readonly config?: ClusterConfigInput
  readonly topic?: Readonly<Record<string, string>>
  readonly partitionsMax?: number
  /** Answers that a producer may wait for at one broker; a power of two. */
  readonly ackCapacity?: number
}

interface Life {
  readonly node: BrokerNode
  readonly disk: WorkerDisk
  readonly connection: number
  readonly controllerEnd: Channel<ControllerResponse, ControllerRequest>
}

export const topicName = 'events'
const routesConnection = 0
const supervisorConnection = -1
const ackCapacityDefault = 1_024
const clusterIdText = 'tidemark-test-cluster'

export class WorkerBrokers {
  readonly clock = new ManualClock()
  readonly config: ClusterConfig
  readonly memory: ClusterMemory
  readonly board: ProgressBoard
  readonly controller: Controller
  readonly brokers: number
  readonly frozen = new Set<number>()
  /** Brokers whose messages to and from the controller are held up. */
  readonly cutOff = new Set<number>()
  /** Keeps answers to registrations back while it is true. */
  holdRegistration = false
  readonly news: BrokerNews[] = []
  readonly alterRequests: AlterPartitionRequest[] = []
  readonly alterResponses: AlterPartitionResponse[] = []
  readonly #directory = temporaryDirectory()
  readonly #topic: Readonly<Record<string, string>>
  readonly #lives: (Life | undefined)[] = []
  readonly #checkpoints = new Map<number, Map<string, number>>()
  #incarnations = 0
  #held: [number, ControllerResponse][] = []
  #restore: (() => void) | undefined

  constructor(options: WorkerClusterOptions) {
    this.brokers = options.brokers ?? 3
    this.#topic = options.topic ?? {}
    this.config = clusterConfig({
      'ring.bytes': limits.ringBytesMin,
      'replica.lag.time.max.ms': 1_000,
      ...options.config,
    })
    const { brokers } = this
    const { partitionsMax = 64, ackCapacity = ackCapacityDefault } = options
    const shape = { brokers, partitionsMax, clients: limits.producersMax }
    this.memory = {
      board: allocateProgressBoard(shape, this.clock.nowMs()),
      rings: Array.from({ length: brokers }, () => allocateBatchRing(this.config['ring.bytes'])),
      acks: allocateAckRings(limits.producersMax, brokers, ackCapacity),
      lags: allocateLagTables(brokers),
    }
    this.board = new ProgressBoard(this.memory.board)
    this.controller = new Controller({
      log: new MemoryMetadataLog(),
      clock: this.clock,
      clusterId: clusterIdText,
      config: { brokerSessionTimeoutMs: this.config['broker.session.timeout.ms'], partitionsMax },
    })
    this.controller.handle(routesConnection, { type: 'subscribeMetadata', fromOffset: 0 })
  }

  createTopic(assignments: readonly (readonly number[])[]): void {
    this.controller.handle(routesConnection, {
      type: 'createTopic',
      correlationId: 1,
      topic: topicName,
      assignments: assignments.map((replicas) => replicas.map(brokerId)),
      configs: this.#topic,
    })
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
    if (life.node.failure !== undefined) this.#bury(broker)
    return work
  }

  stepController(): number {
    let work = 0
    const held = this.#held.splice(0)
    for (const [connection, response] of held) this.#deliver(connection, response)
    for (const [broker, life] of this.#lives.entries()) {
      if (this.cutOff.has(broker)) continue
      for (
        let request = life?.controllerEnd.receive();
        request;
        request = life?.controllerEnd.receive()
      ) {
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

  // ── brokers come and go ──────────────────────────────────────────────────────────────────────

  /** Recovers the broker's logs and begins a new life. @returns bytes that recovery cut off */
  start(broker: number): number {
    const id = brokerId(broker)
    const directory = this.directory(broker)
    fs.mkdirSync(directory, { recursive: true })
    const files = fs
      .readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
    const config = logConfigOf(topicConfigFromEntries(new Map(Object.entries(this.#topic))))
    const options = { recoveryPoint: 0, logStartOffset: 0, config }
    let cutBytes = 0
    for (const name of files) {
      cutBytes += recoverLog(path.join(directory, name), options).truncatedBytes
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
        isClean: true,
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
    return cutBytes
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

  /** As the supervisor does it with one that stopped itself: the controller is told at once. */
  #bury(broker: number): void {
    const id = brokerId(broker)
    const { brokerEpoch } = this.node(broker).link
    this.kill(broker)
    this.controller.handle(supervisorConnection, {
      type: 'brokerHeartbeat',
      correlationId: 1,
      brokerId: id,
      brokerEpoch,
      metadataOffset: 0,
      wantFence: true,
      wantShutDown: false,
    })
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
      if (life?.connection !== connection) continue
      const isAnswer = response.type === 'registerBrokerResponse'
      if (this.cutOff.has(broker) || (isAnswer && this.holdRegistration)) {
        this.#held.push([connection, response])
        return
      }
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

  /** All shared memory as it is now: code that runs after a thread's end must leave no trace. */
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
