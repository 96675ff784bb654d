/**
 * The growing end of a log: batches that came through either door are noted, rolled and written
 * here. Knows no failures; whoever calls it ends the log's writing life when it throws.
 */
import {
  baseOffsetAt,
  lastOffsetAt,
  leaderEpochAt,
  maxTimestampAt,
  nextOffsetAt,
  sizeInBytesAt,
  stampBatch,
} from './batch-header.ts'
import type { BatchRun } from './batch-memory.ts'
import type { LeaderEpochs } from './leader-epochs.ts'
import type { LogConfig } from './log-config.ts'
import type { SegmentRow } from './segment-row.ts'

export interface LogTailParts {
  readonly config: LogConfig
  readonly row: SegmentRow
  readonly leaderEpochs: LeaderEpochs
  readonly logEndOffset: number
}

export class LogTail {
  /** Offset that the next record gets. */
  logEndOffset: number
  /**
   * One past the last batch; below the log's end after a truncation within a batch. A new segment
   * is named by it, so that segments follow each other without a hole and recovery knows one.
   */
  dataEndOffset: number
  readonly #config: LogConfig
  readonly #row: SegmentRow
  readonly #leaderEpochs: LeaderEpochs

  constructor({ config, row, leaderEpochs, logEndOffset }: LogTailParts) {
    this.#config = config
    this.#row = row
    this.#leaderEpochs = leaderEpochs
    this.logEndOffset = logEndOffset
    this.dataEndOffset = logEndOffset
  }

  /** Gives the batches the next offsets and the epoch, in place. */
  stamp({ memory, positions, count }: BatchRun, leaderEpoch: number): void {
    let offset = this.logEndOffset
    for (let at = 0; at < count; at += 1) {
      stampBatch(memory, positions[at], offset, leaderEpoch)
      offset = nextOffsetAt(memory, positions[at])
    }
  }

  /**
   * The one write. After an error the file ends, if it can still be cut, at the last batch that was
   * written whole, and so do the offsets.
   */
  write(run: BatchRun): void {
    this.#row.active.mark()
    try {
      this.#assignEpochs(run)
      this.#writeBatches(run)
    } catch (cause) {
      this.#row.active.forgetUnwritten()
      throw cause
    }
  }

  /** Batches are noted and rolled one by one, and written as far as one file goes. */
  #writeBatches(run: BatchRun): void {
    const { memory, positions, count } = run
    let first = 0
    for (let at = 0; at < count; at += 1) {
      const position = positions[at]
      const size = sizeInBytesAt(memory, position)
      const lastOffset = lastOffsetAt(memory, position)
      const maxTimestampMs = maxTimestampAt(memory, position)
      if (this.#row.mustRollBefore(size, lastOffset, maxTimestampMs)) {
        this.#writeGroup(run, first, at)
        const isEmpty = this.#row.active.sizeBytes === 0
        this.#row.roll(isEmpty ? this.logEndOffset : this.dataEndOffset)
        this.#row.active.mark()
        first = at
      }
      this.#row.active.note(this.#config, size, lastOffset, maxTimestampMs)
    }
    this.#writeGroup(run, first, count)
  }

  #writeGroup(run: BatchRun, first: number, end: number): void {
    if (first === end) return
    this.#row.active.write(run, first, end)
    this.logEndOffset = nextOffsetAt(run.memory, run.positions[end - 1])
    this.dataEndOffset = this.logEndOffset
  }

  /** Before the data: after a crash the file may hold an epoch too many, never one too few. */
  #assignEpochs({ memory, positions, count }: BatchRun): void {
    for (let at = 0; at < count; at += 1) {
      const epoch = leaderEpochAt(memory, positions[at])
      if (epoch === this.#leaderEpochs.latest || epoch < 0) continue
      this.#leaderEpochs.assign(epoch, baseOffsetAt(memory, positions[at]))
    }
  }
}
