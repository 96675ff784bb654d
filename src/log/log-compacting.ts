/** Compaction of a log alone: the cleaner's steps between turns of the event loop. */
import { TidemarkError } from '../errors.ts'
import { limits } from '../limits.ts'
import { Cleaner } from './compaction/cleaner.ts'
import type { CleanerResult } from './compaction/cleaner-job.ts'
import type { FileSystem } from './file-system.ts'
import type { CompactionProgress, CompactionSummary, CompactOptions } from './log-options.ts'
import type { PartitionLog } from './partition-log.ts'
import { storageError } from './storage-error.ts'

export interface CompactingParts {
  readonly log: PartitionLog
  readonly fs: FileSystem
  readonly nowMs: number
  readonly options: CompactOptions
  /** Throws when the log was closed, or failed, since. */
  readonly assertWritable: () => void
}

/**
 * @throws {TidemarkError} INVALID_CONFIG for a log that isn't compacted; KAFKA_STORAGE_ERROR, after
 *   which the log is left as it was; CORRUPT_MESSAGE; BROKER_CLOSED; the signal's reason
 */
export async function compactLog(parts: CompactingParts): Promise<CompactionSummary> {
  const { log, fs, nowMs, assertWritable } = parts
  if (!log.config.compacts) {
    throw new TidemarkError(
      'INVALID_CONFIG',
      `log ${log.directory}: cleanup.policy must contain compact`,
    )
  }
  const now = { nowMs, lastStableOffset: log.lastStableOffset(log.logEndOffset) }
  const job = log.compaction.plan(now, limits.compactionMapBytes)
  if (job === undefined) return nothing
  const cleaner = new Cleaner(fs, job)
  const totalBytes = job.segments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  const result = await run(cleaner, parts, totalBytes)
  assertWritable()
  const segments = log.compaction.replace(result)
  const { bytesRead, bytesWritten, recordsRead, recordsKept } = result
  return { segments, bytesRead, bytesWritten, recordsRead, recordsKept }
}

const nothing: CompactionSummary = {
  segments: 0,
  bytesRead: 0,
  bytesWritten: 0,
  recordsRead: 0,
  recordsKept: 0,
}

/** Until all is made, or the first thing that speaks against it. */
async function run(
  cleaner: Cleaner,
  { log, options, assertWritable }: CompactingParts,
  totalBytes: number,
): Promise<CleanerResult> {
  let doneBytes = 0
  try {
    for (let bytes = cleaner.step(); bytes > 0; bytes = cleaner.step()) {
      doneBytes += bytes
      options.onProgress?.({ doneBytes, totalBytes } satisfies CompactionProgress)
      await new Promise((resolve) => setImmediate(resolve))
      options.signal?.throwIfAborted()
      assertWritable()
    }
    return cleaner.result
  } catch (cause) {
    cleaner.abandon()
    if (options.signal?.aborted === true) throw cause
    throw storageError('cannot compact log', log.directory, cause)
  }
}
