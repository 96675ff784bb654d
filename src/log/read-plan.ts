/**
 * How a read finds its bytes: one procedure for the log's owner, for other threads, and for the
 * application thread that must not block. It does no file call itself; it yields what it wants done
 * and is resumed with the answer, at once or later.
 *
 * It reads beside a writer that appends, rolls and drops segments. Only bytes of batches below
 * `endOffset` are believed, and those are never written again; anything else that looks odd ends
 * the read or makes it search anew.
 */
import { TidemarkError } from '../errors.ts'
import { baseOffsetAt, checkBatchFraming, lastOffsetAt, sizeInBytesAt } from './batch-header.ts'
import { batchOverheadBytes } from './batch-layout.ts'
import { type BatchMemory, batchMemory } from './batch-memory.ts'

/**
 * What to do next; one object, filled again for each request.
 *
 * - `list`: note the base offsets of the segments, ascending, in `bases`; answer 0
 * - `search`: answer a position in segment `base` from which a walk finds `offset`; 0 when unknown
 * - `read`: read `length` bytes at `filePosition` of segment `base` to `bytesPosition` of `bytes`;
 *   answer how many there were; `segmentGone` when there is no such file
 */
export interface ReadRequest {
  kind: 'list' | 'search' | 'read'
  bases: readonly number[]
  base: number
  offset: number
  bytes: Uint8Array
  bytesPosition: number
  length: number
  filePosition: number
}

export interface ReadRange {
  readonly offset: number
  /** Exclusive: no batch that reaches beyond is returned or believed. */
  readonly endOffset: number
  /** More only if the first batch alone is larger. */
  readonly maxBytes: number
  readonly target: BatchMemory
  readonly targetPosition: number
}

/** Place of a batch's first byte. */
export interface SegmentPosition {
  readonly segmentBase: number
  readonly position: number
}

export type ReadSteps<T> = Generator<ReadRequest, T, number>

export const segmentGone = -1

const walkReadBytes = 4096
const notFound = -1
const implausible = -2
/**
 * A search is begun anew when the files changed below it; a healthy log needs two tries at most.
 */
const attemptsMax = 4

export class ReadPlan {
  readonly #scratch: BatchMemory = batchMemory(new ArrayBuffer(walkReadBytes))
  readonly #request: ReadRequest = {
    kind: 'list',
    bases: [],
    base: 0,
    offset: 0,
    bytes: this.#scratch.bytes,
    bytesPosition: 0,
    length: 0,
    filePosition: 0,
  }
  /** Where the batch with base offset `#nextOffset` begins; -1: not known. */
  #nextOffset = -1
  #segmentBase = -1
  #position = 0

  /** Forgets where the last read ended; after the log was truncated. */
  forget(): void {
    this.#nextOffset = -1
    this.#request.bases = []
  }

  /** Says where the batch that begins with `offset` should be. It is checked when it is used. */
  hint(offset: number, { segmentBase, position }: SegmentPosition): void {
    this.#nextOffset = offset
    this.#segmentBase = segmentBase
    this.#position = position
  }

  /** Where the next batch begins after what was read last; undefined when that isn't known. */
  get place(): SegmentPosition | undefined {
    if (this.#nextOffset < 0) return undefined
    return { segmentBase: this.#segmentBase, position: this.#position }
  }

  /**
   * Reads whole batches, beginning with the one that holds `offset`, and returns their bytes. 0:
   * nothing whole lies below `endOffset`. One call reads from one segment.
   *
   * @throws {TidemarkError} OFFSET_OUT_OF_RANGE below the first segment; CORRUPT_MESSAGE where a
   *   batch should be and isn't; RECORD_TOO_LARGE when the first batch doesn't fit in the target.
   */
  *read(range: ReadRange): ReadSteps<number> {
    if (range.offset >= range.endOffset) return 0
    if (range.offset === this.#nextOffset) {
      const bytes = yield* this.#fill(range, this.#segmentBase, this.#position, true)
      if (bytes > 0) return bytes
    }
    this.#nextOffset = -1
    let base = yield* this.#segmentFor(range.offset)
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      const position = yield* this.#find(range.offset, base)
      const bytes = position < 0 ? position : yield* this.#fill(range, base, position, false)
      if (bytes >= 0) return bytes
      if (bytes === implausible && attempt === attemptsMax) throw corrupt(range.offset, base)
      // The segment ended, or is gone: it was rolled, or dropped, or the offset lies in a gap.
      yield* this.#list()
      const again = yield* this.#segmentFor(range.offset)
      base = again === base && position === notFound ? this.#baseAfter(base) : again
      if (base < 0) return 0
    }
    return 0
  }

  *#list(): ReadSteps<void> {
    this.#request.kind = 'list'
    yield this.#request
  }

  /** Base of the segment that covers the offset. */
  *#segmentFor(offset: number): ReadSteps<number> {
    let base = floorOf(this.#request.bases, offset)
    if (base < 0) {
      yield* this.#list()
      base = floorOf(this.#request.bases, offset)
    }
    if (base >= 0) return base
    const first = this.#request.bases[0]
    throw new TidemarkError(
      'OFFSET_OUT_OF_RANGE',
      first === undefined
        ? `offset ${offset}: there are no segments`
        : `offset ${offset}: the first segment begins at ${first}`,
    )
  }

  #baseAfter(base: number): number {
    return this.#request.bases.find((other) => other > base) ?? -1
  }

  /** Position of the first batch of a segment whose last offset is at or above `offset`. */
  *#find(offset: number, base: number): ReadSteps<number> {
    if (offset <= base) return 0
    const request = this.#request
    request.kind = 'search'
    request.base = base
    request.offset = offset
    const from = yield request
    const found = yield* this.#walk(offset, base, from)
    return found < 0 && from > 0 ? yield* this.#walk(offset, base, 0) : found
  }

  *#walk(offset: number, base: number, from: number): ReadSteps<number> {
    const { bytes } = this.#scratch
    let position = from
    for (;;) {
      const available = yield* this.#readAt(base, position, bytes, 0, bytes.length)
      if (available < batchOverheadBytes) return notFound
      let at = 0
      while (available - at >= batchOverheadBytes) {
        if (checkBatchFraming(this.#scratch, at, available - at) !== undefined) return implausible
        // Led here by an index, and already past the offset: the index is wrong.
        if (position + at === from && from > 0) {
          const first = baseOffsetAt(this.#scratch, at)
          if (first > offset || first < base) return implausible
        }
        if (lastOffsetAt(this.#scratch, at) >= offset) return position + at
        at += sizeInBytesAt(this.#scratch, at)
      }
      position += at
    }
  }

  /** Reads from a batch's start. Negative: no batch is there (`notFound`), or none that can be. */
  *#fill(range: ReadRange, base: number, position: number, exact: boolean): ReadSteps<number> {
    const { target, targetPosition, endOffset, maxBytes } = range
    const room = target.bytes.length - targetPosition
    const wanted = Math.min(room, Math.max(maxBytes, batchOverheadBytes))
    let read = yield* this.#readAt(base, position, target.bytes, targetPosition, wanted)
    if (read < batchOverheadBytes) {
      if (wanted < batchOverheadBytes) throw doesNotFit(batchOverheadBytes, room)
      return notFound
    }
    const fault = checkBatchFraming(target, targetPosition, read)
    if (fault !== undefined) return implausible
    const firstOffset = baseOffsetAt(target, targetPosition)
    if (exact && firstOffset !== range.offset) return implausible
    // Whoever goes on from what it was given would come here again and again.
    if (lastOffsetAt(target, targetPosition) < range.offset) return implausible
    if (lastOffsetAt(target, targetPosition) >= endOffset) return 0
    const firstBytes = sizeInBytesAt(target, targetPosition)
    if (firstBytes > read) {
      if (firstBytes > room) throw doesNotFit(firstBytes, room)
      const from = targetPosition + read
      read += yield* this.#readAt(base, position + read, target.bytes, from, firstBytes - read)
      if (read < firstBytes) return notFound
    }
    const bytes = this.#takeWhole(range, read)
    this.#segmentBase = base
    this.#position = position + bytes
    return bytes
  }

  /** Bytes of the whole batches below the end offset among `read`; notes the offset after them. */
  #takeWhole({ target, targetPosition, endOffset }: ReadRange, read: number): number {
    const end = targetPosition + read
    let at = targetPosition
    let next = baseOffsetAt(target, at)
    while (next < endOffset && checkBatchFraming(target, at, end - at) === undefined) {
      const size = sizeInBytesAt(target, at)
      const last = lastOffsetAt(target, at)
      if (size > end - at || last >= endOffset || baseOffsetAt(target, at) < next) break
      next = last + 1
      at += size
    }
    this.#nextOffset = next
    return at - targetPosition
  }

  *#readAt(
    base: number,
    filePosition: number,
    bytes: Uint8Array,
    bytesPosition: number,
    length: number,
  ): ReadSteps<number> {
    const request = this.#request
    request.kind = 'read'
    request.base = base
    request.filePosition = filePosition
    request.bytes = bytes
    request.bytesPosition = bytesPosition
    request.length = length
    return yield request
  }
}

/** Greatest of the ascending `bases` at or below the offset; -1: none. */
export function floorOf(bases: readonly number[], offset: number): number {
  let low = 0
  let high = bases.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (bases[middle] <= offset) low = middle + 1
    else high = middle
  }
  return low === 0 ? -1 : bases[low - 1]
}

/** Runs a read whose requests are answered at once. */
export function runNow<T>(steps: ReadSteps<T>, answer: (request: ReadRequest) => number): T {
  let step = steps.next(0)
  while (step.done !== true) step = steps.next(answer(step.value))
  return step.value
}

function corrupt(offset: number, base: number): TidemarkError {
  return new TidemarkError(
    'CORRUPT_MESSAGE',
    `no whole batch with offset ${offset} where segment ${base} should have one`,
  )
}

function doesNotFit(bytes: number, room: number): TidemarkError {
  return new TidemarkError(
    'RECORD_TOO_LARGE',
    `the next batch takes ${bytes} bytes, the target has room for ${room}`,
  )
}
