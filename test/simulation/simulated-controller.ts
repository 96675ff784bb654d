/** The controller, its log on the simulated disk, and its end at any call it makes to that disk. */
import type { Clock } from '../../src/clock.ts'
import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import { Controller } from '../../src/replication/controller/controller.ts'
import { MetadataImage } from '../../src/replication/controller/metadata-image.ts'
import { MetadataLog } from '../../src/replication/controller/metadata-log.ts'
import type { FaultyFileSystem } from '../support/faulty-file-system.ts'
import { SimulatedDisk } from './simulated-disk.ts'

export const controllerDirectory = '/controller'
export const clusterIdText = 'simulated-cluster'
/** Of the supervisor, who speaks for dead brokers and makes topics. */
export const supervisorConnection = 0

export interface SimulatedControllerOptions {
  readonly machine: FaultyFileSystem
  readonly clock: Clock
  readonly sessionTimeoutMs: number
  readonly partitionsMax: number
  readonly isSynced: boolean
  readonly snapshotBytes: number
  readonly eligibleLeaderReplicasVersion: 0 | 1
  readonly rebalanceIntervalMs: number
  readonly uncleanIntervalMs: number
  readonly onCall: (mayGoOn: boolean) => void
}

export class SimulatedController {
  readonly #options: SimulatedControllerOptions
  #disk: SimulatedDisk | undefined
  #controller: Controller | undefined
  /** What is known after its end: clients and supervisors remember. */
  #image = new MetadataImage()
  #topicIds = 0

  constructor(options: SimulatedControllerOptions) {
    this.#options = options
  }

  get controller(): Controller | undefined {
    return this.#controller
  }

  get disk(): SimulatedDisk | undefined {
    return this.#disk
  }

  get image(): MetadataImage {
    return this.#controller?.image ?? this.#image
  }

  start(): void {
    const { machine, clock, sessionTimeoutMs, partitionsMax, isSynced, onCall } = this.#options
    const { snapshotBytes, eligibleLeaderReplicasVersion } = this.#options
    const { rebalanceIntervalMs, uncleanIntervalMs } = this.#options
    const disk = new SimulatedDisk(machine, onCall)
    const log = MetadataLog.open({
      directory: controllerDirectory,
      clock,
      flush: isSynced ? { kind: 'batch' } : { kind: 'os' },
      snapshotBytes,
      fs: disk,
    })
    this.#disk = disk
    this.#controller = new Controller({
      log,
      clock,
      clusterId: clusterIdText,
      config: {
        brokerSessionTimeoutMs: sessionTimeoutMs,
        partitionsMax,
        eligibleLeaderReplicasVersion,
        elections: {
          rebalances: true,
          rebalanceIntervalMs,
          imbalancePercentMax: 10,
          uncleanIntervalMs,
        },
      },
      newTopicId: () => Buffer.alloc(16, ++this.#topicIds).toString('base64url'),
    })
  }

  /** The thread has ended; `loss`: and with it its machine. */
  end(loss: SeededRandom | undefined): void {
    this.#image = this.image
    this.#disk?.end()
    this.#disk = undefined
    this.#controller = undefined
    if (loss !== undefined) this.#options.machine.disk.crashDirectory(controllerDirectory, loss)
  }
}
