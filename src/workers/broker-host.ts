/**
 * BrokerHost: the supervisor's side of one broker: its directory, its thread, and what must be put
 * right in shared memory when the thread is gone. A thread may be paused, stopped, or killed
 * without warning, and started again; its directory stays locked all the while.
 */
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { ClusterConfig } from '../config.ts'
import { isTidemarkError, TidemarkError } from '../errors.ts'
import type { BrokerEpoch, BrokerId, PartitionIndex } from '../ids.ts'
import { brokerId as toBrokerId } from '../ids.ts'
import { LogDirectory } from '../log/log-directory.ts'
import { BatchRing } from './batch-ring.ts'
import { CommandSender } from './broker-commands.ts'
import type { BrokerNews } from './broker-news.ts'
import { CheckpointWriter } from './checkpoint-writer.ts'
import { CleaningService } from './cleaning-service.ts'
import type { ClusterMemory } from './cluster-memory.ts'
import type { ControllerHost } from './controller-host.ts'
import { serveSyncs } from './file-sync.ts'
import { brokerControl, brokerState, ProgressBoard } from './progress-board.ts'
import type { RecoveryProgress } from './recovery-plan.ts'
import { reportDeath } from './report-death.ts'
import type { TaskPool } from './task-pool.ts'
import type { BrokerThreadData, BrokerThreadMessage } from './thread-messages.ts'
import { moduleSuffix, workerEntry } from './worker-entry.ts'

export interface BrokerHostOptions {
  readonly brokerId: BrokerId
  readonly clusterId: string
  readonly memory: ClusterMemory
  readonly config: ClusterConfig
  /** Of all brokers; that of broker `id` at `id - 1`. */
  readonly directories: readonly string[]
  readonly controller: ControllerHost
  readonly tasks: TaskPool
  readonly onNews: (brokerId: BrokerId, news: BrokerNews) => void
  /** The thread ended though nobody asked it to: its disk failed, or something in it did. */
  readonly onFailed: (brokerId: BrokerId, cause: 'disk' | 'error', error: unknown) => void
  /** Recovery of logs: how far it is. */
  readonly onRecovery?: (brokerId: BrokerId, progress: RecoveryProgress) => void
}

type StoppedMessage = Extract<BrokerThreadMessage, { type: 'stopped' }>

export class BrokerHost {
  readonly brokerId: BrokerId
  readonly #options: BrokerHostOptions
  readonly #board: ProgressBoard
  readonly #ring: BatchRing
  readonly #directory: LogDirectory
  readonly #checkpoints: CheckpointWriter
  readonly #cleanedOffsets: CheckpointWriter
  readonly #cleaning: CleaningService
  readonly #commands: CommandSender
  #worker: Worker | undefined
  #exited: Promise<void> = Promise.resolve()
  #connection = 0
  /** Epoch of the last life if that ended cleanly. */
  #cleanEpoch: BrokerEpoch | undefined
  #onMayStop: () => void = () => {}
  /** Since the last life ended. */
  #isRecovered = false
  #isExpectedToEnd = false
  #stopped: StoppedMessage | undefined
  #error: unknown
  #diskFailure: TidemarkError | undefined

  private constructor(options: BrokerHostOptions) {
    const { brokerId, clusterId, directories, memory } = options
    this.#options = options
    this.brokerId = brokerId
    this.#board = new ProgressBoard(memory.board)
    this.#ring = new BatchRing(memory.rings[brokerId - 1])
    const directory = directories[brokerId - 1]
    this.#directory = LogDirectory.open({ directory, clusterId, nodeId: brokerId })
    const { cleanShutdown, previousBrokerEpoch } = this.#directory
    this.#cleanEpoch = cleanShutdown ? previousBrokerEpoch : undefined
    this.#checkpoints = new CheckpointWriter(directory, 'highWatermark')
    this.#cleanedOffsets = new CheckpointWriter(directory, 'cleanedOffset')
    const { tasks, config } = options
    this.#cleaning = new CleaningService(
      (task) => tasks.clean(task),
      config['log.cleaner.io.max.bytes.per.second'],
      () => this.#board.wakeBroker(brokerId),
    )
    this.#commands = new CommandSender(this.#board, brokerId)
    this.#ring.close()
  }

  /**
   * Locks the directory; starts nothing. @throws {TidemarkError} what `LogDirectory.open` throws
   */
  static open(options: BrokerHostOptions): BrokerHost {
    return new BrokerHost(options)
  }

  get isRunning(): boolean {
    return this.#worker !== undefined
  }

  /** Makes the logs whole that were not closed cleanly; `start` does if nobody did before. */
  async recover(): Promise<void> {
    if (this.#worker !== undefined || this.#isRecovered || this.#endedCleanly) return
    await this.#recover()
    this.#isRecovered = true
  }

  async start(): Promise<void> {
    if (this.#worker !== undefined) return
    await this.#cleaning.end()
    await this.recover()
    await this.#reopenRing()
    this.#launch(this.#endedCleanly)
  }

  get #endedCleanly(): boolean {
    return this.#cleanEpoch !== undefined
  }

  /**
   * Freezes the thread where it stands, between two steps, until `resume`. Resolves when it is
   * frozen.
   */
  async pause(): Promise<void> {
    this.#requireRunning()
    this.#board.setControl(this.brokerId, brokerControl.pause)
    this.#board.wakeBroker(this.brokerId)
    await this.#until(() => this.#board.state(this.brokerId) === brokerState.paused)
  }

  resume(): void {
    this.#board.setControl(this.brokerId, brokerControl.run)
  }

  /** Ends the thread without warning, perhaps in the middle of a write. */
  async kill(): Promise<void> {
    const worker = this.#requireRunning()
    this.#isExpectedToEnd = true
    this.#ring.close()
    await worker.terminate()
    await this.#exited
  }

  /**
   * Asks the broker to delete a partition's beginning. @throws {TidemarkError} BROKER_NOT_AVAILABLE
   * and what `BrokerNode.deleteRecords` throws
   */
  deleteRecords(partition: PartitionIndex, offset: number): Promise<number> {
    return this.#commands.send({ type: 'deleteRecords', partition, offset })
  }

  /** The disk is lost: the thread ends if there is one, and the directory is empty afterwards. */
  async wipe(): Promise<void> {
    if (this.#worker !== undefined) await this.kill()
    await this.#settle()
    this.#directory.wipe()
    this.#board.forgetLogs(this.brokerId)
  }

  /**
   * Lets the thread close its logs, flushed unless told not to, and end; then writes its
   * checkpoints.
   *
   * @returns whether the directory may be marked as cleanly shut down
   */
  async stop({ flush }: { readonly flush: boolean }): Promise<boolean> {
    if (this.#worker === undefined) return false
    this.#isExpectedToEnd = true
    this.#ring.close()
    const control = flush ? brokerControl.stop : brokerControl.abandon
    this.#board.setControl(this.brokerId, control)
    this.#board.wakeBroker(this.brokerId)
    await this.#exited
    await this.#settle()
    const stopped = this.#stopped
    if (stopped === undefined || !flush) return false
    this.#directory.writeCheckpoint('highWatermark', stopped.highWatermarks)
    this.#directory.writeCheckpoint('recoveryPoint', stopped.recoveryPoints)
    this.#directory.writeCheckpoint('logStartOffset', stopped.logStarts)
    this.#cleanEpoch = stopped.isClean ? stopped.brokerEpoch : undefined
    return stopped.isClean
  }

  /**
   * Asks the controller to move the leaderships away and, when they have moved and all others know,
   * stops (Kafka: controlled shutdown). After `timeoutMs` it stops all the same.
   *
   * @returns whether it was let go in time
   */
  async shutDown(timeoutMs: number): Promise<boolean> {
    this.#requireRunning()
    let timer: NodeJS.Timeout | undefined
    const isLetGo = await new Promise<boolean>((resolve) => {
      this.#onMayStop = () => resolve(true)
      timer = setTimeout(() => resolve(false), timeoutMs)
      void this.#exited.then(() => resolve(false))
      this.#board.setControl(this.brokerId, brokerControl.shutDown)
      this.#board.wakeBroker(this.brokerId)
    })
    clearTimeout(timer)
    await this.stop({ flush: true })
    return isLetGo
  }

  /** The controller's thread is another one now. */
  reconnectController(): void {
    if (this.#worker === undefined) return
    const { port, connection } = this.#options.controller.connect(this.brokerId)
    this.#connection = connection
    this.#commands.connectController(port)
  }

  /** Gives the directory back; call after `stop` or `kill`. */
  async close(): Promise<void> {
    await this.#settle()
    this.#directory.close(this.#cleanEpoch)
  }

  async #settle(): Promise<void> {
    await this.#checkpoints.settle()
    await this.#cleanedOffsets.settle()
  }

  async #recover(): Promise<void> {
    const { tasks, onRecovery } = this.#options
    const recoveryPoints = this.#directory.readCheckpoint('recoveryPoint')
    const logStartOffsets = this.#directory.readCheckpoint('logStartOffset')
    const logs = this.#directory.partitions().map(({ topic, partition, directory }) => {
      const name = `${topic}-${partition}`
      return {
        directory,
        recoveryPoint: recoveryPoints.get(name) ?? 0,
        logStartOffset: logStartOffsets.get(name) ?? 0,
      }
    })
    if (logs.length === 0) return
    await tasks.recover(logs, (progress) => onRecovery?.(this.brokerId, progress))
  }

  /** Producers that still hold a claim are in the middle of encoding: they are waited for. */
  async #reopenRing(): Promise<void> {
    await this.#until(() => !this.#ring.isClaimed())
    this.#ring.reopen()
  }

  #launch(isClean: boolean): void {
    const { brokerId, clusterId, memory, config, directories, controller } = this.#options
    const { port, connection } = controller.connect(brokerId)
    const { port1, port2 } = new MessageChannel()
    const syncs = new MessageChannel()
    const cleanings = new MessageChannel()
    const data: BrokerThreadData = {
      identity: {
        brokerId,
        incarnationId: randomUUID(),
        clusterId,
        previousBrokerEpoch: this.#cleanEpoch ?? -1,
        previousIncarnationEnded: true,
      },
      memory,
      config,
      stored: {
        isClean,
        recoveryPoint: this.#directory.readCheckpoint('recoveryPoint'),
        highWatermark: this.#directory.readCheckpoint('highWatermark'),
        logStartOffset: this.#directory.readCheckpoint('logStartOffset'),
        ...this.#readCleanedOffsets(),
      },
      directories,
      controllerPort: port,
      newsPort: port2,
      syncPort: syncs.port2,
      cleaningPort: cleanings.port2,
    }
    this.#connection = connection
    this.#stopped = undefined
    this.#error = undefined
    this.#diskFailure = undefined
    this.#isRecovered = false
    this.#cleanEpoch = undefined
    this.#isExpectedToEnd = false
    this.#board.setControl(brokerId, brokerControl.run)
    this.#board.setState(brokerId, brokerState.starting)
    const worker = new Worker(workerEntry(import.meta.url, `broker-thread${moduleSuffix}`), {
      workerData: data,
      transferList: [port, port2, syncs.port2, cleanings.port2],
      name: `tidemark-broker-${brokerId}`,
    })
    this.#worker = worker
    serveSyncs(syncs.port1)
    this.#cleaning.serve(cleanings.port1)
    this.#listen(worker, port1)
  }

  /** Written without waiting for the disk: a file that can't be read tells of nothing compacted. */
  #readCleanedOffsets(): { cleanedOffset?: ReadonlyMap<string, number> } {
    try {
      return { cleanedOffset: this.#directory.readCheckpoint('cleanedOffset') }
    } catch (error) {
      if (isTidemarkError(error, 'CORRUPT_FILE')) return {}
      throw error
    }
  }

  #listen(worker: Worker, news: MessagePort): void {
    this.#commands.open(news)
    news.on('message', (message: BrokerThreadMessage) => this.#take(message))
    worker.on('error', (error) => {
      this.#error = error
    })
    this.#exited = new Promise((resolve) => {
      worker.once('exit', () => {
        // What the thread had posted before it ended is delivered first.
        setImmediate(() => {
          news.close()
          this.#afterExit()
          void this.#cleaning.end().then(resolve)
        })
      })
    })
  }

  #take(message: BrokerThreadMessage): void {
    switch (message.type) {
      case 'news':
        // Freeing a large file takes a while: not in the broker's thread. What is left over goes at
        // the next opening.
        for (const file of message.news.doomedFiles) rm(file, { force: true }).catch(() => {})
        this.#options.onNews(this.brokerId, message.news)
        break
      case 'cleanedOffsets':
        this.#cleanedOffsets.write(message.entries)
        break
      case 'highWatermarks':
        this.#checkpoints.write(message.entries)
        break
      case 'answer':
        this.#commands.take(message)
        break
      case 'diskFailed': {
        const detail = `broker ${this.brokerId} stopped itself, its disk failed: ${message.message}`
        this.#diskFailure = new TidemarkError('KAFKA_STORAGE_ERROR', detail)
        break
      }
      case 'stopped':
        this.#stopped = message
        break
      case 'mayStop':
        this.#onMayStop()
        break
      default:
        message satisfies never
    }
  }

  /** Speaks for the dead: nobody waits for its ring, its cursors or its polls. */
  #afterExit(): void {
    const { brokerId } = this
    this.#worker = undefined
    this.#commands.close()
    this.#ring.close()
    // Everything it had acknowledged is in the producers' rings by now.
    this.#ring.endEra()
    this.#options.controller.disconnect(this.#connection)
    this.#board.settlePoll(brokerId)
    for (let id = 1; id <= this.#board.shape.brokers; id++) {
      const other = toBrokerId(id)
      if (other === brokerId) continue
      this.#board.forceReaderDetached(other, brokerId)
      this.#board.forceReaderDetached(brokerId, other)
    }
    this.#board.forgetPartitions(brokerId)
    const isDisk = this.#diskFailure !== undefined
    this.#board.setState(brokerId, isDisk ? brokerState.diskFailed : brokerState.dead)
    if (!this.#isExpectedToEnd) this.#onUnexpectedEnd()
  }

  #onUnexpectedEnd(): void {
    const { brokerId } = this
    const { controller, onFailed } = this.#options
    reportDeath(controller, brokerId, this.#board.brokerEpoch(brokerId))
    if (this.#diskFailure !== undefined) onFailed(brokerId, 'disk', this.#diskFailure)
    else {
      const ended = new TidemarkError('BROKER_NOT_AVAILABLE', `broker ${brokerId} ended`)
      onFailed(brokerId, 'error', this.#error ?? ended)
    }
  }

  #requireRunning(): Worker {
    if (this.#worker !== undefined) return this.#worker
    throw new TidemarkError('BROKER_NOT_AVAILABLE', `broker ${this.brokerId} is not running`)
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
