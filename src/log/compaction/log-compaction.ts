/**
 * The owner's side of compaction: which part of its log is to be compacted, and the exchange of
 * segments when that is done. In between the log goes on; what was truncated or restarted
 * meanwhile is not exchanged.
 */
import type { TidemarkError } from '../../errors.ts'
import type { BackgroundFlush, Flushable } from '../background-flush.ts'
import type { LogConfig } from '../log-config.ts'
import type { ProducerSnapshotEntry } from '../producers/producer-snapshot.ts'
import type { SegmentRow } from '../segment-row.ts'
import type { WritingLife } from '../writing-life.ts'
import { type CleanableRange, cleanableRange } from './cleanable-range.ts'
import type { ActiveProducer, CleanerJob, CleanerResult } from './cleaner-job.ts'

export interface CompactionNow {
  readonly nowMs: number
  /** Nothing at or above is compacted: it isn't committed, or a transaction in it is open. */
  readonly lastStableOffset: number
}

interface CompactedLog extends Flushable {
  readonly directory: string
  readonly config: LogConfig
  readonly logStartOffset: number
  readonly logEndOffset: number
  readonly recoveryPoint: number
  readonly producers: {
    snapshot(): readonly ProducerSnapshotEntry[]
    indexesReplaced(): void
  }
}

export class LogCompaction {
  /** Why the log is left alone from now on; told by whoever runs the jobs. */
  uncleanable: TidemarkError | undefined = undefined
  readonly #log: CompactedLog
  readonly #row: SegmentRow
  readonly #life: WritingLife
  readonly #background: BackgroundFlush | undefined
  #cleanedOffset: number | undefined

  constructor(
    log: CompactedLog,
    row: SegmentRow,
    life: WritingLife,
    background: BackgroundFlush | undefined,
  ) {
    this.#log = log
    this.#row = row
    this.#life = life
    this.#background = background
  }

  /**
   * All below has been compacted; undefined: nobody knows of any. The owner keeps it over
   * openings. What was cut off and written again no compaction has seen.
   */
  get cleanedOffset(): number | undefined {
    const cut = this.#row.takeLowestCut()
    if (this.#cleanedOffset !== undefined && cut < this.#cleanedOffset) this.#cleanedOffset = cut
    return this.#cleanedOffset
  }

  set cleanedOffset(offset: number | undefined) {
    this.#row.takeLowestCut()
    this.#cleanedOffset = offset
  }

  /** What could be compacted now. */
  range({ nowMs, lastStableOffset }: CompactionNow): CleanableRange {
    const { config, logStartOffset, logEndOffset } = this.#log
    const { segments } = this.#row
    const { cleanedOffset } = this
    return cleanableRange(
      { segments, cleanedOffset, nowMs, lastStableOffset, logStartOffset, logEndOffset },
      config,
    )
  }

  /**
   * A job for a `Cleaner`, in any thread, one at a time; `replace` takes its result. `mapBytes`:
   * for the keys, 24 each. undefined: there is nothing to compact, or it can't be.
   */
  plan(now: CompactionNow, mapBytes: number): CleanerJob | undefined {
    const { directory, config, recoveryPoint } = this.#log
    const { firstDirtyOffset, firstUncleanableOffset, dirtyBytes } = this.range(now)
    if (this.uncleanable !== undefined || dirtyBytes === 0) return undefined
    const all = this.#row.segments
    return {
      directory,
      segments: all
        .filter(({ baseOffset }) => baseOffset < firstUncleanableOffset)
        .map(({ baseOffset, sizeBytes }) => ({ baseOffset, sizeBytes })),
      endOffset: firstUncleanableOffset,
      allBases: all.map(({ baseOffset }) => baseOffset),
      firstDirtyOffset,
      recoveryPoint,
      nowMs: now.nowMs,
      config,
      mapBytes,
      producers: this.#activeProducers(),
      generation: this.#row.generation,
    }
  }

  /**
   * Exchanges the segments, and returns how many old ones there were. 0: the log was cut, restarted
   * or lost its beginning since; what was made is removed with the next job or opening. What was
   * replaced goes when the disk knows of it, with the next flush.
   *
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR; then the log takes no more appends. BROKER_CLOSED
   */
  replace(result: CleanerResult): number {
    this.#life.assertWritable()
    const count = this.#life.guard(() => this.#exchange(result))
    if (count > 0) this.#background?.want(this.#log)
    return count
  }

  #exchange({ generation, groups, cleanedOffset }: CleanerResult): number {
    if (generation !== this.#row.generation) return 0
    let count = 0
    let isWhole = true
    for (const group of groups) {
      isWhole = this.#row.replace(group)
      if (!isWhole) break
      count += group.baseOffsets.length
    }
    if (isWhole) this.cleanedOffset = cleanedOffset
    if (count > 0) this.#log.producers.indexesReplaced()
    return count
  }

  #activeProducers(): ActiveProducer[] {
    return this.#log.producers.snapshot().map(({ producerId, producerEpoch, lastOffset }) => {
      return { producerId, producerEpoch, lastDataOffset: lastOffset }
    })
  }
}
