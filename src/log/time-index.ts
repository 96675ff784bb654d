/**
 * Sparse map of one segment: timestamp → offset (Kafka: `TimeIndex`). An entry says that no record
 * up to its offset is newer than its timestamp. On disk 12 bytes an entry, big-endian: i64
 * timestamp in milliseconds, i32 offset relative to the segment's base; timestamps strictly
 * ascending.
 */
import { isExactInt64, readInt64, writeInt64 } from './int64.ts'

export const timeIndexEntryBytes = 12
const capacityFirst = 16

/** A segment's time index, wherever it is held. An entry that cannot be read says NaN. */
export interface TimeEntries {
  readonly timeEntries: number
  timestampMsOf(entry: number): number
  offsetOf(entry: number): number
}

export class TimeIndex {
  #timestampsMs = new Float64Array(0)
  #relativeOffsets = new Int32Array(0)
  #count = 0

  get count(): number {
    return this.#count
  }

  /** -1: no entry. */
  get lastTimestampMs(): number {
    return this.#count === 0 ? -1 : this.#timestampsMs[this.#count - 1]
  }

  get lastRelativeOffset(): number {
    return this.#count === 0 ? 0 : this.#relativeOffsets[this.#count - 1]
  }

  timestampMsOf(entry: number): number {
    return this.#timestampsMs[entry]
  }

  relativeOffsetOf(entry: number): number {
    return this.#relativeOffsets[entry]
  }

  /** Adds an entry if it is newer than the last; an older or equal one says nothing new. */
  maybeAppend(timestampMs: number, relativeOffset: number): void {
    if (timestampMs <= this.lastTimestampMs) return
    if (this.#count === this.#timestampsMs.length) this.#grow()
    this.#timestampsMs[this.#count] = timestampMs
    this.#relativeOffsets[this.#count] = relativeOffset
    this.#count += 1
  }

  /** Drops entries at or above an offset. */
  truncateTo(relativeOffset: number): void {
    while (this.#count > 0 && this.lastRelativeOffset >= relativeOffset) this.#count -= 1
  }

  truncateToCount(count: number): void {
    this.#count = Math.min(this.#count, count)
  }

  encode(first: number): Uint8Array {
    const bytes = new Uint8Array((this.#count - first) * timeIndexEntryBytes)
    const view = new DataView(bytes.buffer)
    for (let index = first; index < this.#count; index += 1) {
      const at = (index - first) * timeIndexEntryBytes
      writeInt64(view, at, this.#timestampsMs[index])
      view.setInt32(at + 8, this.#relativeOffsets[index])
    }
    return bytes
  }

  /** Takes entries from a file for as long as they ascend. Returns whether all were taken. */
  load(bytes: Uint8Array): boolean {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const entries = entryCount(view)
    this.#count = 0
    for (let index = 0; index < entries; index += 1) {
      const at = index * timeIndexEntryBytes
      const timestampMs = readInt64(view, at)
      const relativeOffset = view.getInt32(at + 8)
      const before = index === 0 ? 0 : this.lastRelativeOffset
      if (!isExactInt64(view, at) || relativeOffset < before) return false
      // Without any timestamp Kafka ends the file with one entry of -1.
      if (timestampMs === -1 && index === 0 && entries === 1) break
      if (timestampMs <= this.lastTimestampMs) return false
      this.maybeAppend(timestampMs, relativeOffset)
    }
    return bytes.length % timeIndexEntryBytes === 0
  }

  #grow(): void {
    const capacity = Math.max(capacityFirst, this.#timestampsMs.length * 2)
    const timestampsMs = new Float64Array(capacity)
    timestampsMs.set(this.#timestampsMs)
    this.#timestampsMs = timestampsMs
    const relativeOffsets = new Int32Array(capacity)
    relativeOffsets.set(this.#relativeOffsets)
    this.#relativeOffsets = relativeOffsets
  }
}

/** Entries without the zeros that a preallocated file ends with. */
function entryCount(view: DataView): number {
  let count = Math.floor(view.byteLength / timeIndexEntryBytes)
  while (count > 1) {
    const at = (count - 1) * timeIndexEntryBytes
    if (readInt64(view, at) !== 0 || view.getInt32(at + 8) !== 0) break
    count -= 1
  }
  return count
}
