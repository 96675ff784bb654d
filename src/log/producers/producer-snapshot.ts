/**
 * A partition's producers as they were at an offset (Kafka: `ProducerStateManager`): i16 version,
 * u32 CRC-32C of what follows, i32 count, then 46 bytes a producer.
 */
import { TidemarkError } from '../../errors.ts'
import { crc32c } from '../crc32c.ts'
import { readInt64, writeInt64 } from '../int64.ts'

export interface ProducerSnapshotEntry {
  readonly producerId: number
  readonly producerEpoch: number
  /** -1: none. */
  readonly lastSequence: number
  readonly lastOffset: number
  /** Of the last batch: its last offset less its first. */
  readonly offsetDelta: number
  readonly timestampMs: number
  readonly coordinatorEpoch: number
  /** -1: no transaction is open. */
  readonly currentTransactionFirstOffset: number
}

const version = 1
const crcPosition = 2
const countPosition = 6
const headerBytes = 10
const entryBytes = 46

/** @throws {TidemarkError} CORRUPT_FILE with the position, what was expected and what was found. */
export function decodeProducerSnapshot(bytes: Uint8Array): ProducerSnapshotEntry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < headerBytes) throw corrupt(0, `${headerBytes} bytes`, `${bytes.length}`)
  const found = view.getInt16(0)
  if (found !== version) throw corrupt(0, `version ${version}`, `${found}`)
  const stated = view.getUint32(crcPosition)
  const counted = crc32c(bytes, countPosition, bytes.length)
  if (stated !== counted) throw corrupt(crcPosition, `CRC ${stated} as stated`, `${counted}`)
  const count = view.getInt32(countPosition)
  const room = (bytes.length - headerBytes) / entryBytes
  if (count !== room) throw corrupt(countPosition, `as many producers as fit, ${room}`, `${count}`)
  return Array.from({ length: count }, (_, index) =>
    entryAt(view, headerBytes + index * entryBytes),
  )
}

export function encodeProducerSnapshot(entries: readonly ProducerSnapshotEntry[]): Uint8Array {
  const bytes = new Uint8Array(headerBytes + entries.length * entryBytes)
  const view = new DataView(bytes.buffer)
  view.setInt16(0, version)
  view.setInt32(countPosition, entries.length)
  for (const [index, entry] of entries.entries()) {
    const at = headerBytes + index * entryBytes
    writeInt64(view, at, entry.producerId)
    view.setInt16(at + 8, entry.producerEpoch)
    view.setInt32(at + 10, entry.lastSequence)
    writeInt64(view, at + 14, entry.lastOffset)
    view.setInt32(at + 22, entry.offsetDelta)
    writeInt64(view, at + 26, entry.timestampMs)
    view.setInt32(at + 34, entry.coordinatorEpoch)
    writeInt64(view, at + 38, entry.currentTransactionFirstOffset)
  }
  view.setUint32(crcPosition, crc32c(bytes, countPosition, bytes.length))
  return bytes
}

function entryAt(view: DataView, at: number): ProducerSnapshotEntry {
  return {
    producerId: readInt64(view, at),
    producerEpoch: view.getInt16(at + 8),
    lastSequence: view.getInt32(at + 10),
    lastOffset: readInt64(view, at + 14),
    offsetDelta: view.getInt32(at + 22),
    timestampMs: readInt64(view, at + 26),
    coordinatorEpoch: view.getInt32(at + 34),
    currentTransactionFirstOffset: readInt64(view, at + 38),
  }
}

function corrupt(position: number, expected: string, found: string): TidemarkError {
  return new TidemarkError(
    'CORRUPT_FILE',
    `producer snapshot at ${position}: expected ${expected}, found ${found}`,
  )
}
