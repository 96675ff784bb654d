/**
 * Sparse map of one segment: offset → byte position (Kafka: `OffsetIndex`). An entry holds the last
 * offset of a batch, relative to the segment's base, and the position where that batch begins.
 * On disk 8 bytes an entry, two big-endian i32, both strictly ascending.
 */
export const offsetIndexEntryBytes = 8
const capacityFirst = 16

/** Entries of the segment being written, in memory. */
export class OffsetIndex {
  /** Relative offset and position by turns. */
  #numbers = new Int32Array(0)
  #count = 0

  get count(): number {
    return this.#count
  }

  /** -1: no entry. */
  get lastRelativeOffset(): number {
    return this.#count === 0 ? -1 : this.#numbers[2 * this.#count - 2]
  }

  /** Where a walk to the segment's end begins; 0 without an entry. */
  get lastPosition(): number {
    return this.#count === 0 ? 0 : this.#numbers[2 * this.#count - 1]
  }

  append(relativeOffset: number, position: number): void {
    const at = 2 * this.#count
    if (at === this.#numbers.length) this.#grow()
    this.#numbers[at] = relativeOffset
    this.#numbers[at + 1] = position
    this.#count += 1
  }

  /**
   * Position of the batch of the greatest entry at or below the offset; 0: search from the start.
   */
  lookup(relativeOffset: number): number {
    let low = 0
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#numbers[2 * middle] <= relativeOffset) low = middle + 1
      else high = middle
    }
    return low === 0 ? 0 : this.#numbers[2 * low - 1]
  }

  /** Drops entries of batches that begin at or after `position`. */
  truncateToPosition(position: number): void {
    while (this.#count > 0 && this.lastPosition >= position) this.#count -= 1
  }

  truncateToCount(count: number): void {
    this.#count = Math.min(this.#count, count)
  }

  /** Bytes on disk of the entries from `first` on. */
  encode(first: number): Uint8Array {
    const bytes = new Uint8Array((this.#count - first) * offsetIndexEntryBytes)
    const view = new DataView(bytes.buffer)
    for (let at = 2 * first; at < 2 * this.#count; at += 1) {
      view.setInt32(4 * (at - 2 * first), this.#numbers[at])
    }
    return bytes
  }

  /**
   * Takes entries from a file for as long as they ascend and lie within `segmentBytes`; zeros that
   * a preallocated file ends with are passed over. Returns whether all were taken.
   */
  load(bytes: Uint8Array, segmentBytes: number): boolean {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const entries = offsetIndexEntryCount(bytes)
    this.#count = 0
    for (let index = 0; index < entries; index += 1) {
      const relativeOffset = view.getInt32(index * offsetIndexEntryBytes)
      const position = view.getInt32(index * offsetIndexEntryBytes + 4)
      const ascends =
        relativeOffset > this.lastRelativeOffset && (index === 0 || position > this.lastPosition)
      if (!ascends || position < 0 || position >= segmentBytes) return false
      this.append(relativeOffset, position)
    }
    return bytes.length % offsetIndexEntryBytes === 0
  }

  #grow(): void {
    const numbers = new Int32Array(Math.max(2 * capacityFirst, this.#numbers.length * 2))
    numbers.set(this.#numbers)
    this.#numbers = numbers
  }
}

/** Entries in a file's bytes, without the zeros that a preallocated file ends with. */
function offsetIndexEntryCount(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let count = Math.floor(bytes.length / offsetIndexEntryBytes)
  while (count > 1) {
    const at = (count - 1) * offsetIndexEntryBytes
    if (view.getInt32(at) !== 0 || view.getInt32(at + 4) !== 0) break
    count -= 1
  }
  return count
}

/**
 * `OffsetIndex.lookup` on a file's bytes. The caller checks that a batch begins at the answer: the
 * file has no checksum, and may be behind or of another life of the segment.
 */
export function lookupOffsetIndex(bytes: Uint8Array, relativeOffset: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let low = 0
  let high = offsetIndexEntryCount(bytes)
  while (low < high) {
    const middle = (low + high) >>> 1
    if (view.getInt32(middle * offsetIndexEntryBytes) <= relativeOffset) low = middle + 1
    else high = middle
  }
  return low === 0 ? 0 : Math.max(0, view.getInt32((low - 1) * offsetIndexEntryBytes + 4))
}
