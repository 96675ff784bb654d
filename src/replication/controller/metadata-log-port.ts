/**
 * What the controller needs of its log, so that tests and the simulation can stand in for the
 * disk.
 */
import type { MetadataRecord } from './metadata-records.ts'

/** Kafka's name of it; no other topic may have that. */
export const metadataTopic = '__cluster_metadata'

export interface MetadataSnapshotContents {
  readonly records: readonly MetadataRecord[]
  /** Exclusive end of the log that it stands for. */
  readonly endOffset: number
}

export interface MetadataLogPort {
  /** First offset that can be replayed; what came before is told by a snapshot alone. */
  readonly startOffset: number
  /** Exclusive end: offset of the next record. */
  readonly endOffset: number
  /**
   * Appends records as one batch: after a crash either all of them are there or none.
   *
   * @returns offset of the first.
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR; then it takes no more, and whether these are
   *   there will be known when it is opened again.
   */
  append(records: readonly MetadataRecord[]): number
  /**
   * Visits the records from an offset to the end, in order.
   *
   * @throws {TidemarkError} CORRUPT_MESSAGE
   */
  replay(fromOffset: number, visit: (record: MetadataRecord, offset: number) => void): void
  /** The newest snapshot that is whole and can be gone on from; undefined: there is none. */
  readSnapshot(): MetadataSnapshotContents | undefined
  /** Enough was appended since the last snapshot. */
  readonly isSnapshotDue: boolean
  /**
   * Writes the state at the log's end, and lets go of what the snapshots before made superfluous.
   *
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR; the log and the snapshots before stay as they are.
   */
  writeSnapshot(records: Iterable<MetadataRecord>): void
  /** Makes what is appended durable when the flush policy says so; whether it did anything. */
  flushIfDue(nowMs: number): boolean
}
