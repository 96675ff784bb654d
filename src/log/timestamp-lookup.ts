/**
 * Offsets by timestamp (Kafka: `LogSegment.findOffsetByTimestamp`, ListOffsets with a time, and
 * KIP-734 for the newest).
 *
 * A time index leads near; it has no checksum and is not trusted. An entry counts only if the batch
 * that it names has its timestamp. Otherwise the headers tell, from the segment's start: slower,
 * and never a wrong answer.
 */
import { TidemarkError } from '../errors.ts'
import {
  baseOffsetAt,
  checkBatch,
  lastOffsetAt,
  leaderEpochAt,
  maxTimestampAt,
  sizeInBytesAt,
} from './batch-header.ts'
import { batchOverheadBytes } from './batch-layout.ts'
import { type BatchMemory, batchMemory } from './batch-memory.ts'
import { RecordCursor, type RecordPlace } from './record-reader.ts'
import type { Segment } from './segment.ts'
import { floorSegmentIndex } from './segment-files.ts'
import type { NewestTimestamp } from './segment-indexes.ts'
import { storageError } from './storage-error.ts'

/** A record found by its time. */
export interface TimestampOffset {
  readonly offset: number
  /** The record's own, in milliseconds since 1970. */
  readonly timestampMs: number
  /** -1: its batch states none. */
  readonly leaderEpoch: number
}

interface TimeQuery {
  /** The record must not be older. */
  readonly timestampMs: number
  /** Nor lie below. */
  readonly startOffset: number
}

const notFound = -1
const scratchBytesKept = 1024 * 1024
let scratch = batchMemory(new ArrayBuffer(batchOverheadBytes))

/**
 * First record at or above `startOffset` that is not older than the timestamp; undefined: none is.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT; CORRUPT_MESSAGE for a damaged batch that had to be
 *   looked into; KAFKA_STORAGE_ERROR
 */
export function findTimestamp(
  segments: readonly Segment[],
  query: TimeQuery,
): TimestampOffset | undefined {
  const { timestampMs } = query
  if (!Number.isFinite(timestampMs)) {
    throw new TidemarkError('INVALID_ARGUMENT', `timestamp ${timestampMs}: allowed are numbers`)
  }
  return reading(segments, () => findFrom(segments, query))
}

function findFrom(segments: readonly Segment[], query: TimeQuery): TimestampOffset | undefined {
  for (let at = firstIndex(segments, query.startOffset); at < segments.length; at += 1) {
    const segment = segments[at]
    if (newestOf(segment).timestampMs < query.timestampMs) continue
    const found = findInSegment(segment, query, startPosition(segment, query))
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * First record of those with the newest timestamp at or above `startOffset`; undefined when none
 * has a timestamp.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE for a damaged batch that had to be looked into;
 *   KAFKA_STORAGE_ERROR
 */
export function findNewest(
  segments: readonly Segment[],
  startOffset: number,
): TimestampOffset | undefined {
  return reading(segments, () => findNewestFrom(segments, startOffset))
}

function findNewestFrom(
  segments: readonly Segment[],
  startOffset: number,
): TimestampOffset | undefined {
  let newest: NewestTimestamp = { timestampMs: -1, offset: -1 }
  let holder: Segment | undefined
  for (let at = firstIndex(segments, startOffset); at < segments.length; at += 1) {
    const segment = segments[at]
    const own =
      segment.baseOffset >= startOffset ? newestOf(segment) : newestFrom(segment, startOffset)
    if (own.timestampMs <= newest.timestampMs) continue
    newest = own
    holder = segment
  }
  if (holder === undefined) return undefined
  const query = { timestampMs: newest.timestampMs, startOffset }
  return findInSegment(holder, query, holder.positionOf(newest.offset))
}

/** Newest timestamp of a segment, looked for once; -1: its records have none. */
export function newestOf(segment: Segment): NewestTimestamp {
  const known = segment.newest
  if (known !== undefined) return known
  const { times } = segment
  const last = times.timeEntries - 1
  const timestampMs = last < 0 ? -1 : times.timestampMsOf(last)
  const offset = last < 0 ? -1 : times.offsetOf(last)
  const end = namedEnd(segment, timestampMs, offset)
  const newest =
    end < 0 ? newestInHeaders(segment, 0) : newestInHeaders(segment, end, { timestampMs, offset })
  segment.noteNewest(newest)
  return newest
}

function firstIndex(segments: readonly Segment[], startOffset: number): number {
  return Math.max(0, floorSegmentIndex(segments, startOffset))
}

/** Of `before` and all from the batch at `position` on. */
function newestInHeaders(
  segment: Segment,
  position: number,
  before: NewestTimestamp = { timestampMs: -1, offset: segment.baseOffset },
): NewestTimestamp {
  let { timestampMs, offset } = before
  segment.walk(position, (memory, at) => {
    const maxMs = maxTimestampAt(memory, at)
    if (maxMs > timestampMs) {
      timestampMs = maxMs
      offset = lastOffsetAt(memory, at)
    }
    return true
  })
  return { timestampMs, offset }
}

/** Newest of the records at or above `startOffset`, which lies within the segment. */
function newestFrom(segment: Segment, startOffset: number): NewestTimestamp {
  const position = segment.positionOf(startOffset)
  let sizeBytes = 0
  segment.walk(position, (found, at) => {
    sizeBytes = sizeInBytesAt(found, at)
    return false
  })
  if (sizeBytes === 0) return { timestampMs: -1, offset: -1 }
  const memory = readBatch(segment, position, sizeBytes)
  let timestampMs = -1
  const records = new RecordCursor(memory, 0)
  while (records.next()) {
    if (records.place.offset >= startOffset) {
      timestampMs = Math.max(timestampMs, records.place.timestampMs)
    }
  }
  const offset = lastOffsetAt(memory, 0)
  const behind = newestInHeaders(segment, position + sizeBytes)
  return timestampMs >= behind.timestampMs ? { timestampMs, offset } : behind
}

/** Where the walk to the query's record may begin. */
function startPosition(segment: Segment, { timestampMs, startOffset }: TimeQuery): number {
  const { times } = segment
  let low = 0
  let high = times.timeEntries
  // An entry as old as what is looked for may stand behind the first record of that age.
  while (low < high) {
    const middle = (low + high) >>> 1
    if (times.timestampMsOf(middle) < timestampMs) low = middle + 1
    else high = middle
  }
  const entry = low - 1
  const named = entry < 0 ? 0 : namedEnd(segment, times.timestampMsOf(entry), times.offsetOf(entry))
  if (startOffset <= segment.baseOffset) return Math.max(0, named)
  return Math.max(named, segment.positionOf(startOffset))
}

/** End of the batch that holds `offset`, if `timestampMs` is its newest. */
function namedEnd(segment: Segment, timestampMs: number, offset: number): number {
  if (!(offset >= segment.baseOffset)) return notFound
  let found = notFound
  const from = segment.searchPosition(offset)
  if (from >= segment.sizeBytes) return notFound
  segment.walk(
    from,
    (memory, at, filePosition) => {
      if (lastOffsetAt(memory, at) < offset) return true
      const names = baseOffsetAt(memory, at) <= offset && maxTimestampAt(memory, at) === timestampMs
      if (names) found = filePosition + sizeInBytesAt(memory, at)
      return false
    },
    true,
  )
  return found
}

function findInSegment(
  segment: Segment,
  query: TimeQuery,
  position: number,
): TimestampOffset | undefined {
  let from = position
  for (;;) {
    let sizeBytes = 0
    const { position: at, fault } = segment.walk(
      from,
      (memory, header) => {
        sizeBytes = sizeInBytesAt(memory, header)
        const isOlder = maxTimestampAt(memory, header) < query.timestampMs
        return isOlder || lastOffsetAt(memory, header) < query.startOffset
      },
      true,
    )
    if (fault !== undefined) throw corrupt(segment, at, fault)
    if (at >= segment.sizeBytes) return undefined
    const memory = readBatch(segment, at, sizeBytes)
    const place = findInBatch(memory, query)
    if (place !== undefined) {
      const { offset, timestampMs } = place
      return { offset, timestampMs, leaderEpoch: leaderEpochAt(memory, 0) }
    }
    from = at + sizeBytes
  }
}

function findInBatch(memory: BatchMemory, query: TimeQuery): RecordPlace | undefined {
  const records = new RecordCursor(memory, 0)
  while (records.next()) {
    const { place } = records
    if (place.timestampMs >= query.timestampMs && place.offset >= query.startOffset) return place
  }
  return undefined
}

/** A whole batch, checked, in memory that is good until the next. */
function readBatch(segment: Segment, position: number, sizeBytes: number): BatchMemory {
  if (sizeBytes > scratch.bytes.length) {
    const memory = batchMemory(new ArrayBuffer(sizeBytes))
    if (sizeBytes > scratchBytesKept) return readInto(memory, segment, position, sizeBytes)
    scratch = memory
  }
  return readInto(scratch, segment, position, sizeBytes)
}

function readInto(
  memory: BatchMemory,
  segment: Segment,
  position: number,
  sizeBytes: number,
): BatchMemory {
  const read = segment.read(memory.bytes, 0, sizeBytes, position)
  const fault = checkBatch(memory, 0, read)
  if (fault !== undefined) throw corrupt(segment, position, fault)
  return memory
}

function reading<T>(segments: readonly Segment[], look: () => T): T {
  try {
    return look()
  } catch (cause) {
    throw storageError('cannot look up', segments[0].file.path, cause)
  }
}

function corrupt({ file }: Segment, position: number, fault: string): TidemarkError {
  return new TidemarkError('CORRUPT_MESSAGE', `${file.path} position ${position}: ${fault}`)
}
