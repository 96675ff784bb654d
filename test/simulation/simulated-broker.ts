/** One broker: its machine, its directory, its lives, and what a supervisor does between them. */
import type { Clock } from '../../src/clock.ts'
import type { ClusterConfig } from '../../src/config.ts'
import { type BrokerId, brokerId } from '../../src/ids.ts'
import { writeCheckpointFile } from '../../src/log/checkpoint-file.ts'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { checkpointFilePath, LogDirectory } from '../../src/log/log-directory.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import { OpenFiles } from '../../src/log/open-files.ts'
import { BatchRing } from '../../src/workers/batch-ring.ts'
import { BrokerNode } from '../../src/workers/broker-node.ts'
import type { ClusterMemory } from '../../src/workers/cluster-memory.ts'
import { brokerState, ProgressBoard } from '../../src/workers/progress-board.ts'
import type { FaultyFileSystem } from '../support/faulty-file-system.ts'
import { ManualSyncs } from '../support/manual-syncs.ts'
import { clusterIdText } from './simulated-controller.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import type { SimulatedLink } from './simulated-link.ts'

export interface BrokerLife {
  readonly node: BrokerNode
  readonly disk: SimulatedDisk
  readonly link: SimulatedLink
  /** What another thread syncs for it. */
  readonly syncs: ManualSyncs
  readonly directory: LogDirectory
  /** Puts shared memory back to the moment of the thread's end in the middle of a step. */
  restoreAtEnd: (() => void) | undefined
}

export interface SimulatedBrokerOptions {
  readonly id: number
  readonly machine: FaultyFileSystem
  readonly memory: ClusterMemory
  readonly config: ClusterConfig
  readonly clock: Clock
  /** Before each call to disk and clock. */
  readonly onCall: (mayGoOn: boolean) => void
}

export function brokerDirectory(id: number): string {
  return `/broker-${id}`
}

export class SimulatedBroker {
  readonly id: BrokerId
  readonly machine: FaultyFileSystem
  isFrozen = false
  /** Its wall clock is ahead of the others' by so much. */
  skewMs = 0
  /** Each of its calls takes so long. */
  diskMs = 0
  /** Its last life ended with a loss of data, and the controller has not registered it since. */
  hasLostData = false
  life: BrokerLife | undefined
  readonly #options: SimulatedBrokerOptions
  readonly #board: ProgressBoard
  readonly #ring: BatchRing
  #lives = 0

  constructor(options: SimulatedBrokerOptions) {
    this.#options = options
    this.id = brokerId(options.id)
    this.machine = options.machine
    this.#board = new ProgressBoard(options.memory.board)
    this.#ring = new BatchRing(options.memory.rings[options.id - 1])
  }

  /** Number of its lives so far. */
  get incarnation(): number {
    return this.#lives
  }

  get directory(): string {
    return brokerDirectory(this.id)
  }

  /**
   * Recovers what was not closed cleanly, then begins a life.
   *
   * @returns bytes that recovery cut off; undefined: the thread ended meanwhile
   */
  start(link: SimulatedLink): number | undefined {
    const { id, memory, config, clock, onCall } = this.#options
    const disk = new SimulatedDisk(this.machine, onCall)
    try {
      const directory = LogDirectory.open({
        directory: this.directory,
        clusterId: clusterIdText,
        nodeId: id,
        fs: disk,
        makeId: () => Buffer.alloc(16, id * 16 + this.#lives),
      })
      const isClean = directory.cleanShutdown
      const cutBytes = isClean ? 0 : recoverAll(directory, disk)
      if (this.#ring.closed) this.#ring.reopen()
      const syncs = new ManualSyncs(this.machine)
      const node = new BrokerNode({
        identity: {
          brokerId: this.id,
          incarnationId: Buffer.alloc(16, id * 32 + this.#lives + 1).toString('base64url'),
          clusterId: clusterIdText,
          previousBrokerEpoch: isClean ? directory.previousBrokerEpoch : -1,
          previousIncarnationEnded: true,
        },
        memory,
        config,
        stored: {
          isClean,
          recoveryPoint: directory.readCheckpoint('recoveryPoint'),
          highWatermark: directory.readCheckpoint('highWatermark'),
          logStartOffset: directory.readCheckpoint('logStartOffset'),
        },
        brokerDirectory,
        channel: link.brokerEnd(() => disk.isEnded),
        clock: {
          nowMs: () => {
            onCall(true)
            return clock.nowMs()
          },
        },
        wallClock: { nowMs: () => clock.nowMs() + this.skewMs },
        fs: disk,
        syncPort: syncs,
      })
      this.#board.setState(this.id, brokerState.running)
      this.life = { node, disk, link, syncs, directory, restoreAtEnd: undefined }
      this.#lives++
      return cutBytes
    } catch (error) {
      const isExpected = disk.isEnded || this.machine.hasFaults
      disk.end()
      this.#ring.close()
      if (!isExpected) throw error
      return undefined
    }
  }

  /** What supervisor and thread write down now and then. */
  checkpoint(): void {
    if (this.life === undefined) return
    const { node } = this.life
    const lines = node.highWatermarks().map((each) => {
      return `${each.topic} ${each.partition} ${each.offset}`
    })
    const file = checkpointFilePath(this.directory, 'highWatermark')
    try {
      writeCheckpointFile(this.machine, file, lines, { durable: false })
      node.writeRecoveryPoints()
    } catch (error) {
      if (!this.machine.hasFaults) throw error
    }
  }

  /** Closes all logs and leaves the mark of a clean end, if it was one. */
  stopCleanly(): void {
    const { node, disk, directory } = this.life!
    this.#ring.close()
    const isClean = node.close({ flush: true })
    this.settleEnd(disk)
    try {
      directory.writeCheckpoint('highWatermark', node.highWatermarks())
      directory.writeCheckpoint('recoveryPoint', node.recoveryPoints())
      directory.close(isClean ? node.link.brokerEpoch : undefined)
    } catch (error) {
      if (!this.machine.hasFaults) throw error
    }
    disk.end()
  }

  /** Speaks for the dead, as the supervisor of a thread does. */
  settleEnd(disk?: SimulatedDisk): void {
    const life = this.life!
    this.#ring.close()
    if (disk === undefined) life.disk.end()
    life.restoreAtEnd?.()
    this.life = undefined
    this.isFrozen = false
    this.#ring.close()
    this.#ring.endEra()
    this.#board.settlePoll(this.id)
    for (let id = 1; id <= this.#board.shape.brokers; id++) {
      const other = brokerId(id)
      if (other === this.id) continue
      this.#board.forceReaderDetached(other, this.id)
      this.#board.forceReaderDetached(this.id, other)
    }
    this.#board.forgetPartitions(this.id)
    this.#board.setState(this.id, brokerState.dead)
  }
}

/** As the task pool does it. */
function recoverAll(directory: LogDirectory, disk: SimulatedDisk): number {
  const recoveryPoints = directory.readCheckpoint('recoveryPoint')
  const logStartOffsets = directory.readCheckpoint('logStartOffset')
  const files = new OpenFiles(disk)
  let cutBytes = 0
  for (const { topic, partition, directory: path } of directory.partitions()) {
    const name = `${topic}-${partition}`
    const summary = recoverLog(path, {
      recoveryPoint: recoveryPoints.get(name) ?? 0,
      logStartOffset: logStartOffsets.get(name) ?? 0,
      config: logConfigDefaults,
      files,
    })
    cutBytes += summary.truncatedBytes
  }
  files.closeAll()
  return cutBytes
}
