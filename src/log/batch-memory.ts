/**
 * Bytes that hold batches: a range of any buffer, shared or not, with a view to read numbers by.
 */

/** `bytes` and `view` show the same range; every position in this folder counts from its start. */
export interface BatchMemory {
  readonly bytes: Uint8Array
  readonly view: DataView
}

/**
 * `count` whole batches of one partition, in order, lying anywhere in `memory` (they need not be
 * adjacent). `positions` may be longer than `count` and is reused by its owner.
 */
export interface BatchRun {
  readonly memory: BatchMemory
  readonly positions: Int32Array
  count: number
}

export function batchMemory(
  buffer: ArrayBufferLike,
  byteOffset = 0,
  byteLength = buffer.byteLength - byteOffset,
): BatchMemory {
  return {
    bytes: new Uint8Array(buffer, byteOffset, byteLength),
    view: new DataView(buffer, byteOffset, byteLength),
  }
}
