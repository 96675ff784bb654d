/**
 * ClusterFaults: what can be made to go wrong with the brokers of a running cluster, beside
 * freezing and ending their threads: networks cut, disks lost or slow, clocks that jump.
 */
import { checkedRate } from './cluster-options.ts'
import { TidemarkError } from './errors.ts'
import { type BrokerId, brokerId } from './ids.ts'
import type { BrokerHost } from './workers/broker-host.ts'
import { clockOffsetMsMax, cut, diskDelayMsMax, FaultWords } from './workers/fault-words.ts'
import type { ProgressBoard } from './workers/progress-board.ts'

/** Which way nothing passes, as the isolated broker sees it. */
export type CutDirection = 'outgoing' | 'incoming' | 'both'

/** From whom a broker is cut off. Nothing named: from everybody, both ways. */
export interface Isolation {
  /**
   * Outgoing: heartbeats and proposals don't arrive; incoming: metadata and answers. They wait, in
   * order.
   */
  readonly controller?: CutDirection
  /**
   * All other brokers. Outgoing: its fetches don't reach its leaders, nor its data its followers;
   * incoming: it gets no data though it asks, and doesn't hear of its followers' fetches.
   */
  readonly brokers?: CutDirection
}

export interface DiskSlowness {
  /** What every write and sync takes longer, ms from 0 to 60,000. Default 0. */
  readonly writeDelayMs?: number
  /** At most so many bytes a second; 0, the default: no limit. */
  readonly bytesPerSec?: number
}

const directions: readonly unknown[] = ['outgoing', 'incoming', 'both']

export class ClusterFaults {
  readonly #board: ProgressBoard
  readonly #words: FaultWords
  readonly #host: (id: number) => BrokerHost
  readonly #isolated = new Map<BrokerId, Isolation>()

  /** @param host throws INVALID_ARGUMENT for a broker that isn't there */
  constructor(board: ProgressBoard, host: (id: number) => BrokerHost) {
    this.#board = board
    this.#words = new FaultWords(board)
    this.#host = host
  }

  /**
   * Cuts a broker off until `heal`, also beyond a restart of it.
   *
   * @throws {TidemarkError} INVALID_ARGUMENT, BROKER_CLOSED
   */
  isolate(id: number, isolation: Isolation = {}): void {
    const { brokerId } = this.#host(id)
    const { controller, brokers } = isolation
    checkDirection('controller', controller)
    checkDirection('brokers', brokers)
    const isTotal = controller === undefined && brokers === undefined
    this.#isolated.set(brokerId, isTotal ? { controller: 'both', brokers: 'both' } : isolation)
    this.#storeCuts()
  }

  /** Ends the isolation of a broker; what had waited gets through. */
  heal(id: number): void {
    this.#isolated.delete(this.#host(id).brokerId)
    this.#storeCuts()
  }

  /**
   * A broker loses its disk: its thread ends if it runs, and its directory is empty and has a new
   * id. `restart` brings it back as a replica without data.
   *
   * @throws {TidemarkError} INVALID_ARGUMENT, BROKER_CLOSED, KAFKA_STORAGE_ERROR
   */
  async wipe(id: number): Promise<void> {
    await this.#host(id).wipe()
  }

  /**
   * Makes a broker's disk slower than it is; `{}` as fast as it is again.
   *
   * @throws {TidemarkError} INVALID_ARGUMENT, BROKER_CLOSED
   */
  slowDisk(id: number, { writeDelayMs = 0, bytesPerSec = 0 }: DiskSlowness): void {
    const { brokerId } = this.#host(id)
    if (!(writeDelayMs >= 0 && writeDelayMs <= diskDelayMsMax)) {
      const detail = `writeDelayMs = ${writeDelayMs}: allowed are 0 to ${diskDelayMsMax}`
      throw new TidemarkError('INVALID_ARGUMENT', detail)
    }
    this.#words.setDisk(brokerId, writeDelayMs, checkedRate(bytesPerSec))
  }

  /**
   * Lets a broker's clock jump: from now on its time of day is `offsetMs` ahead of everybody's; 0:
   * right again. Ages of segments go by it. Lags, sessions and time-outs don't: they are measured
   * with a clock that cannot jump.
   *
   * @throws {TidemarkError} INVALID_ARGUMENT, BROKER_CLOSED
   */
  shiftClock(id: number, offsetMs: number): void {
    const { brokerId } = this.#host(id)
    if (!Number.isInteger(offsetMs) || Math.abs(offsetMs) > clockOffsetMsMax) {
      const allowed = `whole milliseconds from -${clockOffsetMsMax} to ${clockOffsetMsMax}`
      throw new TidemarkError('INVALID_ARGUMENT', `offsetMs = ${offsetMs}: allowed are ${allowed}`)
    }
    this.#words.setClockOffsetMs(brokerId, offsetMs)
  }

  #storeCuts(): void {
    const { brokers } = this.#board.shape
    const ids = Array.from({ length: brokers }, (_, row) => brokerId(row + 1))
    for (const id of ids) {
      this.#words.setControllerCut(id, cutBits(this.#isolated.get(id)?.controller, undefined))
      for (const other of ids) {
        if (other === id) continue
        const leader = this.#isolated.get(id)?.brokers
        const follower = this.#isolated.get(other)?.brokers
        this.#words.setFetchCut(id, other, cutBits(follower, leader))
      }
    }
    for (const id of ids) this.#board.wakeBroker(id)
  }
}

/** Bits of a link between who requests and who responds, from what each is cut off from. */
function cutBits(requester: CutDirection | undefined, responder: CutDirection | undefined): number {
  const requests = isCut(requester, 'outgoing') || isCut(responder, 'incoming')
  const responses = isCut(requester, 'incoming') || isCut(responder, 'outgoing')
  return (requests ? cut.requests : 0) | (responses ? cut.responses : 0)
}

function isCut(direction: CutDirection | undefined, way: 'outgoing' | 'incoming'): boolean {
  return direction === way || direction === 'both'
}

function checkDirection(name: string, value: unknown): void {
  if (value === undefined || directions.includes(value)) return
  const detail = `isolation: ${name} = ${String(value)}: allowed are ${directions.join(', ')}`
  throw new TidemarkError('INVALID_ARGUMENT', detail)
}
