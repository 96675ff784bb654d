/**
 * Random numbers from a seed, for arrivals, payloads and resampling: the same seed gives the same
 * run on every machine. The generator is sfc32 (Doty-Humphrey), 128 bits of state; not for secrets.
 */
export class SeededRandom {
  #a: number
  #b: number
  #c: number
  #counter = 1

  /** `seed`: any finite number; `stream` separates independent uses of one seed. */
  constructor(seed: number, stream = 0) {
    // 53 bits of the seed reach the state: a seed is often a time in milliseconds.
    this.#a = seed | 0
    this.#b = Math.floor(seed / 2 ** 32) | 0
    this.#c = Math.imul(stream + 1, 0x9e3779b9) | 0
    for (let round = 0; round < 16; round++) this.nextUint32()
  }

  /** A whole number from 0 to 2^32 - 1. */
  nextUint32(): number {
    const result = (((this.#a + this.#b) | 0) + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + result) | 0
    return result >>> 0
  }

  /** From 0, below 1, 32 bits fine. */
  next(): number {
    return this.nextUint32() / 2 ** 32
  }

  /** A whole number from 0 to `count - 1`. */
  nextBelow(count: number): number {
    return Math.floor(this.next() * count)
  }

  /** Exponentially distributed with mean 1. Never 0, never infinite. */
  nextExponential(): number {
    return -Math.log((this.nextUint32() + 0.5) / 2 ** 32)
  }

  /** The state, to come back to this place of the sequence with `restore`. */
  save(target: Int32Array, position: number): void {
    target[position] = this.#a
    target[position + 1] = this.#b
    target[position + 2] = this.#c
    target[position + 3] = this.#counter
  }

  restore(source: Int32Array, position: number): void {
    this.#a = source[position]!
    this.#b = source[position + 1]!
    this.#c = source[position + 2]!
    this.#counter = source[position + 3]!
  }
}
