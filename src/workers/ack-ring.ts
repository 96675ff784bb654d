/**
 * AckRing: acknowledgements from one leader to one producer. Single writer (leader thread), single
 * reader (the producer's thread). A producer never has more outstanding at a leader than the ring
 * holds, so the leader never waits for room.
 *
 *   entry (8 words)   ticket │ error number │ baseOffset (3) │ appendTimeUs (3)
 */
import { invariant } from '../invariant.ts'
import { cacheLineWords, loadShared, storeShared } from './shared-words.ts'

const headWord = 0
const tailWord = cacheLineWords
const entriesBase = 2 * cacheLineWords
const entryWords = 8

export interface AckRingsBuffers {
  readonly buffer: SharedArrayBuffer
  readonly producers: number
  readonly brokers: number
  readonly capacity: number
}

/**
 * @param capacity entries of one ring, a power of two. The memory is touched only as producers
 *   come.
 */
export function allocateAckRings(
  producers: number,
  brokers: number,
  capacity: number,
): AckRingsBuffers {
  invariant(Number.isInteger(Math.log2(capacity)), 'ack ring capacity is a power of two')
  const buffer = new SharedArrayBuffer(producers * brokers * ringWords(capacity) * 4)
  return { buffer, producers, brokers, capacity }
}

function ringWords(capacity: number): number {
  return entriesBase + capacity * entryWords
}

export class AckRing {
  readonly capacity: number
  readonly #words: Int32Array

  /** @param producer slot from 0, @param broker row from 0 */
  constructor(buffers: AckRingsBuffers, producer: number, broker: number) {
    this.capacity = buffers.capacity
    const length = ringWords(buffers.capacity)
    const index = producer * buffers.brokers + broker
    this.#words = new Int32Array(buffers.buffer, index * length * 4, length)
  }

  /** Leader: adds an acknowledgement; visible to the reader at once. */
  push(ticket: number, errorNumber: number, baseOffset: number): void {
    const words = this.#words
    const tail = Atomics.load(words, tailWord)
    invariant(
      ((tail - Atomics.load(words, headWord)) | 0) < this.capacity,
      'a producer has no more outstanding than its ack ring holds',
    )
    const at = entriesBase + (tail & (this.capacity - 1)) * entryWords
    words[at] = ticket
    words[at + 1] = errorNumber
    storeShared(words, at + 2, baseOffset)
    Atomics.store(words, tailWord, (tail + 1) | 0)
  }

  /** Producer: visits and removes what is there. @returns how many */
  drain(visit: (ticket: number, errorNumber: number, baseOffset: number) => void): number {
    const words = this.#words
    const tail = Atomics.load(words, tailWord)
    let head = Atomics.load(words, headWord)
    const count = (tail - head) | 0
    while (head !== tail) {
      const at = entriesBase + (head & (this.capacity - 1)) * entryWords
      const ticket = words[at]!
      const errorNumber = words[at + 1]!
      const baseOffset = loadShared(words, at + 2)
      head = (head + 1) | 0
      // Freed before the visit: the visitor may send again, and then has room for the answer.
      Atomics.store(words, headWord, head)
      visit(ticket, errorNumber, baseOffset)
    }
    return count
  }
}
