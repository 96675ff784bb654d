/**
 * The growing end of a log: batches that came through either door are noted, rolled and written
 * here. Knows no failures; whoever calls it ends the log's writing life when it throws.
 */
import type { Clock } from '../clock.ts'
import {
  baseOffsetAt,
  baseSequenceAt,
  hasProducerIdAt,
  isTransactionalAt,
  lastOffsetAt,
  lastOffsetDeltaAt,
  leaderEpochAt,
  maxTimestampAt,
  nextOffsetAt,
  producerEpochAt,
  producerIdAt,
  sizeInBytesAt,
  stampBatch,
} from './batch-header.ts'
import type { BatchMemory, BatchRun } from './batch-memory.ts'
import type { LeaderEpochs } from './leader-epochs.ts'
import type { LogConfig } from './log-config.ts'
import type { AppendOutcomes } from './producers/append-outcomes.ts'
import type { LogProducers } from './producers/log-producers.ts'
import { clientBatchFault, sequenceRefusal } from './producers/producer-rules.ts'
import { lastSequenceOf } from './producers/sequence-numbers.ts'
import { dropExpired, type RetainedRange } from './retention/log-retention.ts'
import type { SegmentRow } from './segment-row.ts'

export interface LogTailParts {
  readonly config: LogConfig
  readonly clock: Clock
  readonly row: SegmentRow
  readonly leaderEpochs: LeaderEpochs
  readonly producers: LogProducers
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
  readonly #clock: Clock
  readonly #row: SegmentRow
  readonly #leaderEpochs: LeaderEpochs
  readonly #producers: LogProducers
  /** First batch of the run that is noted and not written yet. */
  #first = 0

  constructor(parts: LogTailParts) {
    const { config, clock, row, leaderEpochs, producers, logEndOffset } = parts
    this.#clock = clock
    this.#config = config
    this.#row = row
    this.#leaderEpochs = leaderEpochs
    this.#producers = producers
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
   * Writes a run as it is stamped. After an error the file ends, if it can still be cut, at the
   * last batch that was written whole, and so do the offsets.
   */
  write(run: BatchRun): void {
    this.#row.active.mark()
    this.#first = 0
    try {
      for (let at = 0; at < run.count; at += 1) this.#take(run, at)
      this.#writeGroup(run, this.#first, run.count)
    } catch (cause) {
      this.#row.active.forgetUnwritten()
      throw cause
    }
  }

  /**
   * Leader's way with batches of producers: each is judged by what stands before it, in the log or
   * in the run, and either stamped and written, or left out. Returns whether anything was written.
   */
  writeJudged(run: BatchRun, leaderEpoch: number, outcomes: AppendOutcomes): boolean {
    const { memory, positions, count } = run
    const accepted: BatchRun = { memory, positions: new Int32Array(count), count: 0 }
    let offset = this.logEndOffset
    this.#row.active.mark()
    this.#first = 0
    try {
      for (let at = 0; at < count; at += 1) {
        const position = positions[at]
        if (!this.#judge(memory, position, outcomes, at)) continue
        stampBatch(memory, position, offset, leaderEpoch)
        outcomes.appended(at, offset, nextOffsetAt(memory, position))
        offset = nextOffsetAt(memory, position)
        accepted.positions[accepted.count] = position
        accepted.count += 1
        this.#take(accepted, accepted.count - 1)
      }
      this.#writeGroup(accepted, this.#first, accepted.count)
    } catch (cause) {
      this.#row.active.forgetUnwritten()
      throw cause
    }
    return accepted.count > 0
  }

  /** Drops what lies at or above `offset`, by whole batches. As to `isOnDisk` see `SegmentRow`. */
  truncateTo(offset: number, isOnDisk: boolean, logStartOffset: number): void {
    this.dataEndOffset = this.#row.truncateTo(offset, isOnDisk)
    this.#leaderEpochs.truncateFromEnd(offset)
    const { segments } = this.#row
    const nowMs = this.#clock.nowMs()
    const range = { segments, logStartOffset, endOffset: this.dataEndOffset, nowMs }
    if (this.#producers.truncateTo(range)) this.#row.markDirectoryUnsynced()
    this.logEndOffset = offset
  }

  restartAt(offset: number, isOnDisk: boolean): void {
    this.#row.restartAt(offset, isOnDisk)
    this.dataEndOffset = offset
    this.#leaderEpochs.clear()
    this.#producers.restart(offset)
    this.logEndOffset = offset
  }

  /** Segments, and producers that have written nothing for long. */
  dropExpired(range: RetainedRange, raiseStart: (offset: number) => void): number {
    const count = dropExpired(this.#row, range, { roll: () => this.#roll(), raiseStart })
    this.#producers.removeExpired(range.nowMs)
    if (count > 0) this.#producers.dropBelow(this.#row.firstBaseOffset)
    return count
  }

  /** Completes the index files, and writes the producers down, where it spares the next much. */
  end(logStartOffset: number): void {
    const { active } = this.#row
    active.seal(false)
    if (this.#producers.isShortReplay(active, logStartOffset)) return
    if (this.#producers.takeSnapshot(this.dataEndOffset)) this.#row.markDirectoryUnsynced()
  }

  /** Whether a client's batch is to be written; if not, its outcome is noted. */
  #judge(memory: BatchMemory, position: number, outcomes: AppendOutcomes, at: number): boolean {
    const fault = clientBatchFault(memory, position)
    if (fault !== undefined) {
      outcomes.refused(at, fault)
      return false
    }
    if (!hasProducerIdAt(memory, position)) return true
    const entry = this.#producers.entry(producerIdAt(memory, position))
    if (entry === undefined) return true
    const epoch = producerEpochAt(memory, position)
    const baseSequence = baseSequenceAt(memory, position)
    const delta = lastOffsetDeltaAt(memory, position)
    const lastSequence = lastSequenceOf(baseSequence, delta)
    const lastOffset = entry.offsetOfDuplicate(epoch, baseSequence, lastSequence)
    if (lastOffset >= 0) {
      outcomes.duplicate(at, lastOffset - delta, lastOffset + 1)
      return false
    }
    const isTransactional = isTransactionalAt(memory, position)
    const refusal = sequenceRefusal(entry, epoch, baseSequence, isTransactional)
    if (refusal === undefined) return true
    outcomes.refused(at, refusal)
    return false
  }

  /** Notes a batch, after it has rolled if it must, and what it means to epochs and producers. */
  #take(run: BatchRun, at: number): void {
    const { memory, positions } = run
    const position = positions[at]
    const size = sizeInBytesAt(memory, position)
    const lastOffset = lastOffsetAt(memory, position)
    const maxTimestampMs = maxTimestampAt(memory, position)
    if (this.#row.mustRollBefore(size, lastOffset, maxTimestampMs)) {
      this.#writeGroup(run, this.#first, at)
      this.#first = at
      this.#roll()
      this.#row.active.mark()
    }
    // Before the data: after a crash the file may hold an epoch too many, never one too few.
    const epoch = leaderEpochAt(memory, position)
    const isNoted = epoch === this.#leaderEpochs.latest && !this.#leaderEpochs.isAhead
    if (!isNoted && epoch >= 0) {
      this.#leaderEpochs.assign(epoch, baseOffsetAt(memory, position))
    }
    this.#row.active.note(this.#config, size, lastOffset, maxTimestampMs)
    if (hasProducerIdAt(memory, position)) this.#producers.see(memory, position)
  }

  #roll(): void {
    const isEmpty = this.#row.active.sizeBytes === 0
    this.#row.roll(isEmpty ? this.logEndOffset : this.dataEndOffset)
    this.#producers.takeSnapshot(this.#row.active.baseOffset)
  }

  #writeGroup(run: BatchRun, first: number, end: number): void {
    if (first === end) return
    this.#row.active.write(run, first, end)
    this.logEndOffset = nextOffsetAt(run.memory, run.positions[end - 1])
    this.dataEndOffset = this.logEndOffset
    const { active } = this.#row
    if (this.#producers.saveAborted(active.baseOffset)) {
      active.markIndexUnsynced()
      this.#row.markDirectoryUnsynced()
    }
  }
}
