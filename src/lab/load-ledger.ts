/**
 * LoadLedger: every batch that a generator thread produced, in shared memory: what it was, when it
 * was meant to be sent, when and how it was answered. Latencies, rates and the final comparison
 * with what is on disk are all worked out from it afterwards, so that nothing is summed up on the
 * way.
 *
 * One writer, the generator; a batch's row is complete when `count` covers it, its answer when its
 * status is no longer 0. Memory is touched row by row, so the capacity costs nothing until it is
 * used.
 */
export const ledgerStatus = { pending: 0, acknowledged: 1, refused: 2, unknown: 3 } as const

export interface LoadLedgerBuffers {
  readonly capacity: number
  readonly integers: SharedArrayBuffer
  readonly numbers: SharedArrayBuffer
}

/** Bytes of a row, for whoever decides the capacity. */
export const ledgerRowBytes = 6 * 4 + 4 * 8
const headerWords = 16

export function allocateLoadLedger(capacity: number): LoadLedgerBuffers {
  return {
    capacity,
    integers: new SharedArrayBuffer((headerWords + 6 * capacity) * 4),
    numbers: new SharedArrayBuffer(4 * capacity * 8),
  }
}

export class LoadLedger {
  readonly capacity: number
  readonly partition: Int32Array
  readonly recordCount: Int32Array
  readonly batchBytes: Int32Array
  /** Keys and values, before compression. */
  readonly payloadBytes: Int32Array
  /**
   * CRC-32C as the batch carries it: covers all its records, their offsets deltas and timestamps.
   */
  readonly crc: Int32Array
  /** One of `ledgerStatus`. */
  readonly status: Int32Array
  readonly intendedMs: Float64Array
  readonly sentMs: Float64Array
  readonly answeredMs: Float64Array
  readonly baseOffset: Float64Array
  readonly #header: Int32Array

  constructor({ capacity, integers, numbers }: LoadLedgerBuffers) {
    this.capacity = capacity
    this.#header = new Int32Array(integers, 0, headerWords)
    const int32 = (column: number) => {
      return new Int32Array(integers, (headerWords + column * capacity) * 4, capacity)
    }
    const float64 = (column: number) => new Float64Array(numbers, column * capacity * 8, capacity)
    this.partition = int32(0)
    this.recordCount = int32(1)
    this.batchBytes = int32(2)
    this.crc = int32(3)
    this.status = int32(4)
    this.payloadBytes = int32(5)
    this.intendedMs = float64(0)
    this.sentMs = float64(1)
    this.answeredMs = float64(2)
    this.baseOffset = float64(3)
  }

  /** Rows that are complete. */
  get count(): number {
    return Atomics.load(this.#header, 0)
  }

  set count(value: number) {
    Atomics.store(this.#header, 0, value)
  }

  /** Rows whose answer has come; a sum, not the end of a prefix. */
  get answeredCount(): number {
    return Atomics.load(this.#header, 1)
  }

  set answeredCount(value: number) {
    Atomics.store(this.#header, 1, value)
  }
}
