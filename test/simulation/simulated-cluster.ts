/**
 * Brokers and controller in one thread, over real shared memory, a simulated clock, disk and
 * network: the very classes that threads run. Any call to disk or clock may be interrupted: others
 * go on in the middle of a step, or the thread ends there.
 */
import { ManualClock } from '../../src/clock.ts'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import type { Controller } from '../../src/replication/controller/controller.ts'
import type {
  AlterPartitionRequest,
  ControllerRequest,
  ControllerResponse,
} from '../../src/replication/messages.ts'
import { leaderNone, type PartitionRegistration } from '../../src/replication/registration.ts'
import type { ClusterMemory } from '../../src/workers/cluster-memory.ts'
import { ProgressBoard } from '../../src/workers/progress-board.ts'
import { FaultyFileSystem } from '../support/faulty-file-system.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'
import { Truncations } from './broker-tallies.ts'
import type { Coverage } from './coverage.ts'
import { noteControllerEvents, noteNews } from './noted-events.ts'
import type { Scenario } from './scenario.ts'
import { SimulatedBroker } from './simulated-broker.ts'
import {
  controllerDirectory,
  SimulatedController,
  supervisorConnection,
} from './simulated-controller.ts'
import { ThreadEnded } from './simulated-disk.ts'
import { type NetworkWeather, SimulatedLink } from './simulated-link.ts'
import { freshMemory, originMs, snapshotMemory } from './simulated-memory.ts'

/** 0: the controller. */
export type Actor = number

export interface ClusterObserver {
  /** Before a thread's call to disk or clock. */
  called(actor: Actor, mayGoOn: boolean): void
  /** The controller committed something. */
  committed(before: PartitionRegistration | undefined, after: PartitionRegistration): void
  registered(broker: SimulatedBroker): void
  proposed(request: AlterPartitionRequest, before: PartitionRegistration[]): void
  /** A thread failed with what nobody foresaw. */
  failed(actor: Actor, error: unknown): void
}

export class SimulatedCluster {
  readonly clock = new ManualClock(originMs)
  readonly coverage: Coverage
  readonly disk = new MemoryFileSystem()
  readonly memory: ClusterMemory
  readonly board: ProgressBoard
  readonly brokers: SimulatedBroker[]
  readonly controller: SimulatedController
  /** Calm until the first topic is made. */
  readonly weather: NetworkWeather = { latencyMsMax: 0, lossOfHeartbeat: 0, duplication: 0 }
  readonly #scenario: Scenario
  readonly #random: SeededRandom
  readonly #observer: ClusterObserver
  readonly #registrations: PartitionRegistration[] = []
  readonly #brokerEpochs: number[] = []
  readonly #running = new Set<Actor>()
  /** Of brokers that died: what they had sent may still arrive. */
  #ghosts: SimulatedLink[] = []
  readonly #truncations: Truncations
  #committedEnd = 0
  #connections = supervisorConnection

  constructor(
    scenario: Scenario,
    random: SeededRandom,
    coverage: Coverage,
    observer: ClusterObserver,
  ) {
    const { brokers, config, ringStart } = scenario
    this.#scenario = scenario
    this.#random = random
    this.#observer = observer
    this.coverage = coverage
    this.memory = freshMemory(brokers, config['partitions.max'], ringStart)
    this.board = new ProgressBoard(this.memory.board)
    this.#truncations = new Truncations(this.board, coverage)
    this.disk.makeDirectory(controllerDirectory)
    this.controller = new SimulatedController({
      machine: new FaultyFileSystem(this.disk, random),
      clock: this.clock,
      sessionTimeoutMs: config['broker.session.timeout.ms'],
      partitionsMax: config['partitions.max'],
      isSynced: scenario.metadataIsSynced,
      ...scenario,
      onCall: (mayGoOn) => observer.called(0, mayGoOn),
    })
    this.brokers = Array.from({ length: brokers }, (_, row) => this.#makeBroker(row + 1))
    this.disk.syncDirectory('/')
  }

  broker(id: number): SimulatedBroker {
    return this.brokers[id - 1]
  }

  get partitions(): number {
    return this.controller.image.partitionIndexesEnd
  }

  registration(partition: number): PartitionRegistration | undefined {
    return this.controller.image.partition(partitionIndex(partition))
  }

  isRunning(actor: Actor): boolean {
    return this.#running.has(actor)
  }

  get isInterrupted(): boolean {
    return this.#running.size > 0
  }

  // ── steps ────────────────────────────────────────────────────────────────────────────────────

  /** One step of a broker; a frozen, dead or interrupted one does nothing. */
  step(id: number): number {
    const broker = this.broker(id)
    const { life } = broker
    if (life === undefined || broker.isFrozen || this.#running.has(id)) return 0
    let work = 0
    this.#running.add(id)
    try {
      work = life.node.step()
    } catch (error) {
      if (!life.disk.isEnded) this.#observer.failed(id, error)
    }
    this.#running.delete(id)
    if (life.disk.isEnded) {
      this.#settle(broker, undefined)
      return 1
    }
    noteNews(this.coverage, life.node.takeNews())
    this.#truncations.note(broker, this.partitions)
    if (life.node.failure !== undefined) this.#bury(broker)
    return work
  }

  /** The thread ends right here, in the middle of its step; to be called by its own call. */
  endInside(actor: Actor): never {
    if (actor === 0) this.controller.disk!.end()
    else {
      const life = this.broker(actor).life!
      life.restoreAtEnd = snapshotMemory(this.memory)
      life.disk.end()
    }
    throw new ThreadEnded('the thread ends here')
  }

  stepController(): number {
    const { controller, disk } = this.controller
    if (controller === undefined || this.#running.has(0)) return 0
    this.#running.add(0)
    let work = 0
    try {
      work = this.#receiveAll()
      work += controller.step(this.clock.nowMs())
      this.#noteCommitted()
      this.#setRoutes(controller)
      if (!disk!.isEnded)
        work += controller.takeOutgoing((to, response) => this.#send(to, response))
      noteControllerEvents(this.coverage, controller.takeEvents())
    } catch (error) {
      if (!disk!.isEnded) this.#observer.failed(0, error)
    }
    this.#running.delete(0)
    if (disk!.isEnded) {
      this.coverage.count('controller killed inside a step')
      this.controller.end(undefined)
    }
    return work
  }

  // ── threads come and go ──────────────────────────────────────────────────────────────────────

  startController(): void {
    if (this.controller.controller !== undefined) return
    this.controller.start()
    this.#noteCommitted()
    for (const { id, life } of this.brokers) if (life !== undefined) this.reconnect(id)
  }

  /** @param loss decides what the controller's machine loses; absent: only the thread ends */
  killController(loss?: SeededRandom): void {
    if (this.controller.controller === undefined || this.#running.has(0)) return
    this.coverage.count(loss === undefined ? 'controller killed' : 'controller crashed')
    // A metadata log that isn't synced may forget epochs that brokers know: it is not promised.
    this.controller.end(this.#scenario.metadataIsSynced ? loss : undefined)
  }

  start(id: number): void {
    const broker = this.broker(id)
    if (broker.life !== undefined) return
    const link = new SimulatedLink(++this.#connections, this.weather, this.#random, () => {
      return this.clock.nowMs()
    })
    let cutBytes: number | undefined
    try {
      cutBytes = broker.start(link)
    } catch (error) {
      this.#observer.failed(id, error)
    }
    this.coverage.count(cutBytes === undefined ? 'start failed' : 'start')
    if (cutBytes !== undefined && cutBytes > 0) this.coverage.count('recovery cut a tail')
  }

  /** The thread ends between two steps. */
  kill(id: number): void {
    const broker = this.#endable(id)
    if (broker !== undefined) this.#settle(broker, 'killed')
  }

  /** The broker's machine loses its power, and what nobody had synced. */
  crash(id: number, random: SeededRandom): void {
    const broker = this.#endable(id)
    if (broker === undefined) return
    this.#settle(broker, 'crashed')
    this.disk.crashDirectory(broker.directory, random)
    broker.hasLostData = true
  }

  /** The broker loses its disk. */
  wipe(id: number): void {
    const broker = this.#endable(id)
    if (broker === undefined) return
    this.#settle(broker, 'wiped')
    this.disk.removeDirectory(broker.directory)
    this.disk.makeDirectory(broker.directory)
    this.disk.syncDirectory('/')
    broker.hasLostData = true
  }

  stopCleanly(id: number): void {
    const broker = this.#endable(id)
    if (broker === undefined) return
    const { connection } = broker.life!.link
    this.coverage.count('stopped cleanly')
    broker.stopCleanly()
    this.controller.controller?.connectionClosed(connection)
  }

  /** The connection breaks, and is made again from both sides. */
  reconnect(id: number): void {
    const { life } = this.broker(id)
    if (life === undefined || this.#running.has(0)) return
    const { link, node } = life
    this.controller.controller?.connectionClosed(link.connection)
    link.reconnect(++this.#connections, node.link.image.endOffset)
    node.leaders.onControllerLost(this.clock.nowMs())
  }

  #makeBroker(id: number): SimulatedBroker {
    const { memory, clock } = this
    const broker = new SimulatedBroker({
      id,
      machine: new FaultyFileSystem(this.disk, this.#random),
      memory,
      config: this.#scenario.config,
      clock,
      onCall: (mayGoOn) => this.#observer.called(id, mayGoOn),
    })
    this.disk.makeDirectory(broker.directory)
    return broker
  }

  /** One that stopped itself: the controller is told at once. */
  #bury(broker: SimulatedBroker): void {
    const { node } = broker.life!
    const { brokerEpoch } = node.link
    node.close({ flush: false })
    this.#settle(broker, 'stopped by its disk')
    if (brokerEpoch === -1 || this.#running.has(0)) return
    this.controller.controller?.handle(supervisorConnection, {
      type: 'brokerHeartbeat',
      correlationId: 1,
      brokerId: broker.id,
      brokerEpoch,
      metadataOffset: 0,
      wantFence: true,
      wantShutDown: false,
    })
    this.#noteCommitted()
  }

  #endable(id: number): SimulatedBroker | undefined {
    const broker = this.broker(id)
    return broker.life === undefined || this.#running.has(id) ? undefined : broker
  }

  #settle(broker: SimulatedBroker, how: string | undefined): void {
    const { link, node } = broker.life!
    const { connection } = link
    this.#ghosts.push(link)
    node.publishTally()
    this.coverage.count(how ?? 'killed inside a step')
    broker.settleEnd()
    this.controller.controller?.connectionClosed(connection)
  }

  // ── controller's mail ────────────────────────────────────────────────────────────────────────

  /** All that waits, before anybody is fenced for silence. */
  #receiveAll(): number {
    let taken = this.#receiveFromGhosts()
    for (const { life } of this.brokers) {
      if (life === undefined) continue
      const { link } = life
      for (
        let request = link.toController.receive();
        request !== undefined;
        request = link.toController.receive()
      ) {
        taken++
        this.#handle(link, request)
      }
    }
    return taken
  }

  /** Not their registrations: a connection carries none after its broker has died. */
  #receiveFromGhosts(): number {
    let taken = 0
    for (const link of this.#ghosts) {
      const request = link.toController.receive()
      if (request === undefined) continue
      taken++
      if (request.type === 'alterPartition' || request.type === 'brokerHeartbeat') {
        this.#handle(link, request)
      }
    }
    this.#ghosts = this.#ghosts.filter((link) => !link.toController.isEmpty)
    return taken
  }

  #handle(link: SimulatedLink, request: ControllerRequest): void {
    const proposal = request.type === 'alterPartition' ? request : undefined
    const before = proposal === undefined ? [] : this.#registrationsOf(proposal)
    this.controller.controller!.handle(link.connection, request)
    if (proposal !== undefined) this.#observer.proposed(proposal, before)
    this.#noteCommitted()
  }

  #registrationsOf(request: AlterPartitionRequest): PartitionRegistration[] {
    return request.items.map(({ partition }) => this.registration(partition)!)
  }

  #noteCommitted(): void {
    const { image } = this.controller
    if (image.endOffset === this.#committedEnd) return
    this.#committedEnd = image.endOffset
    for (let index = 0; index < image.partitionIndexesEnd; index++) {
      const after = image.partition(partitionIndex(index))
      const before = this.#registrations[index]
      if (after === undefined || after === before) continue
      this.#registrations[index] = after
      this.#observer.committed(before, after)
    }
    for (const broker of this.brokers) {
      const epoch = image.broker(broker.id)?.brokerEpoch ?? -1
      if (epoch === (this.#brokerEpochs[broker.id] ?? -1)) continue
      this.#brokerEpochs[broker.id] = epoch
      this.#observer.registered(broker)
    }
  }

  #send(connection: number, response: ControllerResponse): void {
    for (const { life } of this.brokers) {
      if (life?.link.connection === connection) life.link.toBroker.send(response)
    }
  }

  #setRoutes(controller: Controller): void {
    controller.takeChanged((index) => {
      const registration = controller.image.partition(index)
      const { leader, leaderEpoch } = registration ?? { leader: leaderNone, leaderEpoch: -1 }
      this.board.setRoute(index, leader, leaderEpoch)
    })
  }

  createTopics(): void {
    const { latencyMsMax, lossOfHeartbeat, duplication } = this.#scenario
    Object.assign(this.weather, { latencyMsMax, lossOfHeartbeat, duplication })
    for (const { name, assignments, configs } of this.#scenario.topics) {
      this.controller.controller!.handle(supervisorConnection, {
        type: 'createTopic',
        correlationId: 1,
        topic: name,
        assignments: assignments.map((replicas) => replicas.map(brokerId)),
        configs,
      })
    }
    this.#noteCommitted()
  }
}
