/**
 * Walks a segment of any age, batch by batch, past batches that fail their checks for as long as
 * their framing says where the next one begins. A message of magic 0 or 1 counts as a batch.
 */
import { limits } from '../limits.ts'
import {
  attributesAt,
  type BatchFault,
  baseOffsetAt,
  baseTimestampAt,
  type Compression,
  checkBatch,
  compressionAt,
  lastOffsetAt,
  leaderEpochAt,
  maxTimestampAt,
  recordCountAt,
  sizeInBytesAt,
} from '../log/batch-header.ts'
import {
  attributeBit,
  batchField,
  batchLengthPrefixBytes,
  batchMagic,
  batchOverheadBytes,
} from '../log/batch-layout.ts'
import { type BatchMemory, batchMemory } from '../log/batch-memory.ts'
import { crc32c } from '../log/crc32c.ts'
import type { FileSystem } from '../log/file-system.ts'
import { readInt64 } from '../log/int64.ts'
import {
  checkLegacyMessage,
  countLegacyCrc,
  legacyBytesMin,
  legacyHeaderAt,
  legacyMagicMax,
  legacySizeAt,
  magicProbeBytes,
} from '../log/legacy-message.ts'
import { readLegacyRecords } from '../log/legacy-records.ts'
import type { LogRecord } from '../log/record.ts'
import { readRecords } from '../log/record-reader.ts'
import { storageError } from '../log/storage-error.ts'

const chunkBytes = 1024 * 1024

/** Valid until the next one is asked for: `memory` is reused. */
export interface WalkedBatch {
  readonly memory: BatchMemory
  /** Of its first byte in `memory`. */
  readonly position: number
  readonly filePosition: number
  readonly sizeBytes: number
  readonly magic: number
  /** Of a compressed message of magic 0 or 1: its last offset, all that its header knows. */
  readonly baseOffset: number
  readonly lastOffset: number
  /** -1: known only by reading the records. */
  readonly recordCount: number
  readonly compression: Compression
  readonly attributes: number
  readonly leaderEpoch: number
  readonly baseTimestampMs: number
  readonly maxTimestampMs: number
  /** Whether the broker gave the time. */
  readonly logAppendTime: boolean
  readonly producerId: number
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly isTransactional: boolean
  readonly isControl: boolean
  /** When tombstones in it may go; undefined: not set. */
  readonly deleteHorizonMs: number | undefined
  readonly crc: number
  /** What is wrong with it; with a fault, no field but the positions is to be trusted. */
  readonly fault: BatchFault | undefined
}

export interface WalkEnd {
  /** End of the last batch that was seen. */
  readonly position: number
  readonly fileBytes: number
  /** Why the walk ended before the file does. */
  readonly fault: BatchFault | undefined
}

/**
 * The batches from `startPosition` on, in a file as it is when the walk begins.
 *
 * @throws {TidemarkError} KAFKA_STORAGE_ERROR naming the file
 */
export function* walkSegment(
  fs: FileSystem,
  file: string,
  startPosition = 0,
): Generator<WalkedBatch, WalkEnd> {
  let fd = -1
  try {
    const fileBytes = fs.sizeOf(file) ?? 0
    fd = fs.open(file, 'read')
    return yield* walkOpened(fs, fd, startPosition, fileBytes)
  } catch (cause) {
    throw storageError('cannot read', file, cause)
  } finally {
    if (fd >= 0) fs.close(fd)
  }
}

function* walkOpened(
  fs: FileSystem,
  fd: number,
  startPosition: number,
  fileBytes: number,
): Generator<WalkedBatch, WalkEnd> {
  let position = startPosition
  let chunk = memoryOf(Math.min(chunkBytes, fileBytes - position))
  while (position < fileBytes) {
    const available = readChunk(fs, fd, chunk, position, fileBytes)
    let at = 0
    let fault: BatchFault | undefined
    for (;;) {
      fault = framingFault(chunk, at, available - at)
      if (fault !== undefined) break
      const batch = batchAt(chunk, at, position + at)
      yield batch
      at += batch.sizeBytes
      if (at === available) break
    }
    position += at
    if (fault === undefined || (at > 0 && isCut(fault))) continue
    const needed = fault === 'bytes-cut' ? sizeAt(chunk, 0) : 0
    if (needed <= chunk.bytes.length || needed > fileBytes - position) {
      return { position, fileBytes, fault }
    }
    chunk = memoryOf(needed)
  }
  return { position, fileBytes, fault: undefined }
}

/** The batch's records, one by one. @throws {TidemarkError} CORRUPT_MESSAGE */
export function recordsOf({ memory, position, magic }: WalkedBatch): Iterable<LogRecord> {
  return magic === batchMagic ? readRecords(memory, position) : readLegacyRecords(memory, position)
}

/** The CRC that the batch's bytes have; its `crc` is the one that it states. */
export function countedCrc({ memory, position, sizeBytes, magic }: WalkedBatch): number {
  const end = position + sizeBytes
  if (magic !== batchMagic) return countLegacyCrc(memory, position)
  return crc32c(memory.bytes, position + batchField.attributes, end)
}

function isCut(fault: BatchFault): boolean {
  return fault === 'header-cut' || fault === 'bytes-cut'
}

function memoryOf(bytes: number): BatchMemory {
  return batchMemory(new ArrayBuffer(Math.max(1, bytes)))
}

function readChunk(
  fs: FileSystem,
  fd: number,
  { bytes }: BatchMemory,
  position: number,
  fileBytes: number,
): number {
  const wanted = Math.min(bytes.length, fileBytes - position)
  let filled = 0
  while (filled < wanted) {
    const read = fs.read(fd, bytes, filled, wanted - filled, position + filled)
    if (read === 0) break
    filled += read
  }
  return filled
}

function sizeAt(memory: BatchMemory, position: number): number {
  return memory.view.getInt32(position + batchField.length) + batchLengthPrefixBytes
}

/** Why nobody can tell where the batch there ends; undefined: all its bytes are in memory. */
function framingFault(memory: BatchMemory, at: number, available: number): BatchFault | undefined {
  if (available < magicProbeBytes) return 'header-cut'
  const magic = memory.view.getInt8(at + batchField.magic)
  if (magic < 0 || magic > batchMagic) return 'magic'
  const size = sizeAt(memory, at)
  const sizeMin = magic === batchMagic ? batchOverheadBytes : legacyBytesMin
  if (size < sizeMin || size > limits.batchBytesMax) return 'length'
  return size > available ? 'bytes-cut' : undefined
}

function batchAt(memory: BatchMemory, position: number, filePosition: number): WalkedBatch {
  const magic = memory.view.getInt8(position + batchField.magic)
  return magic <= legacyMagicMax
    ? legacyBatchAt(memory, position, filePosition)
    : recordBatchAt(memory, position, filePosition)
}

function recordBatchAt(memory: BatchMemory, position: number, filePosition: number): WalkedBatch {
  const { view } = memory
  const sizeBytes = sizeInBytesAt(memory, position)
  const attributes = attributesAt(memory, position)
  const baseTimestampMs = baseTimestampAt(memory, position)
  const hasHorizon = (attributes & attributeBit.deleteHorizon) !== 0
  return {
    memory,
    position,
    filePosition,
    sizeBytes,
    magic: batchMagic,
    baseOffset: baseOffsetAt(memory, position),
    lastOffset: lastOffsetAt(memory, position),
    recordCount: recordCountAt(memory, position),
    compression: compressionAt(memory, position),
    attributes,
    leaderEpoch: leaderEpochAt(memory, position),
    baseTimestampMs,
    maxTimestampMs: maxTimestampAt(memory, position),
    logAppendTime: (attributes & attributeBit.logAppendTime) !== 0,
    producerId: readInt64(view, position + batchField.producerId),
    producerEpoch: view.getInt16(position + batchField.producerEpoch),
    baseSequence: view.getInt32(position + batchField.baseSequence),
    isTransactional: (attributes & attributeBit.transactional) !== 0,
    isControl: (attributes & attributeBit.control) !== 0,
    deleteHorizonMs: hasHorizon ? baseTimestampMs : undefined,
    crc: view.getUint32(position + batchField.crc),
    fault: checkBatch(memory, position, sizeBytes),
  }
}

function legacyBatchAt(memory: BatchMemory, position: number, filePosition: number): WalkedBatch {
  const sizeBytes = legacySizeAt(memory, position)
  const { offset, timestampMs, ...header } = legacyHeaderAt(memory, position)
  return {
    ...header,
    memory,
    position,
    filePosition,
    sizeBytes,
    baseOffset: offset,
    lastOffset: offset,
    recordCount: header.compression === 'none' ? 1 : -1,
    leaderEpoch: -1,
    baseTimestampMs: timestampMs,
    maxTimestampMs: timestampMs,
    producerId: -1,
    producerEpoch: -1,
    baseSequence: -1,
    isTransactional: false,
    isControl: false,
    deleteHorizonMs: undefined,
    fault: checkLegacyMessage(memory, position, sizeBytes),
  }
}
