/** What a log's readers are given: batches as they are stored, and the records in them. */
import {
  baseOffsetAt,
  type Compression,
  compressionAt,
  isControlAt,
  lastOffsetAt,
  leaderEpochAt,
  maxTimestampAt,
  recordCountAt,
  sizeInBytesAt,
} from './batch-header.ts'
import type { BatchMemory } from './batch-memory.ts'
import type { BatchReading } from './batch-reading.ts'
import type { Isolation } from './log-options.ts'
import type { PartitionLog } from './partition-log.ts'
import { ReadCommitted } from './producers/read-committed.ts'
import type { LogRecord } from './record.ts'
import { RecordCursor, readRecords, recordOf } from './record-reader.ts'

/** One batch of a log, checked, in memory that stays good. */
export class StoredBatch {
  readonly memory: BatchMemory
  /** Where it begins in the memory. */
  readonly position: number

  constructor(memory: BatchMemory, position: number) {
    this.memory = memory
    this.position = position
  }

  /** All of it, in Apache Kafka's format; a view, not a copy. */
  get bytes(): Uint8Array {
    return this.memory.bytes.subarray(this.position, this.position + this.sizeBytes)
  }

  get sizeBytes(): number {
    return sizeInBytesAt(this.memory, this.position)
  }

  get baseOffset(): number {
    return baseOffsetAt(this.memory, this.position)
  }

  /** Inclusive; compaction may have removed the record itself. */
  get lastOffset(): number {
    return lastOffsetAt(this.memory, this.position)
  }

  get recordCount(): number {
    return recordCountAt(this.memory, this.position)
  }

  /** -1: none stated. */
  get leaderEpoch(): number {
    return leaderEpochAt(this.memory, this.position)
  }

  /** Milliseconds since 1970; -1: its records have none. */
  get maxTimestampMs(): number {
    return maxTimestampAt(this.memory, this.position)
  }

  get compression(): Compression {
    return compressionAt(this.memory, this.position)
  }

  /** Holds a transaction's marker and no records of a user. */
  get isControl(): boolean {
    return isControlAt(this.memory, this.position)
  }

  /** @throws {TidemarkError} CORRUPT_MESSAGE, UNSUPPORTED_VERSION */
  records(): Generator<LogRecord, void, undefined> {
    return readRecords(this.memory, this.position)
  }
}

export interface ReadRange {
  readonly fromOffset: number
  /** Exclusive. */
  readonly toOffset: number
  /** Batches whose records aren't shown; undefined: only those without records of users. */
  readonly committed: ReadCommitted | undefined
}

/** Where a reader's view of the log ends. */
export function visibleEnd(log: PartitionLog, isolation: Isolation): number {
  const { logEndOffset } = log
  return isolation === 'read_committed' ? log.lastStableOffset(logEndOffset) : logEndOffset
}

/** What a reader of the range mustn't see of it. */
export function committedIn(
  log: PartitionLog,
  isolation: Isolation,
  fromOffset: number,
  toOffset: number,
): ReadCommitted | undefined {
  if (isolation !== 'read_committed') return undefined
  return new ReadCommitted(log.producers.abortedTransactions(fromOffset, toOffset))
}

export function* batchesIn(
  reading: BatchReading,
  { toOffset, committed }: ReadRange,
): Generator<StoredBatch, void, undefined> {
  while (reading.next(toOffset)) {
    if (committed?.admits(reading.memory, reading.position) === false) continue
    yield new StoredBatch(reading.memory, reading.position)
  }
}

export function* recordsIn(
  reading: BatchReading,
  range: ReadRange,
): Generator<LogRecord, void, undefined> {
  while (reading.next(range.toOffset)) yield* recordsOfBatch(reading, range)
}

/** Records of users; the markers of transactions are passed over, as a consumer does. */
export function* recordsOfBatch(
  { memory, position }: BatchReading,
  { fromOffset, toOffset, committed }: ReadRange,
): Generator<LogRecord, void, undefined> {
  if (committed?.admits(memory, position) === false || isControlAt(memory, position)) return
  const cursor = new RecordCursor(memory, position)
  while (cursor.next()) {
    const { offset } = cursor.place
    if (offset >= toOffset) return
    if (offset >= fromOffset) yield recordOf(cursor.place)
  }
}
