/**
 * BatchSource: fills batches with records, synthetic or from somebody's file, straight into the ring.
 * Synthetic payload is a slice of a pool made from the seed, at a place that changes from record to record,
 * with the record's number in its first eight bytes, so that no two records are equal.
 */
import type { BatchEncoder } from '../log/batch-encoder.ts'
import { batchOverheadBytes } from '../log/batch-layout.ts'
import type { InputRecords } from './input.ts'
import { SeededRandom } from './statistics-random.ts'

export interface BatchSource {
  /** Appends records until the batch holds `batchBytes` or no more fit. @returns payload bytes */
  fill(encoder: BatchEncoder, timestampMs: number): number
}

const poolBytes = 4 * 1024 * 1024
/** A prime, so that slices of any size visit the whole pool. */
const poolStride = 1_048_583

export class SyntheticSource implements BatchSource {
  readonly #pool: Buffer
  readonly #recordBytes: number
  readonly #recordsPerBatch: number
  #at = 0
  #number = 0

  /** @param first number of the first record; generators of one run begin far apart */
  constructor(recordBytes: number, batchBytes: number, seed: number, first: number) {
    this.#recordBytes = recordBytes
    this.#recordsPerBatch = recordsPerBatch(recordBytes, batchBytes)
    this.#pool = Buffer.allocUnsafeSlow(poolBytes + recordBytes)
    const random = new SeededRandom(seed)
    // Half-compressible, like text: letters from a small alphabet in short runs.
    for (let at = 0; at < this.#pool.length; at += 4) {
      const bits = random.nextUint32()
      const word = bits & 1 ? bits : 0x2065_7473 ^ (bits & 0x0303_0303)
      this.#pool.writeUInt32LE(word >>> 0, Math.min(at, this.#pool.length - 4))
    }
    this.#number = first
  }

  fill(encoder: BatchEncoder, timestampMs: number): number {
    const size = this.#recordBytes
    const pool = this.#pool
    const { rawBytes } = encoder
    let filled = 0
    for (let record = 0; record < this.#recordsPerBatch; record++) {
      const position = encoder.tryAppendRaw(timestampMs, -1, size)
      if (position < 0) break
      this.#at += poolStride
      if (this.#at >= poolBytes) this.#at -= poolBytes * Math.floor(this.#at / poolBytes)
      pool.copy(rawBytes, position, this.#at, this.#at + size)
      writeNumber(rawBytes, position, size, this.#number++)
      filled += size
    }
    return filled
  }
}

export function recordsPerBatch(recordBytes: number, batchBytes: number): number {
  // A record's own fields take 7 to 12 bytes; the encoder has the last word on what fits.
  return Math.max(1, Math.floor((batchBytes - batchOverheadBytes) / (recordBytes + 8)))
}

function writeNumber(bytes: Uint8Array, position: number, size: number, number: number): void {
  let rest = number
  const end = position + Math.min(8, size)
  for (let at = position; at < end; at++) {
    bytes[at] = rest & 0xff
    rest = Math.floor(rest / 256)
  }
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
