/** The entries of index files as they stand there; nothing here judges them. */
import { isExactInt64, readInt64 } from '../log/int64.ts'
import { offsetIndexEntryBytes } from '../log/offset-index.ts'
import { timeIndexEntryBytes } from '../log/time-index.ts'

export interface OffsetIndexEntry {
  /** Of the entry in its file. */
  readonly filePosition: number
  readonly relativeOffset: number
  readonly position: number
}

export interface TimeIndexEntry {
  readonly filePosition: number
  readonly timestampMs: number
  /** Whether the timestamp is one that a number holds exactly. */
  readonly isExact: boolean
  readonly relativeOffset: number
}

/** Without the zeros that a preallocated file ends with. */
export function offsetIndexEntries(bytes: Uint8Array): OffsetIndexEntry[] {
  return entriesOf(bytes, offsetIndexEntryBytes, (view, at) => ({
    filePosition: at,
    relativeOffset: view.getInt32(at),
    position: view.getInt32(at + 4),
  }))
}

/** Without the zeros that a preallocated file ends with. */
export function timeIndexEntries(bytes: Uint8Array): TimeIndexEntry[] {
  return entriesOf(bytes, timeIndexEntryBytes, (view, at) => ({
    filePosition: at,
    timestampMs: readInt64(view, at),
    isExact: isExactInt64(view, at),
    relativeOffset: view.getInt32(at + 8),
  }))
}

function entriesOf<T>(
  bytes: Uint8Array,
  entryBytes: number,
  entryAt: (view: DataView, at: number) => T,
): T[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = Math.floor(bytes.length / entryBytes)
  while (count > 0 && isZero(bytes, (count - 1) * entryBytes, entryBytes)) count -= 1
  return Array.from({ length: count }, (_, index) => entryAt(view, index * entryBytes))
}

function isZero(bytes: Uint8Array, start: number, length: number): boolean {
  for (let at = start; at < start + length; at += 1) {
    if (bytes[at] !== 0) return false
  }
  return true
}
