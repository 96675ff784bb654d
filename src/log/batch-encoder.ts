/**
 * Writes records as one batch straight into memory, shared memory included. On the way of a
 * produced record this is the only code that copies its payload.
 */
import { TidemarkError } from '../errors.ts'
import { invariant } from '../invariant.ts'
import { type Compression, compressions } from './batch-header.ts'
import {
  attributeBit,
  batchField,
  batchLengthPrefixBytes,
  batchMagic,
  batchOverheadBytes,
} from './batch-layout.ts'
import type { BatchMemory } from './batch-memory.ts'
import { compressRecords } from './codec.ts'
import { crc32c } from './crc32c.ts'
import { writeInt64 } from './int64.ts'
import { payloadCopies } from './payload-copies.ts'
import {
  headersSize,
  lengthOf,
  type ProduceRecord,
  type RecordHeader,
  recordBodySize,
  timestampMagnitudeMax,
} from './record.ts'
import { varintSize, writeVarint, writeVarlong } from './varint.ts'

export interface BatchOptions {
  /** A batch that compression doesn't make smaller is stored without. */
  readonly compression: Compression
  /** -1: not idempotent. */
  readonly producerId?: number
  readonly producerEpoch?: number
  readonly baseSequence?: number
  readonly transactional?: boolean
  readonly control?: boolean
}

/** Below this a loop is quicker than a call. */
const copyLoopBytesMax = 24

export class BatchEncoder {
  /** Where the key of the last `tryAppendRaw` goes; meaningless when its length is -1 or 0. */
  rawKeyPosition = -1
  #memory: BatchMemory | undefined = undefined
  #options: BatchOptions = { compression: 'none' }
  #position = 0
  #recordCount = 0
  #baseTimestampMs = -1
  #maxTimestampMs = -1
  /** Records go here: into the batch itself, or to the staging area when they get compressed. */
  #bytes: Uint8Array = new Uint8Array(0)
  #recordsStart = 0
  #at = 0
  #end = 0
  #staging: Uint8Array = new Uint8Array(0)

  get recordCount(): number {
    return this.#recordCount
  }

  /** Bytes the batch takes if it is finished now without compression. */
  get sizeBytes(): number {
    return batchOverheadBytes + this.#at - this.#recordsStart
  }

  /** Starts a batch at `position` that takes `limitBytes` at most. One at a time. */
  begin(memory: BatchMemory, position: number, limitBytes: number, options: BatchOptions): void {
    invariant(this.#memory === undefined, 'the batch before must be finished or abandoned')
    invariant(limitBytes >= batchOverheadBytes, 'a batch needs room for its header')
    invariant(position + limitBytes <= memory.bytes.length, 'a batch lies within its memory')
    this.#memory = memory
    this.#options = options
    this.#position = position
    this.#recordCount = 0
    this.#baseTimestampMs = -1
    this.#maxTimestampMs = -1
    if (options.compression === 'none') {
      this.#bytes = memory.bytes
      this.#recordsStart = position + batchOverheadBytes
      this.#end = position + limitBytes
    } else {
      const room = limitBytes - batchOverheadBytes
      if (this.#staging.length < room) this.#staging = new Uint8Array(room)
      this.#bytes = this.#staging
      this.#recordsStart = 0
      this.#end = room
    }
    this.#at = this.#recordsStart
  }

  /** False: no room, and nothing changed. */
  tryAppend(record: ProduceRecord): boolean {
    const { key, value, headers } = record
    const keyLength = lengthOf(key)
    const valueLength = lengthOf(value)
    if (!this.#tryStart(record.timestampMs, keyLength, valueLength, headersSize(headers))) {
      return false
    }
    let at = writeVarint(this.#bytes, this.#at, keyLength)
    if (key !== null) at = copyInto(this.#bytes, at, key)
    at = writeVarint(this.#bytes, at, valueLength)
    if (value !== null) at = copyInto(this.#bytes, at, value)
    this.#at = writeHeaders(this.#bytes, at, headers)
    this.#recordCount += 1
    return true
  }

  /**
   * For callers that make the payload themselves: writes all of a record without headers but the
   * bytes of key and value, and returns where the value goes in `rawBytes` (the key's place is
   * `rawKeyPosition`). -1: no room, and nothing changed. The bytes must be filled before `finish`;
   * that counts as their one copy.
   */
  tryAppendRaw(timestampMs: number, keyLength: number, valueLength: number): number {
    if (!this.#tryStart(timestampMs, keyLength, valueLength, 1)) return -1
    let at = writeVarint(this.#bytes, this.#at, keyLength)
    this.rawKeyPosition = at
    if (keyLength > 0) at += keyLength
    const valuePosition = writeVarint(this.#bytes, at, valueLength)
    at = valueLength > 0 ? valuePosition + valueLength : valuePosition
    this.#bytes[at] = 0
    this.#at = at + 1
    this.#recordCount += 1
    payloadCopies.bytes += Math.max(0, keyLength) + Math.max(0, valueLength)
    return valuePosition
  }

  /** Where `tryAppendRaw`'s positions lie: the batch's memory, or the staging area. */
  get rawBytes(): Uint8Array {
    return this.#bytes
  }

  /**
   * Completes the batch, CRC last, and returns its bytes; 0 when it has no record.
   *
   * @throws {TidemarkError} UNSUPPORTED_VERSION when the codec's library does not load here.
   */
  finish(): number {
    const memory = this.#memory
    invariant(memory !== undefined, 'a batch must have been begun')
    this.#memory = undefined
    if (this.#recordCount === 0) return 0
    let codec = 0
    let size = this.sizeBytes
    const { compression } = this.#options
    if (compression !== 'none') {
      const block = compressRecords(compression, this.#staging, 0, this.#at)
      const smaller = block.length < this.#at
      const source = smaller ? block : this.#staging.subarray(0, this.#at)
      memory.bytes.set(source, this.#position + batchOverheadBytes)
      payloadCopies.bytes += source.length
      size = batchOverheadBytes + source.length
      codec = smaller ? compressions.indexOf(compression) : 0
    }
    this.#writeHeader(memory, size, codec)
    return size
  }

  /** Forgets the batch that was begun. */
  abandon(): void {
    this.#memory = undefined
    this.#recordCount = 0
  }

  /** Writes what comes before the key, if the whole record fits. */
  #tryStart(
    timestampMs: number,
    keyLength: number,
    valueLength: number,
    headersBytes: number,
  ): boolean {
    const wholeMs = Math.floor(timestampMs)
    if (!(Math.abs(wholeMs) <= timestampMagnitudeMax)) throw badTimestamp(timestampMs)
    const offsetDelta = this.#recordCount
    const timestampDelta = offsetDelta === 0 ? 0 : wholeMs - this.#baseTimestampMs
    const body = recordBodySize(timestampDelta, offsetDelta, keyLength, valueLength, headersBytes)
    if (this.#at + varintSize(body) + body > this.#end) return false
    if (offsetDelta === 0) this.#baseTimestampMs = wholeMs
    if (wholeMs > this.#maxTimestampMs) this.#maxTimestampMs = wholeMs
    const at = writeVarint(this.#bytes, this.#at, body)
    this.#bytes[at] = 0
    this.#at = writeVarint(
      this.#bytes,
      writeVarlong(this.#bytes, at + 1, timestampDelta),
      offsetDelta,
    )
    return true
  }

  #writeHeader({ bytes, view }: BatchMemory, size: number, codec: number): void {
    const options = this.#options
    const at = this.#position
    let attributes = codec
    if (options.transactional === true) attributes |= attributeBit.transactional
    if (options.control === true) attributes |= attributeBit.control
    writeInt64(view, at + batchField.baseOffset, 0)
    view.setInt32(at + batchField.length, size - batchLengthPrefixBytes)
    view.setInt32(at + batchField.leaderEpoch, -1)
    view.setInt8(at + batchField.magic, batchMagic)
    view.setInt16(at + batchField.attributes, attributes)
    view.setInt32(at + batchField.lastOffsetDelta, this.#recordCount - 1)
    writeInt64(view, at + batchField.baseTimestamp, this.#baseTimestampMs)
    writeInt64(view, at + batchField.maxTimestamp, this.#maxTimestampMs)
    writeInt64(view, at + batchField.producerId, options.producerId ?? -1)
    view.setInt16(at + batchField.producerEpoch, options.producerEpoch ?? -1)
    view.setInt32(at + batchField.baseSequence, options.baseSequence ?? -1)
    view.setInt32(at + batchField.recordCount, this.#recordCount)
    view.setUint32(at + batchField.crc, crc32c(bytes, at + batchField.attributes, at + size))
  }
}

function badTimestamp(timestampMs: number): TidemarkError {
  return new TidemarkError(
    'INVALID_RECORD',
    `timestamp ${timestampMs} ms: allowed are -1 (none) and up to 2^51 either way`,
  )
}

function copyInto(target: Uint8Array, position: number, source: Uint8Array): number {
  const { length } = source
  if (length <= copyLoopBytesMax) {
    for (let i = 0; i < length; i += 1) target[position + i] = source[i]
  } else {
    target.set(source, position)
  }
  payloadCopies.bytes += length
  return position + length
}

function writeHeaders(
  target: Uint8Array,
  position: number,
  headers: readonly RecordHeader[] | undefined,
): number {
  if (headers === undefined || headers.length === 0) {
    target[position] = 0
    return position + 1
  }
  let at = writeVarint(target, position, headers.length)
  for (const { key, value } of headers) {
    const keyBytes = Buffer.from(key)
    at = writeVarint(target, at, keyBytes.length)
    at = copyInto(target, at, keyBytes)
    at = writeVarint(target, at, lengthOf(value))
    if (value !== null) at = copyInto(target, at, value)
  }
  return at
}
