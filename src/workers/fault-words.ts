/**
 * FaultWords: what goes wrong on purpose between threads and below them, as words of the board: the
 * supervisor stores them, whoever would send, receive, write or look at the clock loads them.
 *
 * A link between two brokers is a follower's fetches: its requests, and the leader's responses. A
 * link to the controller is the broker's requests, and the controller's answers with the metadata.
 * What is cut isn't lost: between broker and controller it waits in order, as in a connection
 * that is slow; a fetch that doesn't get through is simply not made, and made later.
 */
import type { BrokerId } from '../ids.ts'
import type { ProgressBoard } from './progress-board.ts'
import { brokerWord, brokerWords, readerWord, readerWords } from './progress-board-layout.ts'
import { loadShared, storeShared } from './shared-words.ts'

/** What doesn't get through a link. Bits. */
export const cut = { nothing: 0, requests: 1, responses: 2, both: 3 } as const

/** Largest jump of a clock that its word holds, ms: 24 days. */
export const clockOffsetMsMax = 2 ** 31 - 1
/** Longest delay of a write, ms. */
export const diskDelayMsMax = 60_000

export class FaultWords {
  readonly #board: ProgressBoard
  readonly #readers: number

  constructor(board: ProgressBoard) {
    this.#board = board
    this.#readers = board.shape.brokers * brokerWords
  }

  /** `cut` of the link on which `follower` fetches from `leader`. */
  fetchCut(leader: BrokerId, follower: BrokerId): number {
    return Atomics.load(this.#board.words, this.#link(leader, follower))
  }

  setFetchCut(leader: BrokerId, follower: BrokerId, bits: number): void {
    Atomics.store(this.#board.words, this.#link(leader, follower), bits)
  }

  /** `cut` of the link between broker and controller; the broker requests. */
  controllerCut(id: BrokerId): number {
    return Atomics.load(this.#board.words, this.#broker(id) + brokerWord.controllerCut)
  }

  setControllerCut(id: BrokerId, bits: number): void {
    Atomics.store(this.#board.words, this.#broker(id) + brokerWord.controllerCut, bits)
  }

  /** By how much the broker's wall clock is ahead of everybody's, ms. */
  clockOffsetMs(id: BrokerId): number {
    return Atomics.load(this.#board.words, this.#broker(id) + brokerWord.clockOffsetMs)
  }

  setClockOffsetMs(id: BrokerId, ms: number): void {
    Atomics.store(this.#board.words, this.#broker(id) + brokerWord.clockOffsetMs, ms)
  }

  /** What every write and sync takes longer, ms. */
  diskDelayMs(id: BrokerId): number {
    return Atomics.load(this.#board.words, this.#broker(id) + brokerWord.diskDelayUs) / 1000
  }

  /** Bytes a second that the disk takes at most; 0: as many as it does. */
  diskBytesPerSec(id: BrokerId): number {
    return loadShared(this.#board.words, this.#broker(id) + brokerWord.diskBytesPerSec)
  }

  setDisk(id: BrokerId, delayMs: number, bytesPerSec: number): void {
    const { words } = this.#board
    Atomics.store(words, this.#broker(id) + brokerWord.diskDelayUs, Math.round(delayMs * 1000))
    storeShared(words, this.#broker(id) + brokerWord.diskBytesPerSec, bytesPerSec)
  }

  #broker(id: BrokerId): number {
    return (id - 1) * brokerWords
  }

  #link(leader: BrokerId, follower: BrokerId): number {
    const row = (leader - 1) * this.#board.shape.brokers + follower - 1
    return this.#readers + row * readerWords + readerWord.cut
  }
}
