/**
 * Latest offset of each key, in memory of a fixed size (Kafka: `SkimpyOffsetMap`): open addressing
 * over a digest of the key, 16 bytes, and the offset. Keys themselves aren't kept, so two with the
 * same digest would be taken for one; that of SHA-256 nobody can bring about.
 */
import { hash } from 'node:crypto'

/** Four words of digest, and an offset of 8 bytes. */
export const offsetMapEntryBytes = 24
const digestWords = 4
/** Beyond this share searches become long. */
const fillShareMax = 0.9

export class OffsetMap {
  /** One past the last offset that was taken account of; -1: none. */
  endOffset = -1
  readonly #digests: Int32Array
  /** Offset + 1; 0: the slot is free. */
  readonly #values: Float64Array
  readonly #slots: number
  readonly #countMax: number
  #count = 0

  /** At least room for two keys. */
  constructor(memoryBytes: number) {
    this.#slots = Math.max(3, Math.floor(memoryBytes / offsetMapEntryBytes))
    this.#countMax = Math.floor(this.#slots * fillShareMax)
    this.#digests = new Int32Array(this.#slots * digestWords)
    this.#values = new Float64Array(this.#slots)
  }

  get count(): number {
    return this.#count
  }

  /** Notes that the key has a record at `offset`, the highest so far. False: there is no room. */
  put(bytes: Uint8Array, position: number, length: number, offset: number): boolean {
    const slot = this.#find(bytes, position, length)
    if (this.#values[slot] === 0) {
      if (this.#count >= this.#countMax) return false
      this.#count += 1
      this.#digests.set(digest, slot * digestWords)
    }
    this.#values[slot] = offset + 1
    return true
  }

  /** Latest offset of the key; -1: none was noted. */
  get(bytes: Uint8Array, position: number, length: number): number {
    return this.#values[this.#find(bytes, position, length)] - 1
  }

  /** Slot of the key, or the free one where it would go. */
  #find(bytes: Uint8Array, position: number, length: number): number {
    const key = hash('sha256', bytes.subarray(position, position + length), 'buffer')
    for (let at = 0; at < digestWords; at += 1) digest[at] = key.readInt32LE(4 * at)
    let slot = (digest[0] >>> 0) % this.#slots
    while (this.#values[slot] !== 0 && !this.#isAt(slot)) slot = (slot + 1) % this.#slots
    return slot
  }

  #isAt(slot: number): boolean {
    const at = slot * digestWords
    const digests = this.#digests
    return (
      digests[at] === digest[0] &&
      digests[at + 1] === digest[1] &&
      digests[at + 2] === digest[2] &&
      digests[at + 3] === digest[3]
    )
  }
}

/** Of the key that is looked for. */
const digest = new Int32Array(digestWords)
