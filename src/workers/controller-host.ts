/**
 * ControllerHost: the supervisor's side of the controller's thread. A thread that dies is replaced
 * by another over the same metadata log; whoever was connected has to connect again.
 */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import { TidemarkError } from '../errors.ts'
import type { BrokerId } from '../ids.ts'
import { type ControllerEvent, nobodyAsked } from '../replication/controller/controller-events.ts'
import { clientSlot } from './cluster-memory.ts'
import { ringDoorbell } from './doorbell.ts'
import { ProgressBoard } from './progress-board.ts'
import type {
  ControllerCommand,
  ControllerThreadData,
  ControllerThreadMessage,
} from './thread-messages.ts'
import { moduleSuffix, workerEntry } from './worker-entry.ts'

export interface ControllerHostOptions extends Omit<ControllerThreadData, 'commandPort'> {
  readonly onEvent: (event: ControllerEvent) => void
  /** The thread ended though nobody asked it to. */
  readonly onFailed: (error: unknown) => void
  /** Another thread has replayed the log: all connections are to be made anew. */
  readonly onReplaced: () => void
}

/** A thread that dies again and again within so long is given up. */
const shortLifeMs = 10_000
const shortLivesMax = 5

export class ControllerHost {
  /** Resolves when the first thread has replayed the metadata log. */
  readonly started: Promise<void>
  readonly #options: ControllerHostOptions
  readonly #board: ProgressBoard
  #worker!: Worker
  #commands!: MessagePort
  #exited: Promise<void> = Promise.resolve()
  #nextConnection = 1
  #isStopping = false
  #isKilled = false
  /** How long it is to stay away after a kill. */
  #awayMs = 0
  #shortLives = 0
  #restart: NodeJS.Timeout | undefined
  #error: unknown

  private constructor(options: ControllerHostOptions) {
    this.#options = options
    this.#board = new ProgressBoard(options.memory.board)
    this.started = this.#launch()
    // Whoever awaits it hears of a failure, whenever that is.
    this.started.catch(() => {})
  }

  /** Makes the thread and doesn't wait for it: what it is told meanwhile it takes when it runs. */
  static launch(options: ControllerHostOptions): ControllerHost {
    return new ControllerHost(options)
  }

  /** @param broker 0: a client @returns the other end of the connection, and its number */
  connect(broker: BrokerId | 0): { readonly port: MessagePort; readonly connection: number } {
    const { port1, port2 } = new MessageChannel()
    const connection = this.#nextConnection++
    this.#command({ type: 'connect', connection, broker, port: port2 }, [port2])
    return { port: port1, connection }
  }

  disconnect(connection: number): void {
    this.#command({ type: 'disconnect', connection })
  }

  wake(): void {
    ringDoorbell(this.#board.words, this.#board.clientDoorbellBase(clientSlot.controller))
  }

  /** Ends the thread without warning; another takes over after `awayMs`. */
  async kill(awayMs: number): Promise<void> {
    if (this.#isStopping) return
    this.#isKilled = true
    this.#awayMs = awayMs
    if (this.#restart !== undefined) {
      this.#scheduleRestart(awayMs)
      return
    }
    await this.#worker.terminate()
    await this.#exited
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#restart)
    this.#command({ type: 'stop' })
    await this.#exited
  }

  #launch(): Promise<void> {
    const { onEvent, onFailed: _, onReplaced: __, ...data } = this.#options
    const { port1, port2 } = new MessageChannel()
    const workerData: ControllerThreadData = { ...data, commandPort: port2 }
    const worker = new Worker(workerEntry(import.meta.url, `controller-thread${moduleSuffix}`), {
      workerData,
      transferList: [port2],
      name: 'tidemark-controller',
    })
    this.#commands = port1
    this.#worker = worker
    this.#isKilled = false
    this.#error = undefined
    const startedAtMs = performance.now()
    let isStarted = false
    return new Promise((resolve, reject) => {
      worker.on('error', (error) => {
        this.#error = error
      })
      port1.on('message', (message: ControllerThreadMessage) => {
        if (message.type === 'events') for (const event of message.events) onEvent(event)
        if (message.type !== 'started') return
        isStarted = true
        resolve()
      })
      this.#exited = new Promise((exited) => {
        worker.once('exit', () => {
          port1.close()
          const error = this.#error ?? new TidemarkError('UNKNOWN_SERVER_ERROR', 'controller ended')
          if (isStarted || this.#isKilled) this.#afterExit(performance.now() - startedAtMs, error)
          else reject(error)
          exited()
        })
      })
    })
  }

  #afterExit(livedMs: number, error: unknown): void {
    if (this.#isStopping) return
    const atMs = systemClock.nowMs()
    const detail = { livedMs: Math.round(livedMs) }
    const asked = { brokerId: nobodyAsked, partitions: [] } as const
    this.#options.onEvent({ atMs, kind: 'ended', ...asked, detail })
    if (!this.#isKilled) {
      this.#options.onFailed(error)
      this.#shortLives = livedMs < shortLifeMs ? this.#shortLives + 1 : 0
      if (this.#shortLives >= shortLivesMax) return
    }
    const awayMs = this.#isKilled ? this.#awayMs : 0
    this.#scheduleRestart(awayMs)
  }

  /** Only the last one asked for counts: there is one thread at most. */
  #scheduleRestart(awayMs: number): void {
    clearTimeout(this.#restart)
    this.#restart = setTimeout(() => {
      this.#restart = undefined
      this.#replace()
    }, awayMs)
  }

  #replace(): void {
    this.#launch().then(
      () => {
        if (!this.#isStopping) this.#options.onReplaced()
      },
      (error: unknown) => {
        if (!this.#isStopping) this.#options.onFailed(error)
      },
    )
  }

  #command(command: ControllerCommand, transfer: MessagePort[] = []): void {
    this.#commands.postMessage(command, transfer)
    this.wake()
  }
}
