/**
 * Encodes records that are given as objects into batches, side by side in memory of its own: all of
 * them before any is written, so that a bad record leaves nothing behind.
 */
import { TidemarkError } from '../errors.ts'
import { limits } from '../limits.ts'
import { BatchEncoder, type BatchOptions } from './batch-encoder.ts'
import { type BatchMemory, type BatchRun, batchMemory } from './batch-memory.ts'
import { sequenceAfter } from './producers/sequence-numbers.ts'
import { batchSizeBound, type ProduceRecord } from './record.ts'
import { invalidField, isTimestamp, type RecordInput, toProduceRecord } from './record-input.ts'
import { putText, utf8Length } from './text-bytes.ts'

export interface EncodeOptions {
  /** What a batch may take; one record may take more. */
  readonly batchBytes: number
  readonly batch: BatchOptions
  /** Time of records without their own. */
  readonly nowMs: number
}

const noMemory = batchMemory(new ArrayBuffer(0))

export class RecordBatches {
  readonly #encoder = new BatchEncoder()
  #memory: BatchMemory = noMemory
  #positions = new Int32Array(16)
  #count = 0
  /** Where the next batch goes. */
  #end = 0
  /** The bytes that records are encoded into, as a buffer that takes text. */
  #target: Buffer = Buffer.alloc(0)

  /**
   * The records as batches, in order. The run is good until the next call.
   *
   * @throws {TidemarkError} INVALID_RECORD naming the record, RECORD_TOO_LARGE,
   *   RECORD_LIST_TOO_LARGE, UNSUPPORTED_VERSION for a codec that does not load here
   */
  encode(records: readonly RecordInput[], options: EncodeOptions): BatchRun {
    this.#count = 0
    this.#end = 0
    let at = 0
    try {
      while (at < records.length) at = this.#encodeBatch(records, at, options)
    } catch (cause) {
      this.#encoder.abandon()
      throw cause
    }
    return { memory: this.#memory, positions: this.#positions, count: this.#count }
  }

  /** Gives back memory beyond what is worth keeping. */
  trim(): void {
    if (this.#memory.bytes.length > limits.appendBytesKeptMax) this.#memory = noMemory
  }

  /** Returns the first record that isn't in it. */
  #encodeBatch(records: readonly RecordInput[], first: number, options: EncodeOptions): number {
    const encoder = this.#encoder
    const batch = numberedFrom(options.batch, first)
    this.#begin(options.batchBytes, batch)
    let at = first
    while (at < records.length && this.#tryAppend(records[at], at, options.nowMs)) at += 1
    if (at === first) {
      encoder.abandon()
      this.#appendAlone(records[at], at, { ...options, batch })
      at += 1
    }
    if (this.#count === this.#positions.length) this.#growPositions()
    this.#positions[this.#count] = this.#end
    this.#count += 1
    this.#end += encoder.finish()
    return at
  }

  #begin(limitBytes: number, batch: BatchOptions): void {
    if (this.#end + limitBytes > this.#memory.bytes.length) this.#grow(this.#end + limitBytes)
    this.#encoder.begin(this.#memory, this.#end, limitBytes, batch)
    const { rawBytes } = this.#encoder
    if (rawBytes.buffer === this.#target.buffer) return
    this.#target = Buffer.from(rawBytes.buffer, rawBytes.byteOffset, rawBytes.length)
  }

  /** False: no room, and nothing changed. */
  #tryAppend(record: RecordInput, at: number, nowMs: number): boolean {
    if (typeof record !== 'object' || record === null) {
      throw invalidField(`record ${at}`, `a ${typeof record}`, 'objects with a value')
    }
    const { key, value, headers } = record
    if (headers !== undefined) return this.#encoder.tryAppend(checked(record, at, nowMs))
    const timestampMs = record.timestampMs ?? nowMs
    if (!isTimestamp(timestampMs)) checked(record, at, nowMs)
    const keyLength = key === undefined ? -1 : lengthOf(key, 'key', at)
    const valueLength = lengthOf(value, 'value', at)
    const position = this.#encoder.tryAppendRaw(timestampMs, keyLength, valueLength)
    if (position < 0) return false
    if (keyLength > 0) this.#put(this.#encoder.rawKeyPosition, key!, keyLength)
    if (valueLength > 0) this.#put(position, value!, valueLength)
    return true
  }

  #put(position: number, part: Uint8Array | string, length: number): void {
    if (typeof part === 'string') putText(this.#target, position, part, length)
    else this.#target.set(part, position)
  }

  /** A record that is larger than a batch. */
  #appendAlone(input: RecordInput, at: number, { batch, nowMs }: EncodeOptions): void {
    const record = checked(input, at, nowMs)
    const bound = batchSizeBound([record])
    if (bound > limits.batchBytesMax) {
      throw new TidemarkError(
        'RECORD_TOO_LARGE',
        `record ${at}: a batch of ${bound} bytes, allowed are ${limits.batchBytesMax}`,
      )
    }
    this.#begin(bound, batch)
    this.#encoder.tryAppend(record)
  }

  #grow(bytes: number): void {
    if (bytes > limits.appendBytesMax) {
      throw new TidemarkError(
        'RECORD_LIST_TOO_LARGE',
        `more than ${limits.appendBytesMax} bytes of batches in one append`,
      )
    }
    const wanted = Math.max(bytes, Math.min(2 * this.#memory.bytes.length, limits.appendBytesMax))
    const memory = batchMemory(new ArrayBuffer(wanted))
    memory.bytes.set(this.#memory.bytes.subarray(0, this.#end))
    this.#memory = memory
  }

  #growPositions(): void {
    const positions = new Int32Array(2 * this.#positions.length)
    positions.set(this.#positions)
    this.#positions = positions
  }
}

/** Sequence numbers go on from batch to batch. */
function numberedFrom(batch: BatchOptions, records: number): BatchOptions {
  if (records === 0 || batch.baseSequence === undefined) return batch
  return { ...batch, baseSequence: sequenceAfter(batch.baseSequence, records) }
}

function lengthOf(part: Uint8Array | string | null, name: string, at: number): number {
  if (part instanceof Uint8Array) return part.length
  if (typeof part === 'string') return utf8Length(part)
  if (part === null) return -1
  throw invalidField(`record ${at}: ${name}`, `a ${typeof part}`, 'bytes, a text, null')
}

function checked(record: RecordInput, at: number, nowMs: number): ProduceRecord {
  try {
    return toProduceRecord(record, nowMs)
  } catch (cause) {
    if (cause instanceof TidemarkError) {
      throw new TidemarkError(cause.code, `record ${at}: ${cause.message}`)
    }
    throw cause
  }
}
