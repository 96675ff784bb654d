/** What an embedded log's owner does besides appending: it drops, compacts, and writes down. */
import type { Clock } from '../clock.ts'
import type { FileSystem } from './file-system.ts'
import { compactLog } from './log-compacting.ts'
import type { CompactionSummary, CompactOptions } from './log-options.ts'
import type { PartitionLog } from './partition-log.ts'
import { removeFiles } from './retention/doomed-files.ts'
import { offsetsOf } from './standalone-opening.ts'
import type { StandaloneState } from './standalone-state.ts'

/** Kafka: `log.flush.offset.checkpoint.interval.ms`. */
const checkpointIntervalMs = 60_000

export interface UpkeepParts {
  readonly log: PartitionLog
  readonly state: StandaloneState
  readonly fs: FileSystem
  readonly clock: Clock
}

export class LogUpkeep {
  readonly #parts: UpkeepParts
  #checkpointMs: number

  constructor(parts: UpkeepParts) {
    this.#parts = parts
    this.#checkpointMs = parts.clock.nowMs()
  }

  /** Waits for the disk. `cleanEndOffset`: the log has been closed properly, and ends there. */
  checkpoint(cleanEndOffset?: number): void {
    const { log, state, clock } = this.#parts
    state.write(offsetsOf(log, cleanEndOffset))
    this.#checkpointMs = clock.nowMs()
  }

  checkpointIfDue(): void {
    if (this.#parts.clock.nowMs() - this.#checkpointMs >= checkpointIntervalMs) this.checkpoint()
  }

  /** Returns how many segments went. */
  deleteOldSegments(): number {
    const { log, fs, clock } = this.#parts
    const nowMs = clock.nowMs()
    // The new start is on disk before a file goes: then a crash leaves no hole that counts.
    const dropped = this.#dropExpired(nowMs)
    this.checkpoint()
    const more = this.#dropExpired(nowMs)
    removeFiles(fs, log.doomed.takeDue(nowMs))
    return dropped + more
  }

  compact(options: CompactOptions, assertWritable: () => void): Promise<CompactionSummary> {
    const { log, fs, clock } = this.#parts
    return compactLog({ log, fs, nowMs: clock.nowMs(), options, assertWritable })
  }

  /** Closes and unlocks. */
  close(): void {
    const { log, state, fs } = this.#parts
    try {
      const hadFailed = log.failure !== undefined
      log.close()
      if (!hadFailed) this.checkpoint(log.logEndOffset)
      removeFiles(fs, log.doomed.takeDue(Number.POSITIVE_INFINITY))
    } finally {
      state.release()
    }
  }

  #dropExpired(nowMs: number): number {
    const { log, state } = this.#parts
    const { logStartOffset: writtenLogStart } = state.offsets
    return log.deleteOldSegments({ nowMs, highWatermark: log.logEndOffset, writtenLogStart })
  }
}
