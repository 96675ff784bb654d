/**
 * What the application asks of a broker's thread, and how the answers find who waits for them. A
 * word of the board counts the commands, so that the thread looks at its port only when there is
 * one.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { type ErrorCode, isTidemarkError, TidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import type { BrokerNode } from './broker-node.ts'
import type { ProgressBoard } from './progress-board.ts'
import type { BrokerThreadMessage } from './thread-messages.ts'

export interface DeleteRecordsCommand {
  readonly type: 'deleteRecords'
  readonly correlationId: number
  readonly partition: PartitionIndex
  /** The log is to start there; -1: at the high watermark. */
  readonly offset: number
}

/** Another controller took over; this is the connection to it. Nothing is answered. */
export interface ControllerCommand {
  readonly type: 'controller'
  readonly port: MessagePort
}

export interface BrokerAnswer {
  readonly type: 'answer'
  readonly correlationId: number
  readonly error: ErrorCode | 'NONE'
  readonly message: string
  /** What it came to: where the log starts now. */
  readonly value: number
}

/** The thread's side: does what has been asked since the last call. */
export class CommandTaker {
  readonly #node: BrokerNode
  readonly #port: MessagePort
  readonly #onController: (port: MessagePort) => void
  #taken: number

  constructor(node: BrokerNode, port: MessagePort, onController: (port: MessagePort) => void) {
    this.#node = node
    this.#port = port
    this.#onController = onController
    // Those of a life before went to its own port.
    this.#taken = node.board.commands(node.brokerId)
  }

  take(post: (message: BrokerThreadMessage) => void): void {
    const { board, brokerId } = this.#node
    const asked = board.commands(brokerId)
    if (asked === this.#taken) return
    this.#taken = asked
    for (;;) {
      const received = receiveMessageOnPort(this.#port)
      if (received === undefined) return
      const command = received.message as DeleteRecordsCommand | ControllerCommand
      if (command.type === 'controller') this.#onController(command.port)
      else post(this.#answer(command))
    }
  }

  #answer({ correlationId, partition, offset }: DeleteRecordsCommand): BrokerAnswer {
    try {
      const value = this.#node.deleteRecords(partition, offset)
      return { type: 'answer', correlationId, error: 'NONE', message: '', value }
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      const { code, message } = error
      return { type: 'answer', correlationId, error: code, message, value: -1 }
    }
  }
}

interface Waiting {
  readonly resolve: (value: number) => void
  readonly reject: (error: TidemarkError) => void
}

/** The supervisor's side: of one life of a broker. */
export class CommandSender {
  readonly #board: ProgressBoard
  readonly #brokerId: BrokerId
  readonly #waiting = new Map<number, Waiting>()
  #port: MessagePort | undefined
  #correlationId = 0

  constructor(board: ProgressBoard, brokerId: BrokerId) {
    this.#board = board
    this.#brokerId = brokerId
  }

  /** A new life begins. */
  open(port: MessagePort): void {
    this.#port = port
  }

  /** @throws {TidemarkError} BROKER_NOT_AVAILABLE; what the broker answers */
  send(command: Omit<DeleteRecordsCommand, 'correlationId'>): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#port === undefined) {
        reject(this.#gone())
        return
      }
      const correlationId = ++this.#correlationId
      this.#waiting.set(correlationId, { resolve, reject })
      this.#post(this.#port, { ...command, correlationId })
    })
  }

  /** Gives the broker its connection to another controller. */
  connectController(controllerPort: MessagePort): void {
    if (this.#port === undefined) return
    const command: ControllerCommand = { type: 'controller', port: controllerPort }
    this.#post(this.#port, command, [controllerPort])
  }

  #post(
    port: MessagePort,
    command: DeleteRecordsCommand | ControllerCommand,
    transfer: MessagePort[] = [],
  ): void {
    port.postMessage(command, transfer)
    this.#board.countCommand(this.#brokerId)
    this.#board.wakeBroker(this.#brokerId)
  }

  take({ correlationId, error, message, value }: BrokerAnswer): void {
    const waiting = this.#waiting.get(correlationId)
    if (waiting === undefined) return
    this.#waiting.delete(correlationId)
    if (error === 'NONE') waiting.resolve(value)
    else waiting.reject(new TidemarkError(error, message))
  }

  /** The life is over: nobody answers any more. */
  close(): void {
    this.#port = undefined
    for (const { reject } of this.#waiting.values()) reject(this.#gone())
    this.#waiting.clear()
  }

  #gone(): TidemarkError {
    return new TidemarkError('BROKER_NOT_AVAILABLE', `broker ${this.#brokerId} is not running`)
  }
}
