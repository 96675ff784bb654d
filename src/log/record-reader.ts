/**
 * Reads the records of one batch. Every length and number in the bytes is checked before it is
 * used: a batch of any content yields its records or one typed error.
 */
import { limits } from '../limits.ts'
import {
  attributesAt,
  baseOffsetAt,
  baseTimestampAt,
  compressionAt,
  lastOffsetDeltaAt,
  maxTimestampAt,
  recordCountAt,
  sizeInBytesAt,
} from './batch-header.ts'
import { attributeBit, batchOverheadBytes, recordBytesMin } from './batch-layout.ts'
import type { BatchMemory } from './batch-memory.ts'
import { decompressRecords } from './codec.ts'
import type { LogRecord, RecordHeader } from './record.ts'
import { VarintCursor } from './varint.ts'

const decoder = new TextDecoder()
const noHeaders: readonly RecordHeader[] = []

/** Where a record lies. One object for all records of a walk: take what you need, keep nothing. */
export interface RecordPlace {
  offset: number
  timestampMs: number
  /** What the positions count in: the batch's memory, or its records decompressed. */
  bytes: Uint8Array
  keyPosition: number
  /** -1: null. */
  keyLength: number
  valuePosition: number
  /** -1: null. */
  valueLength: number
  headersPosition: number
  headerCount: number
  /** Where what follows the offset begins: key, value and headers, with their lengths. */
  payloadPosition: number
  /** Exclusive. */
  endPosition: number
}

/**
 * Calls `visit` for each record of the batch at `position`, whose header must have been checked. A
 * record is only shown after it was checked whole.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE naming the position; UNSUPPORTED_VERSION for a codec
 *   whose library does not load here.
 */
export function forEachRecord(
  memory: BatchMemory,
  position: number,
  visit: (place: RecordPlace) => void,
): void {
  const cursor = new RecordCursor(memory, position)
  while (cursor.next()) visit(cursor.place)
}

/** The same as objects, one by one. Keys and values are views, not copies. */
export function* readRecords(memory: BatchMemory, position: number): Generator<LogRecord> {
  const cursor = new RecordCursor(memory, position)
  while (cursor.next()) yield recordOf(cursor.place)
}

/** The same for callers that stop where they like. */
export class RecordCursor {
  /** Of the record that `next` came to. */
  readonly place: RecordPlace
  readonly #cursor: VarintCursor
  readonly #batch: BatchNumbers
  #index = 0
  #offsetDelta = -1

  constructor(memory: BatchMemory, position: number) {
    this.#cursor = openRecords(memory, position)
    this.#batch = batchNumbers(memory, position)
    this.place = emptyPlace(this.#cursor.bytes)
  }

  /** False: there are no more, and nothing is left over. */
  next(): boolean {
    if (this.#index === this.#batch.recordCount) {
      assertAtEnd(this.#cursor)
      return false
    }
    this.#index += 1
    this.#offsetDelta = readPlace(this.#cursor, this.#batch, this.#offsetDelta, this.place)
    return true
  }
}

/** A record at its place, as an object. */
export function recordOf(place: RecordPlace): LogRecord {
  return {
    offset: place.offset,
    timestampMs: place.timestampMs,
    key: viewOf(place.bytes, place.keyPosition, place.keyLength),
    value: viewOf(place.bytes, place.valuePosition, place.valueLength),
    headers: headersOf(place),
  }
}

interface BatchNumbers {
  readonly baseOffset: number
  readonly lastOffsetDelta: number
  readonly baseTimestampMs: number
  /** Time of all records where the broker gave it; else undefined. */
  readonly appendTimeMs: number | undefined
  readonly recordCount: number
}

function batchNumbers(memory: BatchMemory, position: number): BatchNumbers {
  const logAppendTime = (attributesAt(memory, position) & attributeBit.logAppendTime) !== 0
  return {
    baseOffset: baseOffsetAt(memory, position),
    lastOffsetDelta: lastOffsetDeltaAt(memory, position),
    baseTimestampMs: baseTimestampAt(memory, position),
    appendTimeMs: logAppendTime ? maxTimestampAt(memory, position) : undefined,
    recordCount: recordCountAt(memory, position),
  }
}

function openRecords(memory: BatchMemory, position: number): VarintCursor {
  const start = position + batchOverheadBytes
  const end = position + sizeInBytesAt(memory, position)
  const recordCount = recordCountAt(memory, position)
  // An emptied batch, kept by compaction for its offsets, has no block to decompress.
  if (recordCount === 0) return new VarintCursor(memory.bytes, end, end)
  const compression = compressionAt(memory, position)
  let cursor: VarintCursor
  if (compression === 'none') {
    cursor = new VarintCursor(memory.bytes, start, end)
  } else {
    const bytes = decompressRecords(compression, memory.bytes, start, end, limits.batchBytesMax)
    cursor = new VarintCursor(bytes, 0, bytes.length)
  }
  if (recordCount * recordBytesMin > cursor.end - cursor.position) {
    throw cursor.corrupt(`${recordCount} records stated in ${cursor.end - cursor.position} bytes`)
  }
  return cursor
}

/** Reads one record into `place` and returns its offset delta. */
function readPlace(
  cursor: VarintCursor,
  batch: BatchNumbers,
  offsetDeltaBefore: number,
  place: RecordPlace,
): number {
  const length = cursor.readVarint()
  const outerEnd = cursor.end
  if (length < 0 || length > outerEnd - cursor.position) {
    throw cursor.corrupt(`a record of ${length} bytes`)
  }
  cursor.end = cursor.position + length
  cursor.readByte()
  const timestampDelta = cursor.readVarlong()
  const offsetDelta = cursor.readVarint()
  if (offsetDelta <= offsetDeltaBefore || offsetDelta > batch.lastOffsetDelta) {
    throw cursor.corrupt(`offset delta ${offsetDelta} after ${offsetDeltaBefore}`)
  }
  place.offset = batch.baseOffset + offsetDelta
  place.timestampMs = batch.appendTimeMs ?? batch.baseTimestampMs + timestampDelta
  place.payloadPosition = cursor.position
  place.keyLength = readLength(cursor, 'key')
  place.keyPosition = cursor.skip(Math.max(0, place.keyLength))
  place.valueLength = readLength(cursor, 'value')
  place.valuePosition = cursor.skip(Math.max(0, place.valueLength))
  place.headerCount = cursor.readVarint()
  place.headersPosition = cursor.position
  if (place.headerCount < 0) throw cursor.corrupt(`${place.headerCount} headers`)
  for (let index = 0; index < place.headerCount; index += 1) {
    const keyLength = cursor.readVarint()
    if (keyLength < 0) throw cursor.corrupt(`a header key of ${keyLength} bytes`)
    cursor.skip(keyLength)
    cursor.skip(Math.max(0, readLength(cursor, 'header value')))
  }
  assertAtEnd(cursor)
  place.endPosition = cursor.position
  cursor.end = outerEnd
  return offsetDelta
}

function readLength(cursor: VarintCursor, what: string): number {
  const length = cursor.readVarint()
  if (length < -1) throw cursor.corrupt(`a ${what} of ${length} bytes`)
  return length
}

function assertAtEnd(cursor: VarintCursor): void {
  if (cursor.position !== cursor.end) {
    throw cursor.corrupt(`${cursor.end - cursor.position} bytes that belong to nothing`)
  }
}

function emptyPlace(bytes: Uint8Array): RecordPlace {
  return {
    offset: 0,
    timestampMs: 0,
    bytes,
    keyPosition: 0,
    keyLength: -1,
    valuePosition: 0,
    valueLength: -1,
    headersPosition: 0,
    headerCount: 0,
    payloadPosition: 0,
    endPosition: 0,
  }
}

function viewOf(bytes: Uint8Array, position: number, length: number): Uint8Array | null {
  // Several times quicker than `subarray`.
  return length < 0 ? null : new Uint8Array(bytes.buffer, bytes.byteOffset + position, length)
}

/** TextDecoder refuses shared memory, so a header's key is copied first. */
function headersOf({ bytes, headersPosition, headerCount }: RecordPlace): readonly RecordHeader[] {
  if (headerCount === 0) return noHeaders
  const headers: RecordHeader[] = []
  const cursor = new VarintCursor(bytes, headersPosition, bytes.length)
  for (let index = 0; index < headerCount; index += 1) {
    const keyLength = cursor.readVarint()
    const keyPosition = cursor.skip(keyLength)
    const key = decoder.decode(bytes.slice(keyPosition, keyPosition + keyLength))
    const valueLength = cursor.readVarint()
    const valuePosition = cursor.skip(Math.max(0, valueLength))
    headers.push({ key, value: viewOf(bytes, valuePosition, valueLength) })
  }
  return headers
}
