/**
 * Reads and stamps a batch header in place. Nothing here allocates (but one view for the CRC) and,
 * except where said, nothing checks: `checkBatch` first, then trust.
 */
import { limits } from '../limits.ts'
import {
  attributeBit,
  batchField,
  batchLengthPrefixBytes,
  batchMagic,
  batchOverheadBytes,
  recordBytesMin,
} from './batch-layout.ts'
import type { BatchMemory } from './batch-memory.ts'
import { crc32c } from './crc32c.ts'
import { isExactInt64, readInt64, writeInt64 } from './int64.ts'

export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'

/** By their number in the attributes. */
export const compressions: readonly Compression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

/**
 * What is wrong with a batch. `header-cut` and `bytes-cut`: the bytes end too early; the others:
 * the bytes are there and are not a batch.
 */
export type BatchFault =
  | 'header-cut'
  | 'bytes-cut'
  | 'length'
  | 'magic'
  | 'base-offset'
  | 'crc'
  | 'codec'
  | 'last-offset-delta'
  | 'record-count'
  | 'timestamp'

const int32Max = 0x7fff_ffff

export function baseOffsetAt(memory: BatchMemory, position: number): number {
  return readInt64(memory.view, position + batchField.baseOffset)
}

/** Bytes of the whole batch. */
export function sizeInBytesAt(memory: BatchMemory, position: number): number {
  return memory.view.getInt32(position + batchField.length) + batchLengthPrefixBytes
}

/** -1 until a leader has stamped the batch. */
export function leaderEpochAt(memory: BatchMemory, position: number): number {
  return memory.view.getInt32(position + batchField.leaderEpoch)
}

export function magicAt(memory: BatchMemory, position: number): number {
  return memory.view.getInt8(position + batchField.magic)
}

export function attributesAt(memory: BatchMemory, position: number): number {
  return memory.view.getInt16(position + batchField.attributes)
}

export function compressionAt(memory: BatchMemory, position: number): Compression {
  return compressions[attributesAt(memory, position) & attributeBit.codecMask] ?? 'none'
}

export function lastOffsetDeltaAt(memory: BatchMemory, position: number): number {
  return memory.view.getInt32(position + batchField.lastOffsetDelta)
}

/** Offset of the last record; kept by compaction even if that record is gone. */
export function lastOffsetAt(memory: BatchMemory, position: number): number {
  return baseOffsetAt(memory, position) + lastOffsetDeltaAt(memory, position)
}

/** One past the last offset: where the next batch may begin. */
export function nextOffsetAt(memory: BatchMemory, position: number): number {
  return lastOffsetAt(memory, position) + 1
}

export function recordCountAt(memory: BatchMemory, position: number): number {
  return memory.view.getInt32(position + batchField.recordCount)
}

/** Milliseconds since 1970; -1: the records have no timestamp. */
export function baseTimestampAt(memory: BatchMemory, position: number): number {
  return readInt64(memory.view, position + batchField.baseTimestamp)
}

export function maxTimestampAt(memory: BatchMemory, position: number): number {
  return readInt64(memory.view, position + batchField.maxTimestamp)
}

/** Writes what a leader decides. Both fields lie outside the CRC, which stays right. */
export function stampBatch(
  memory: BatchMemory,
  position: number,
  baseOffset: number,
  leaderEpoch: number,
): void {
  writeInt64(memory.view, position + batchField.baseOffset, baseOffset)
  memory.view.setInt32(position + batchField.leaderEpoch, leaderEpoch)
}

/**
 * Checks all of a batch but its records: framing, then CRC, then what the header claims. Safe on
 * any bytes; never throws. `availableBytes` counts from `position`.
 */
export function checkBatch(
  memory: BatchMemory,
  position: number,
  availableBytes: number,
): BatchFault | undefined {
  const framing = checkBatchFraming(memory, position, availableBytes)
  if (framing !== undefined) return framing
  const size = sizeInBytesAt(memory, position)
  if (size > availableBytes) return 'bytes-cut'
  const { view } = memory
  const crc = view.getUint32(position + batchField.crc)
  if (crc !== crc32c(memory.bytes, position + batchField.attributes, position + size)) return 'crc'
  const codec = attributesAt(memory, position) & attributeBit.codecMask
  if (codec >= compressions.length) return 'codec'
  if (!isExactInt64(view, position + batchField.baseTimestamp)) return 'timestamp'
  if (!isExactInt64(view, position + batchField.maxTimestamp)) return 'timestamp'
  const count = recordCountAt(memory, position)
  if (count < 0 || count > lastOffsetDeltaAt(memory, position) + 1) return 'record-count'
  if (codec === 0 && count * recordBytesMin > size - batchOverheadBytes) return 'record-count'
  return undefined
}

/**
 * Checks only that a header stands there that could be a batch's: enough to walk from batch to
 * batch without reading the records. The batch may reach beyond `availableBytes`.
 */
export function checkBatchFraming(
  memory: BatchMemory,
  position: number,
  availableBytes: number,
): BatchFault | undefined {
  if (availableBytes < batchOverheadBytes) return 'header-cut'
  const size = sizeInBytesAt(memory, position)
  if (size < batchOverheadBytes || size > limits.batchBytesMax) return 'length'
  if (magicAt(memory, position) !== batchMagic) return 'magic'
  const baseOffset = baseOffsetAt(memory, position)
  if (baseOffset < 0 || baseOffset > Number.MAX_SAFE_INTEGER - int32Max) return 'base-offset'
  return lastOffsetDeltaAt(memory, position) < 0 ? 'last-offset-delta' : undefined
}

/** -1: of no producer. */
export function producerIdAt(memory: BatchMemory, position: number): number {
  return readInt64(memory.view, position + batchField.producerId)
}

/** The same question, cheaper. */
export function hasProducerIdAt(memory: BatchMemory, position: number): boolean {
  return memory.view.getInt32(position + batchField.producerId) >= 0
}

export function producerEpochAt(memory: BatchMemory, position: number): number {
  return memory.view.getInt16(position + batchField.producerEpoch)
}

/** Sequence number of the first record; -1: none. */
export function baseSequenceAt(memory: BatchMemory, position: number): number {
  return memory.view.getInt32(position + batchField.baseSequence)
}

export function isTransactionalAt(memory: BatchMemory, position: number): boolean {
  return (attributesAt(memory, position) & attributeBit.transactional) !== 0
}

/** Whether it is written by the log's keepers: ends of transactions, a controller's elections. */
export function isControlAt(memory: BatchMemory, position: number): boolean {
  return (attributesAt(memory, position) & attributeBit.control) !== 0
}

/**
 * Notes where the whole batches of `byteLength` bytes begin, as far as `positions` has room, and
 * returns how many there are. Stops at the first that is cut off or isn't a batch by its framing.
 */
export function batchPositions(
  memory: BatchMemory,
  position: number,
  byteLength: number,
  positions: Int32Array,
): number {
  const end = position + byteLength
  let count = 0
  let at = position
  while (at < end && count < positions.length) {
    if (checkBatchFraming(memory, at, end - at) !== undefined) break
    const size = sizeInBytesAt(memory, at)
    if (size > end - at) break
    positions[count] = at
    count += 1
    at += size
  }
  return count
}
