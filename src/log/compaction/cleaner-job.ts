/** What a compaction is asked to do, and what it did: plain data that threads can pass on. */
import type { LogConfig } from '../log-config.ts'

export interface CleanerSegment {
  readonly baseOffset: number
  readonly sizeBytes: number
}

/** Last record of a producer that may go on; its sequence number must outlive the record. */
export interface ActiveProducer {
  readonly producerId: number
  readonly producerEpoch: number
  /** Last offset of its last batch with data; -1: the last was the end of a transaction. */
  readonly lastDataOffset: number
}

export interface CleanerJob {
  readonly directory: string
  /** To be compacted, ascending; none is written to, and nothing in them is undecided. */
  readonly segments: readonly CleanerSegment[]
  /** Where the last of them ends, and the next begins. */
  readonly endOffset: number
  /** Bases of all segments of the log: a transaction may end in one that comes later. */
  readonly allBases: readonly number[]
  readonly firstDirtyOffset: number
  /** Below it all is known to be on disk; the rest is synced first. */
  readonly recoveryPoint: number
  readonly nowMs: number
  readonly config: LogConfig
  /** For the map of keys. */
  readonly mapBytes: number
  readonly producers: readonly ActiveProducer[]
  /** Of the row of segments that it was planned on; a truncation makes it another. */
  readonly generation: number
}

/** Segments that one takes the place of. */
export interface CleanedGroup {
  /** Of the old ones; the new one has the first's base. */
  readonly baseOffsets: readonly number[]
  readonly sizeBytes: number
}

export interface CleanerResult {
  readonly generation: number
  readonly groups: readonly CleanedGroup[]
  /** All below has been compacted. */
  readonly cleanedOffset: number
  readonly bytesRead: number
  readonly bytesWritten: number
  readonly recordsRead: number
  readonly recordsKept: number
}
