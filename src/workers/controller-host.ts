/** ControllerHost: the supervisor's side of the controller's thread. */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { TidemarkError } from '../errors.ts'
import type { BrokerId } from '../ids.ts'
import type { ControllerEvent } from '../replication/controller/controller-events.ts'
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
  readonly onEvents: (events: readonly ControllerEvent[]) => void
  readonly onFailed: (error: unknown) => void
}

export class ControllerHost {
  readonly #board: ProgressBoard
  readonly #worker: Worker
  readonly #commands: MessagePort
  readonly #exited: Promise<void>
  #nextConnection = 1
  #isStopping = false

  private constructor(options: ControllerHostOptions) {
    const { onEvents, onFailed, ...data } = options
    const { port1, port2 } = new MessageChannel()
    this.#board = new ProgressBoard(data.memory.board)
    this.#commands = port1
    const workerData: ControllerThreadData = { ...data, commandPort: port2 }
    this.#worker = new Worker(workerEntry(import.meta.url, `controller-thread${moduleSuffix}`), {
      workerData,
      transferList: [port2],
      name: 'tidemark-controller',
    })
    this.#worker.on('error', onFailed)
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        port1.close()
        if (!this.#isStopping)
          onFailed(new TidemarkError('UNKNOWN_SERVER_ERROR', 'the controller ended'))
        resolve()
      })
    })
    port1.on('message', (message: ControllerThreadMessage) => {
      if (message.type === 'events') onEvents(message.events)
    })
  }

  /** Resolves when the metadata log has been replayed. */
  static async start(options: ControllerHostOptions): Promise<ControllerHost> {
    const host = new ControllerHost(options)
    await new Promise<void>((resolve, reject) => {
      host.#worker.once('error', reject)
      const onStarted = (message: ControllerThreadMessage) => {
        if (message.type !== 'started') return
        host.#commands.off('message', onStarted)
        resolve()
      }
      host.#commands.on('message', onStarted)
    })
    return host
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

  async stop(): Promise<void> {
    this.#isStopping = true
    this.#command({ type: 'stop' })
    await this.#exited
  }

  #command(command: ControllerCommand, transfer: MessagePort[] = []): void {
    this.#commands.postMessage(command, transfer)
    this.wake()
  }
}
