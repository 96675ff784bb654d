/**
 * Messages of Kafka's formats before record batches, magic 0 and 1 (`LegacyRecord`), for the
 * offline tools; integers are big-endian.
 *
 *     0  offset       i64   of the last message inside, where it is a compressed wrapper
 *     8  size         i32   of what follows
 *    12  CRC-32 (IEEE) of 16..end
 *    16  magic        i8    0 or 1
 *    17  attributes   i8    bits 0-2 codec; 3 log append time (magic 1)
 *    18  timestamp    i64   magic 1 only
 *     .  key          i32 length (-1: null) and bytes
 *     .  value        i32 length (-1: null) and bytes
 */
import { crc32 } from 'node:zlib'
import { limits } from '../limits.ts'
import { type BatchFault, type Compression, compressions } from './batch-header.ts'
import type { BatchMemory } from './batch-memory.ts'
import { isExactInt64, readInt64 } from './int64.ts'

const sizePosition = 8
const crcPosition = 12
const magicPosition = 16
const attributesPosition = 17
const timestampPosition = 18
const timestampBytes = 8
const lengthBytes = 4
const sizePrefixBytes = 12
/** Codecs up to LZ4; zstd came with magic 2. */
const codecMax = 3
const logAppendTimeBit = 0x08

export const legacyMagicMax = 1
/** Up to the magic byte: what tells whether a message or a batch stands there. */
export const magicProbeBytes = magicPosition + 1
/** Of a message without key and value. */
export const legacyBytesMin = timestampPosition + 2 * lengthBytes

export interface LegacyHeader {
  readonly offset: number
  readonly magic: number
  /** As stated. */
  readonly crc: number
  readonly attributes: number
  readonly compression: Compression
  /** Whether the broker gave the time. */
  readonly logAppendTime: boolean
  /** Milliseconds since 1970; -1: none, as always with magic 0. */
  readonly timestampMs: number
}

export interface LegacyMessage extends LegacyHeader {
  /** Views over the memory. */
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
}

/** Bytes of the whole message. */
export function legacySizeAt(memory: BatchMemory, position: number): number {
  return memory.view.getInt32(position + sizePosition) + sizePrefixBytes
}

/** Checks framing, then CRC, then what the header claims; safe on any bytes. */
export function checkLegacyMessage(
  memory: BatchMemory,
  position: number,
  availableBytes: number,
): BatchFault | undefined {
  const { view } = memory
  if (availableBytes < magicProbeBytes) return 'header-cut'
  const magic = view.getInt8(position + magicPosition)
  if (magic < 0 || magic > legacyMagicMax) return 'magic'
  const size = legacySizeAt(memory, position)
  if (size < bodyPosition(magic) + 2 * lengthBytes || size > limits.batchBytesMax) return 'length'
  if (!isExactInt64(view, position) || view.getInt32(position) < 0) return 'base-offset'
  if (size > availableBytes) return 'bytes-cut'
  if (countLegacyCrc(memory, position) !== view.getUint32(position + crcPosition)) return 'crc'
  if ((view.getInt8(position + attributesPosition) & 7) > codecMax) return 'codec'
  if (magic > 0 && !isExactInt64(view, position + timestampPosition)) return 'timestamp'
  return fieldsFit(view, position + bodyPosition(magic), position + size) ? undefined : 'length'
}

/** The CRC that the bytes of the message have. */
export function countLegacyCrc(memory: BatchMemory, position: number): number {
  const end = position + legacySizeAt(memory, position)
  return crc32(memory.bytes.subarray(position + magicPosition, end))
}

/** What stands before key and value; the message has `legacyBytesMin` bytes and perhaps faults. */
export function legacyHeaderAt({ view }: BatchMemory, position: number): LegacyHeader {
  const magic = view.getInt8(position + magicPosition)
  const attributes = view.getInt8(position + attributesPosition)
  return {
    offset: readInt64(view, position),
    magic,
    crc: view.getUint32(position + crcPosition),
    attributes,
    compression: compressions[attributes & 7] ?? 'none',
    logAppendTime: magic > 0 && (attributes & logAppendTimeBit) !== 0,
    timestampMs: magic > 0 ? readInt64(view, position + timestampPosition) : -1,
  }
}

/** The message at `position`, which must have been checked. */
export function legacyMessageAt(memory: BatchMemory, position: number): LegacyMessage {
  const header = legacyHeaderAt(memory, position)
  const keyPosition = position + bodyPosition(header.magic)
  const key = fieldAt(memory, keyPosition)
  const valuePosition = keyPosition + lengthBytes + (key?.length ?? 0)
  return { ...header, key, value: fieldAt(memory, valuePosition) }
}

/** Where the key's length stands, from the message's first byte. */
function bodyPosition(magic: number): number {
  return magic > 0 ? timestampPosition + timestampBytes : timestampPosition
}

/** Whether key and value fill the rest exactly. */
function fieldsFit(view: DataView, start: number, end: number): boolean {
  let at = start
  for (let field = 0; field < 2; field += 1) {
    if (end - at < lengthBytes) return false
    const length = view.getInt32(at)
    at += lengthBytes
    if (length < -1 || length > end - at) return false
    at += Math.max(0, length)
  }
  return at === end
}

function fieldAt({ bytes, view }: BatchMemory, position: number): Uint8Array | null {
  const length = view.getInt32(position)
  const start = position + lengthBytes
  return length < 0 ? null : bytes.subarray(start, start + length)
}
