/**
 * ChunkSize: how much memory a consumer's next read gets. Each read has memory of its own, since
 * records are views of it; so one that follows the log's end, a record at a time, must not take a
 * whole chunk for each, while one that is behind reads as much at once as it may.
 */
import { limits } from '../limits.ts'

/** Filled beyond the one share the next is larger, below the other smaller, by this factor. */
const [fullShare, emptyShare, factor] = [1 / 2, 1 / 8, 4]

export class ChunkSize {
  readonly #bytesMax: number
  #bytes: number

  /** @param bytesMax of a read; a single batch that is larger gets more all the same */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
    this.#bytes = this.#bytesMin
  }

  get bytes(): number {
    return this.#bytes
  }

  /** A read of the present size found so many bytes. */
  filled(bytes: number): void {
    if (bytes > this.#bytes * fullShare && this.#bytes < this.#bytesMax) {
      this.#bytes = Math.min(this.#bytesMax, this.#bytes * factor)
    } else if (bytes < this.#bytes * emptyShare) {
      this.#bytes = Math.max(this.#bytesMin, Math.floor(this.#bytes / factor))
    }
  }

  /** The next batch is larger. @returns whether it may be tried with more */
  grow(): boolean {
    if (this.#bytes >= limits.batchBytesMax) return false
    this.#bytes = Math.min(limits.batchBytesMax, this.#bytes * 2)
    return true
  }

  get #bytesMin(): number {
    return Math.min(this.#bytesMax, limits.scanFirstReadBytes)
  }
}
