/**
 * Acknowledger: a leader's answers to all producers, with one ring of the bell a producer and
 * round.
 */
import type { BrokerId } from '../ids.ts'
import { limits } from '../limits.ts'
import { AckRing, type AckRingsBuffers } from './ack-ring.ts'
import { ringDoorbell } from './doorbell.ts'
import type { ProgressBoard } from './progress-board.ts'

const batchBytesTypical = 16 * 1024

export class Acknowledger {
  readonly #board: ProgressBoard
  readonly #buffers: AckRingsBuffers
  readonly #row: number
  readonly #rings: (AckRing | undefined)[] = []
  readonly #pending = new Uint8Array(limits.producersMax)
  #pendingCount = 0
  /** Since the last `takePendingBytes`. */
  #newCount = 0

  constructor(board: ProgressBoard, buffers: AckRingsBuffers, brokerId: BrokerId) {
    this.#board = board
    this.#buffers = buffers
    this.#row = brokerId - 1
  }

  /**
   * @param error number of the error, 0: none @param baseOffset first offset of the batch, -1 with
   *   an error
   */
  acknowledge(slot: number, ticket: number, error: number, baseOffset: number): void {
    let ring = this.#rings[slot]
    if (ring === undefined) {
      ring = new AckRing(this.#buffers, slot, this.#row)
      this.#rings[slot] = ring
    }
    ring.push(ticket, error, baseOffset)
    this.#pending[slot] = 1
    this.#pendingCount++
    this.#newCount++
  }

  /** Answers since the last bells. */
  get pendingCount(): number {
    return this.#pendingCount
  }

  /** What the answers since the last call are worth to a `LazyBell`: each frees about a batch. */
  takePendingBytes(): number {
    const bytes = this.#newCount * batchBytesTypical
    this.#newCount = 0
    return bytes
  }

  /** Wakes the producers that were answered since the last call. */
  ringBells(): void {
    if (this.#pendingCount === 0) return
    this.#pendingCount = 0
    for (let slot = 0; slot < limits.producersMax; slot++) {
      if (this.#pending[slot] === 0) continue
      this.#pending[slot] = 0
      ringDoorbell(this.#board.words, this.#board.clientDoorbellBase(slot))
    }
  }
}
