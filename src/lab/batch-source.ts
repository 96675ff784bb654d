/**
 * BatchSource: fills batches with records, synthetic or from somebody's file, straight into the
 * ring. Synthetic values come from a pool made from the seed, with the record's number in their
 * first eight bytes, so that no two records of eight bytes or more are equal.
 */
import type { BatchEncoder } from '../log/batch-encoder.ts'
import { batchOverheadBytes } from '../log/batch-layout.ts'
import type { InputRecords } from './input.ts'
import { SeededRandom } from './statistics-random.ts'

export interface BatchSource {
  /** Appends records until the batch holds `batchBytes` or no more fit. @returns payload bytes */
  fill(encoder: BatchEncoder, timestampMs: number): number
}

/**
 * Bytes that values are cut from: they fit in a core's cache, as values fresh from an application
 * would.
 */
const poolBytesMin = 1024 * 1024
const valuesPerAlignment = 1_024
/**
 * Into shared memory V8 copies a word at a time if source and target are aligned alike, else byte
 * by byte, which takes several times as long. So each value is cut where it is aligned as its place
 * in the batch.
 */
const wordBytes = 8

export class SyntheticSource implements BatchSource {
  /** By alignment. */
  readonly #values: readonly (readonly Uint8Array[])[]
  readonly #recordBytes: number
  readonly #recordsPerBatch: number
  #number: number

  /** @param first number of the first record; generators of one run begin far apart */
  constructor(recordBytes: number, batchBytes: number, seed: number, first: number) {
    this.#recordBytes = recordBytes
    this.#recordsPerBatch = recordsPerBatch(recordBytes, batchBytes)
    this.#values = makeValues(recordBytes, seed)
    this.#number = first
  }

  fill(encoder: BatchEncoder, timestampMs: number): number {
    const size = this.#recordBytes
    const { rawBytes } = encoder
    let filled = 0
    for (let record = 0; record < this.#recordsPerBatch; record++) {
      const position = encoder.tryAppendRaw(timestampMs, -1, size)
      if (position < 0) break
      const values = this.#values[position & (wordBytes - 1)]
      rawBytes.set(values[this.#number & (valuesPerAlignment - 1)], position)
      if (size >= 8) writeNumber(rawBytes, position, this.#number)
      this.#number++
      filled += size
    }
    return filled
  }
}

/** Half-compressible, like text: words of four letters, every second one from a small alphabet. */
function makeValues(recordBytes: number, seed: number): Uint8Array[][] {
  const span = Math.max(poolBytesMin, recordBytes * 2)
  const pool = new Uint32Array(Math.ceil((span + recordBytes + wordBytes) / 4))
  const random = new SeededRandom(seed)
  for (let word = 0; word < pool.length; word++) {
    const bits = random.nextUint32()
    pool[word] = bits & 1 ? bits : 0x2065_7473 ^ (bits & 0x0303_0303)
  }
  const bytes = new Uint8Array(pool.buffer)
  return Array.from({ length: wordBytes }, (_, alignment) => {
    return Array.from({ length: valuesPerAlignment }, () => {
      const start = random.nextBelow(span / wordBytes) * wordBytes + alignment
      return bytes.subarray(start, start + recordBytes)
    })
  })
}

export function recordsPerBatch(recordBytes: number, batchBytes: number): number {
  // A record's own fields take 7 to 12 bytes; the encoder has the last word on what fits.
  return Math.max(1, Math.floor((batchBytes - batchOverheadBytes) / (recordBytes + 8)))
}

/** Eight bytes, least significant first. */
function writeNumber(bytes: Uint8Array, position: number, number: number): void {
  const low = number >>> 0
  const high = (number - low) / 2 ** 32
  bytes[position] = low
  bytes[position + 1] = low >>> 8
  bytes[position + 2] = low >>> 16
  bytes[position + 3] = low >>> 24
  bytes[position + 4] = high
  bytes[position + 5] = high >>> 8
  bytes[position + 6] = high >>> 16
  bytes[position + 7] = high >>> 24
}

export class InputSource implements BatchSource {
  readonly #input: InputRecords
  readonly #bytes: Buffer
  readonly #batchBytes: number
  #next: number

  constructor(input: InputRecords, batchBytes: number, first: number) {
    this.#input = input
    this.#bytes = Buffer.from(input.payload)
    this.#batchBytes = batchBytes
    this.#next = first % input.recordCount
  }

  fill(encoder: BatchEncoder, timestampMs: number): number {
    const { positions, lengths, keys, recordCount } = this.#input
    const { rawBytes } = encoder
    let filled = 0
    do {
      const record = this.#next
      const keyLength = keys === undefined ? -1 : keys.lengths[record]
      const length = lengths[record]
      const position = encoder.tryAppendRaw(timestampMs, keyLength, length)
      if (position < 0) break
      if (length > 0) this.#copy(rawBytes, position, positions[record], length)
      if (keys !== undefined && keyLength > 0) {
        this.#copy(rawBytes, encoder.rawKeyPosition, keys.positions[record], keyLength)
      }
      filled += Math.max(0, length) + Math.max(0, keyLength)
      this.#next = record + 1 === recordCount ? 0 : record + 1
    } while (encoder.sizeBytes < this.#batchBytes)
    return filled
  }

  #copy(target: Uint8Array, position: number, from: number, length: number): void {
    this.#bytes.copy(target, position, from, from + length)
  }
}
