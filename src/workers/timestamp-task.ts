/** Task of the pool: looks for a time in the segments of a log that somebody else writes. */
import { realFileSystem } from '../log/file-system.ts'
import { OpenFiles } from '../log/open-files.ts'
import { readSegments } from '../log/segment-files.ts'
import { findTimestamp, type TimestampOffset } from '../log/timestamp-lookup.ts'

export interface TimestampTask {
  readonly directory: string
  readonly timestampMs: number
  readonly startOffset: number
}

/** @throws {TidemarkError} what `findTimestamp` throws */
export function findOffset({ directory, ...query }: TimestampTask): TimestampOffset | undefined {
  const files = new OpenFiles(realFileSystem)
  try {
    return findTimestamp(readSegments(files, directory), query)
  } finally {
    files.closeAll()
  }
}
