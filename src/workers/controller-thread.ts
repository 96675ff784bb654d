/** Entry of the controller's worker thread: its log, its connections, one loop. */
import { type MessagePort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import type { ClusterConfig } from '../config.ts'
import type { BrokerId } from '../ids.ts'
import { Controller, type ControllerConfig } from '../replication/controller/controller.ts'
import { nobodyAsked } from '../replication/controller/controller-events.ts'
import { MetadataLog } from '../replication/controller/metadata-log.ts'
import type { ControllerRequest, ControllerResponse } from '../replication/messages.ts'
import { leaderNone } from '../replication/registration.ts'
import { clientSlot } from './cluster-memory.ts'
import { Doorbell, ringDoorbell } from './doorbell.ts'
import { ProgressBoard } from './progress-board.ts'
import { restBeforeEnd } from './thread-end.ts'
import type {
  ControllerCommand,
  ControllerThreadData,
  ControllerThreadMessage,
} from './thread-messages.ts'

const idleMsMax = 500

interface Connection {
  readonly port: MessagePort
  readonly broker: BrokerId | 0
}

function controllerConfigOf(config: ClusterConfig): ControllerConfig {
  return {
    brokerSessionTimeoutMs: config['broker.session.timeout.ms'],
    partitionsMax: config['partitions.max'],
    eligibleLeaderReplicasVersion: config['eligible.leader.replicas.version'],
    elections: {
      rebalances: config['auto.leader.rebalance.enable'],
      rebalanceIntervalMs: config['leader.imbalance.check.interval.seconds'] * 1_000,
      imbalancePercentMax: config['leader.imbalance.per.broker.percentage'],
      uncleanIntervalMs: config['unclean.leader.election.interval.ms'],
    },
  }
}

class ControllerLoop {
  readonly #data: ControllerThreadData
  readonly #board: ProgressBoard
  readonly #doorbell: Doorbell
  readonly #log: MetadataLog
  readonly #controller: Controller
  readonly #connections = new Map<number, Connection>()
  readonly #deliver = (connection: number, response: ControllerResponse): void => {
    this.#send(connection, response)
  }
  #isStopping = false

  constructor(data: ControllerThreadData) {
    this.#data = data
    this.#board = new ProgressBoard(data.memory.board)
    const bell = this.#board.clientDoorbellBase(clientSlot.controller)
    this.#doorbell = new Doorbell(this.#board.words, bell)
    const { config } = data
    this.#log = MetadataLog.open({
      directory: data.directory,
      clock: systemClock,
      snapshotBytes: config['metadata.log.max.record.bytes.between.snapshots'],
    })
    this.#controller = new Controller({
      log: this.#log,
      clock: systemClock,
      clusterId: data.clusterId,
      config: controllerConfigOf(config),
    })
    this.#setRoutes()
    this.#post({ type: 'started', metadataEndOffset: this.#log.endOffset })
    const detail = { epoch: this.#log.epoch, metadataOffset: this.#log.endOffset }
    const atMs = systemClock.nowMs()
    const started = {
      atMs,
      kind: 'started',
      brokerId: nobodyAsked,
      partitions: [],
      detail,
    } as const
    this.#post({ type: 'events', events: [started] })
  }

  run(): void {
    while (!this.#isStopping) {
      const bell = this.#doorbell.read()
      const nowMs = systemClock.nowMs()
      let work = this.#takeCommands() + this.#takeRequests()
      work += this.#controller.step(nowMs)
      this.#setRoutes()
      work += this.#controller.takeOutgoing(this.#deliver)
      const events = this.#controller.takeEvents()
      if (events.length > 0) this.#post({ type: 'events', events })
      if (work > 0) continue
      const waitMs = Math.min(idleMsMax, Math.max(0, this.#controller.nextStepMs() - nowMs))
      this.#doorbell.park(bell, waitMs)
    }
    this.#log.close()
    this.#post({ type: 'stopped' })
    for (const { port } of this.#connections.values()) port.close()
    this.#data.commandPort.close()
    restBeforeEnd()
  }

  #takeCommands(): number {
    let taken = 0
    for (;;) {
      const received = receiveMessageOnPort(this.#data.commandPort)
      if (received === undefined) return taken
      const command = received.message as ControllerCommand
      taken++
      if (command.type === 'stop') this.#isStopping = true
      else if (command.type === 'connect') {
        this.#connections.set(command.connection, { port: command.port, broker: command.broker })
      } else {
        this.#connections.delete(command.connection)
        this.#controller.connectionClosed(command.connection)
      }
    }
  }

  /** All that waits, before anybody is fenced for silence. */
  #takeRequests(): number {
    let taken = 0
    for (const [connection, { port }] of this.#connections) {
      for (;;) {
        const received = receiveMessageOnPort(port)
        if (received === undefined) break
        this.#controller.handle(connection, received.message as ControllerRequest)
        taken++
      }
    }
    return taken
  }

  #send(connection: number, response: ControllerResponse): void {
    const to = this.#connections.get(connection)
    if (to === undefined) return
    to.port.postMessage(response)
    if (to.broker === 0) return
    ringDoorbell(this.#board.words, this.#board.doorbellBase(to.broker))
  }

  /** What the controller commits becomes the routes that clients read. */
  #setRoutes(): void {
    const { image } = this.#controller
    this.#controller.takeChanged((index) => {
      const registration = image.partition(index)
      const { leader, leaderEpoch } = registration ?? { leader: leaderNone, leaderEpoch: -1 }
      this.#board.setRoute(index, leader, leaderEpoch)
    })
  }

  #post(message: ControllerThreadMessage): void {
    this.#data.commandPort.postMessage(message)
  }
}

new ControllerLoop(workerData as ControllerThreadData).run()
