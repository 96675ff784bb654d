/**
 * Cluster: a whole broker cluster inside this process: brokers and controller as threads, their
 * logs in one directory, producers and consumers here. The composition root: it builds, starts,
 * stops.
 *
 *   <directory>/controller/            metadata log
 *   <directory>/broker-1/ …            one log directory a broker, in Apache Kafka's format
 */
import path from 'node:path'
import type { Registry } from 'prom-client'
import { type ConsumeOptions, consume } from './client/consumer.ts'
import { ControllerClient } from './client/controller-client.ts'
import { Producer } from './client/producer.ts'
import type { ProducerOptions } from './client/producer-options.ts'
import { TopicIndexes } from './client/topic-indexes.ts'
import { WakeLoop } from './client/wake-loop.ts'
import { systemClock } from './clock.ts'
import { ClusterAdmin } from './cluster-admin.ts'
import { closeParts } from './cluster-closing.ts'
import { deleteRecords, deleteRecordsTimeoutDefaultMs } from './cluster-delete-records.ts'
import { describePartition, type PartitionDescription } from './cluster-describe.ts'
import type { ClusterEvent, ClusterEventListener } from './cluster-events.ts'
import { ClusterFaults } from './cluster-faults.ts'
import { InvariantWatch } from './cluster-invariants.ts'
import { lockCluster } from './cluster-lock.ts'
import { ClusterMetrics, type MetricsOptions } from './cluster-metrics.ts'
import {
  type ClusterOptions,
  type CreateTopicOptions,
  checkedBrokers,
  checkedRate,
  checkMinInSyncReplicas,
} from './cluster-options.ts'
import { replicasOf } from './cluster-placement.ts'
import { type ReadinessParts, readiness, service } from './cluster-readiness.ts'
import { launchController, openBroker, type StartingParts } from './cluster-starting.ts'
import { waitUntil } from './cluster-waiting.ts'
import { type ClusterConfig, clusterConfig, topicConfigEntries } from './config.ts'
import { TidemarkError } from './errors.ts'
import { type BrokerId, brokerId, type PartitionIndex } from './ids.ts'
import type { LogDirectory } from './log/log-directory.ts'
import type { LogRecord } from './log/record.ts'
import type { PartitionRegistration } from './replication/registration.ts'
import type { BrokerHost } from './workers/broker-host.ts'
import { allocateClusterMemory, type ClusterMemory, clientSlot } from './workers/cluster-memory.ts'
import type { ControllerHost } from './workers/controller-host.ts'
import { ProgressBoard } from './workers/progress-board.ts'
import { RingProducer } from './workers/ring-producer.ts'
import { TaskPool } from './workers/task-pool.ts'

export class Cluster {
  readonly directory: string
  readonly clusterId: string
  readonly config: ClusterConfig
  /** For generators and samplers that live in threads of their own. */
  readonly memory: ClusterMemory
  readonly board: ProgressBoard
  /** What else can be made to go wrong with a broker. */
  readonly faults: ClusterFaults
  /** Partitions, settings, replicas and leaders of topics that exist. */
  admin!: ClusterAdmin
  readonly #lock: LogDirectory
  readonly #tasks = new TaskPool()
  readonly #listeners = new Set<ClusterEventListener>()
  readonly #producers = new Set<Producer>()
  readonly #indexes = new TopicIndexes()
  readonly #starting = new Set<Promise<void>>()
  readonly #ring: RingProducer
  readonly #wakeLoop: WakeLoop
  /** Aborted when `close` is called. */
  readonly #closed = new AbortController()
  #controller!: ControllerHost
  #client!: ControllerClient
  #brokers: BrokerHost[] = []
  #closing: Promise<void> | undefined
  readonly #watch: InvariantWatch
  readonly #metrics: ClusterMetrics

  private constructor(options: ClusterOptions, config: ClusterConfig, lock: LogDirectory) {
    this.directory = path.resolve(options.directory)
    this.clusterId = lock.properties.clusterId
    this.config = config
    this.#lock = lock
    const partitionsMax = config['partitions.max']
    const shape = { brokers: options.brokers ?? 3, partitionsMax, ringBytes: config['ring.bytes'] }
    this.memory = allocateClusterMemory({ ...shape, originMs: systemClock.nowMs() })
    this.board = new ProgressBoard(this.memory.board)
    this.faults = new ClusterFaults(this.board, (id) => this.#host(id))
    this.#ring = new RingProducer(this.memory, clientSlot.application)
    this.#wakeLoop = new WakeLoop(this.#ring.doorbell)
    this.#watch = new InvariantWatch(this.board, (violation) =>
      this.#emit({ type: 'invariantViolated', ...violation }),
    )
    this.#metrics = new ClusterMetrics(this.board, this.memory.lags, () => this.#client.image)
    this.#listeners.add(this.#metrics.take)
    if (options.onEvent !== undefined) this.#listeners.add(options.onEvent)
  }

  /**
   * Opens or creates a cluster and resolves when every broker is unfenced and every partition that
   * can have a leader has one.
   *
   * @throws {TidemarkError} INVALID_ARGUMENT, INVALID_CONFIG, DIRECTORY_IN_USE, CORRUPT_FILE and
   *   what opening logs throws; then nothing is left running and the directory is free
   */
  static async open(options: ClusterOptions): Promise<Cluster> {
    const brokers = checkedBrokers(options.brokers)
    const config = clusterConfig(options.config)
    const lock = lockCluster(path.resolve(options.directory))
    const cluster = new Cluster(options, config, lock)
    try {
      await cluster.#start(brokers)
      if (options.checkInvariants === true) cluster.#watch.start(cluster.#client.image)
    } catch (error) {
      await cluster.close()
      throw error
    }
    return cluster
  }

  get brokerIds(): BrokerId[] {
    return this.#brokers.map((host) => host.brokerId)
  }

  onEvent(listener: ClusterEventListener): void {
    this.#listeners.add(listener)
  }

  offEvent(listener: ClusterEventListener): void {
    this.#listeners.delete(listener)
  }

  /**
   * Creates a topic and resolves when each partition's leader leads and its followers follow.
   *
   * @throws {TidemarkError} INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS,
   *   INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG
   */
  async createTopic(topic: string, options: CreateTopicOptions): Promise<void> {
    this.#assertOpen()
    const { config = {} } = options
    const replicas = replicasOf(options, this.brokerIds)
    const configs = topicConfigEntries(config)
    checkMinInSyncReplicas(config, replicas[0].length)
    await this.#client.createTopic({ topic, assignments: replicas, configs })
    await this.#untilServed(topic)
  }

  /** Indexes of a topic's partitions, by partition; undefined when there is no such topic. */
  partitionsOf(topic: string): readonly PartitionIndex[] | undefined {
    return this.#indexes.of(this.#client.image.topicNamed(topic))
  }

  topics(): string[] {
    return Array.from(this.#client.image.topics(), ({ name }) => name)
  }

  /** @throws {TidemarkError} INVALID_REQUIRED_ACKS, INVALID_ARGUMENT */
  producer(options: ProducerOptions = {}): Producer {
    this.#assertOpen()
    const producer: Producer = new Producer({
      ring: this.#ring,
      wakeLoop: this.#wakeLoop,
      lookup: (topic) => this.partitionsOf(topic),
      nowMs: () => systemClock.nowMs(),
      poll: () => this.#pollAcknowledgements(),
      producerId: () => this.#client.producerIds.next(),
      options,
      onClosed: () => this.#producers.delete(producer),
    })
    this.#producers.add(producer)
    return producer
  }

  /**
   * A partition's committed records, in order, waiting for more at the end.
   *
   * @throws {TidemarkError} UNKNOWN_TOPIC_OR_PARTITION; while iterating OFFSET_OUT_OF_RANGE,
   *   CORRUPT_MESSAGE
   */
  consume(options: ConsumeOptions): AsyncGenerator<LogRecord, void, undefined> {
    this.#assertOpen()
    return consume({
      index: this.#indexOf(options.topic, options.partition),
      board: this.board,
      wakeLoop: this.#wakeLoop,
      brokerDirectory: (id) => this.brokerDirectory(id),
      watchWord: this.board.clientWatchWord(clientSlot.application),
      findOffset: (query) => this.#tasks.findOffset(query),
      closed: this.#closed.signal,
      options,
    })
  }

  /**
   * Leader, epochs, in-sync replicas and where each replica is.
   *
   * @throws {TidemarkError} UNKNOWN_TOPIC_OR_PARTITION
   */
  describe(topic: string, partition: number): PartitionDescription {
    return this.describeIndex(this.#indexOf(topic, partition))
  }

  describeIndex(index: PartitionIndex): PartitionDescription {
    return describePartition(this.registration(index), this.board)
  }

  /** The partition's committed registration, as last heard from the controller. */
  registration(index: PartitionIndex): PartitionRegistration | undefined {
    return this.#client.image.partition(index)
  }

  /**
   * Kafka's metrics and ours as a prom-client registry: `await registry.metrics()` is the text that
   * Prometheus scrapes. Values are read then, so one registry serves for as long as the cluster.
   *
   * @throws {TidemarkError} INVALID_ARGUMENT
   */
  metrics(options: MetricsOptions = {}): Registry {
    this.#assertOpen()
    return this.#metrics.registry(options)
  }

  brokerDirectory(id: BrokerId): string {
    return path.join(this.directory, `broker-${id}`)
  }

  /**
   * Deletes a partition's records below `offset` (-1: below the high watermark), on all living
   * replicas. Resolves to where the log starts then. @throws {TidemarkError} as `deleteRecords`
   */
  deleteRecords(
    topic: string,
    partition: number,
    offset: number,
    { timeoutMs = deleteRecordsTimeoutDefaultMs }: { readonly timeoutMs?: number } = {},
  ): Promise<number> {
    const { image } = this.#client
    const host = (id: BrokerId) => this.#host(id)
    const parts = { image, board: this.board, host, closed: this.#closed.signal }
    return deleteRecords(parts, this.#indexOf(topic, partition), offset, timeoutMs)
  }

  /**
   * Freezes a broker's thread until `resume`.
   *
   * @throws {TidemarkError} INVALID_ARGUMENT, BROKER_NOT_AVAILABLE
   */
  async pause(id: number): Promise<void> {
    await this.#host(id).pause()
  }

  resume(id: number): void {
    this.#host(id).resume()
  }

  /** Ends a broker's thread without warning, perhaps in the middle of a write. */
  async kill(id: number): Promise<void> {
    await this.#host(id).kill()
  }

  /** Ends a broker when its leaderships have moved away; false: not within `timeoutMs`. */
  async stopBroker(id: number, timeoutMs = 300_000): Promise<boolean> {
    return await this.#host(id).shutDown(timeoutMs)
  }

  /** Ends the controller's thread without warning; another takes over after `awayMs`. */
  killController(awayMs = 0): Promise<void> {
    return this.#controller.kill(awayMs)
  }

  /** Starts a broker that has ended: its logs are recovered, it registers anew and catches up. */
  async restart(id: number): Promise<void> {
    const starting = this.#host(id).start()
    this.#starting.add(starting)
    await starting.finally(() => this.#starting.delete(starting))
  }

  /** Bytes a second that a broker may append as a follower; 0: no limit. */
  throttle(id: number, bytesPerSec: number): void {
    this.board.setThrottleBytesPerSec(this.#host(id).brokerId, checkedRate(bytesPerSec))
  }

  /** Bytes a second that a broker may read from its leaders' files; 0: no limit. */
  limitCatchUp(id: number, bytesPerSec: number): void {
    this.board.setCatchUpBytesPerSec(this.#host(id).brokerId, checkedRate(bytesPerSec))
  }

  /**
   * Closes everything and gives the directory back. Idempotent.
   *
   * @param options `flush: false` leaves out the fsync of every log, and the mark of a clean
   *   shutdown: for data that is thrown away; opened again, it goes through recovery
   */
  close(options: { readonly flush: boolean } = { flush: true }): Promise<void> {
    this.#closing ??= this.#close(options)
    return this.#closing
  }

  async #start(brokers: number): Promise<void> {
    const parts: StartingParts = {
      ...{ memory: this.memory, config: this.config, clusterId: this.clusterId },
      ...{ directory: this.directory, tasks: this.#tasks, emit: (event) => this.#emit(event) },
    }
    // Its thread starts while directories are locked and the others' threads are made.
    this.#controller = launchController(parts, () => {
      this.#client.reconnect(this.#controller.connect(0).port)
      for (const host of this.#brokers) host.reconnectController()
    })
    const { port } = this.#controller.connect(0)
    this.#client = new ControllerClient(port, () => this.#controller.wake())
    const served = (topic: string, from: number) => this.#untilServed(topic, from)
    this.admin = new ClusterAdmin(this.#client, () => this.brokerIds, served)
    const directoryOf = (_: unknown, at: number) => this.brokerDirectory(brokerId(at + 1))
    const directories = Array.from({ length: brokers }, directoryOf)
    for (const at of directories.keys()) {
      this.#brokers.push(openBroker(parts, this.#controller, directories, at))
    }
    await Promise.all(this.#brokers.map((host) => host.recover()))
    for (const host of this.#brokers) await host.start()
    await this.#controller.started
    await this.#until(readiness(this.#readiness, this.brokerIds))
  }

  get #readiness(): ReadinessParts {
    const isRunning = (id: BrokerId) => this.#brokers[id - 1]!.isRunning
    return { image: this.#client.image, board: this.board, isRunning }
  }

  async #close(options: { readonly flush: boolean }): Promise<void> {
    this.#watch.stop()
    this.#closed.abort()
    for (const producer of [...this.#producers]) producer.abort()
    await Promise.allSettled(this.#starting)
    const parts = { brokers: this.#brokers, controller: this.#controller, client: this.#client }
    await closeParts({ ...parts, tasks: this.#tasks, lock: this.#lock }, options)
  }

  #pollAcknowledgements(): void {
    this.#ring.poll((ticket, errorNumber, baseOffset) => {
      for (const producer of this.#producers) {
        if (producer.onAcknowledged(ticket, errorNumber, baseOffset)) return
      }
    })
  }

  #emit(event: ClusterEvent): void {
    for (const listener of this.#listeners) listener(event)
  }

  #indexOf(topic: string, partition: number): PartitionIndex {
    const index = this.partitionsOf(topic)?.[partition]
    if (index !== undefined) return index
    throw new TidemarkError('UNKNOWN_TOPIC_OR_PARTITION', `no partition ${topic}-${partition}`)
  }

  #host(id: number): BrokerHost {
    this.#assertOpen()
    const host = this.#brokers[id - 1]
    if (host !== undefined) return host
    const detail = `broker ${id}: allowed are 1 to ${this.#brokers.length}`
    throw new TidemarkError('INVALID_ARGUMENT', detail)
  }

  #assertOpen(): void {
    if (this.#closing !== undefined)
      throw new TidemarkError('BROKER_CLOSED', 'the cluster is closed')
  }

  #untilServed(topic: string, from = 0): Promise<void> {
    const partitions = () => this.partitionsOf(topic)?.slice(from)
    return this.#until(service(this.#readiness, partitions))
  }

  #until(condition: () => boolean): Promise<void> {
    return waitUntil(condition, this.#listeners, () => this.#assertOpen())
  }
}
