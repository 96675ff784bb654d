/**
 * RetentionSweep: looks through a broker's logs every `log.retention.check.interval.ms` and drops
 * what has expired, a bounded number of logs a step. Leaders look at their followers first: see
 * retention-guard.ts.
 */
import type { Clock } from '../clock.ts'
import { isTidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import type { DoomedFiles } from '../log/retention/doomed-files.ts'
import type { MetadataImage } from '../replication/controller/metadata-image.ts'
import type { PartitionLeaders } from '../replication/partition-leaders.ts'
import { guardRetention } from '../replication/retention-guard.ts'
import type { PartitionStore } from './partition-store.ts'
import type { ProgressBoard } from './progress-board.ts'

const logsPerStepMax = 16
const stepMsMax = 5
/** What will have expired at the check after the next, or with a tenth more data, is near. */
const nearChecks = 2
const nearBytesShare = 0.9
const notesMax = 1_000

export interface RetentionSweepParts {
  readonly brokerId: BrokerId
  readonly board: ProgressBoard
  readonly store: PartitionStore
  readonly leaders: PartitionLeaders
  readonly doomed: DoomedFiles
  /** Followers of a partition that are alive. */
  readonly livingFollowers: (partition: PartitionIndex) => readonly BrokerId[]
  readonly checkIntervalMs: number
  readonly clock: Clock
  readonly wallClock: Clock
}

/** The followers of a partition that aren't fenced, as this broker has heard. */
export function livingFollowers(
  image: MetadataImage,
  self: BrokerId,
  partition: PartitionIndex,
): BrokerId[] {
  const replicas = image.partition(partition)?.replicas ?? []
  return replicas.filter((id) => id !== self && image.isActive(id))
}

/** Retention and a follower that is behind it. */
export interface RetentionNote {
  readonly atMs: number
  readonly partition: PartitionIndex
  readonly kind: 'near' | 'held' | 'overtaken'
  /** The living follower that is furthest behind, and where its log ends. */
  readonly follower: BrokerId
  readonly followerEndOffset: number
  /** Up to where segments have expired; of `near` will have. */
  readonly expiredEndOffset: number
}

export class RetentionSweep {
  readonly #parts: RetentionSweepParts
  #queue: PartitionIndex[] = []
  /** Logs that wait until their new start is written down, and what bounded them. */
  readonly #unfinished = new Map<PartitionIndex, number>()
  #notes: RetentionNote[] = []
  readonly #told = new Map<PartitionIndex, RetentionNote['kind']>()
  readonly #heldSinceMs = new Map<PartitionIndex, number>()
  #checkAtMs: number

  constructor(parts: RetentionSweepParts) {
    this.#parts = parts
    this.#checkAtMs = parts.clock.nowMs() + parts.checkIntervalMs
  }

  get dueAtMs(): number {
    return this.#queue.length > 0 ? 0 : this.#checkAtMs
  }

  takeNotes(): RetentionNote[] {
    if (this.#notes.length === 0) return this.#notes
    return this.#notes.splice(0)
  }

  /** Files of dropped segments whose time has come, to be removed by somebody who may wait. */
  takeDoomed(): string[] {
    return this.#parts.doomed.takeDue(this.#parts.wallClock.nowMs())
  }

  /** @returns logs looked at */
  step(nowMs: number): number {
    const { store, clock, checkIntervalMs } = this.#parts
    if (this.#queue.length === 0) {
      if (nowMs < this.#checkAtMs) return 0
      this.#checkAtMs = nowMs + checkIntervalMs
      this.#queue = Array.from(store.all(), ([partition]) => partition)
    }
    let looked = 0
    while (looked < logsPerStepMax && this.#queue.length > 0) {
      if (looked > 0 && clock.nowMs() - nowMs >= stepMsMax) break
      this.#look(this.#queue.pop()!, nowMs)
      looked++
    }
    if (this.#queue.length === 0 && this.#unfinished.size > 0) store.logStarts.write()
    return looked
  }

  /** Once log starts are written down, what lies below them may go. */
  finish(): void {
    const { store } = this.#parts
    for (const [partition, bound] of this.#unfinished) {
      const { log } = store.stored(partition)
      if (store.writtenLogStart(partition) < log.logStartOffset) continue
      this.#unfinished.delete(partition)
      this.#drop(partition, bound)
    }
  }

  #look(partition: PartitionIndex, nowMs: number): void {
    const { store, leaders } = this.#parts
    if (!store.has(partition) || store.log(partition).failure !== undefined) return
    const highWatermark = store.highWatermark(partition)
    const bound = leaders.isLeader(partition)
      ? this.#guard(partition, highWatermark, nowMs)
      : highWatermark
    this.#drop(partition, bound)
  }

  #drop(partition: PartitionIndex, highWatermark: number): void {
    const { store, wallClock } = this.#parts
    try {
      const log = store.log(partition)
      const writtenLogStart = store.writtenLogStart(partition)
      log.deleteOldSegments({ nowMs: wallClock.nowMs(), highWatermark, writtenLogStart })
      store.publishLogStart(partition)
      if (log.logStartOffset > writtenLogStart) this.#unfinished.set(partition, highWatermark)
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      store.noteFailure(partition, error)
    }
  }

  /** @returns the high watermark, or less for a follower's sake */
  #guard(partition: PartitionIndex, highWatermark: number, nowMs: number): number {
    const { store, wallClock, checkIntervalMs } = this.#parts
    const { log, config } = store.stored(partition)
    const wallMs = wallClock.nowMs()
    const soonMs = wallMs + nearChecks * checkIntervalMs
    const soonExpiredEnd = log.expiredEnd({ nowMs: soonMs, highWatermark }, nearBytesShare)
    if (soonExpiredEnd <= log.logStartOffset) return highWatermark
    const expiredEnd = log.expiredEnd({ nowMs: wallMs, highWatermark })
    const slowest = this.#slowest(partition)
    const heldSinceMs = this.#heldSinceMs.get(partition) ?? 0
    const holdMs = config['retention.follower.hold.ms']
    const slowestEnd = slowest.endOffset
    const facts = { expiredEnd, soonExpiredEnd, slowestEnd, nowMs, heldSinceMs, holdMs }
    const verdict = guardRetention(facts)
    if (verdict.heldSinceMs === 0) this.#heldSinceMs.delete(partition)
    else this.#heldSinceMs.set(partition, verdict.heldSinceMs)
    const { kind } = verdict
    if (kind === 'clear') this.#told.delete(partition)
    else if (this.#told.get(partition) !== kind) {
      this.#told.set(partition, kind)
      const expiredEndOffset = kind === 'near' ? soonExpiredEnd : expiredEnd
      const { follower } = slowest
      const note = { atMs: nowMs, partition, kind, follower, followerEndOffset: slowestEnd }
      if (this.#notes.length < notesMax) this.#notes.push({ ...note, expiredEndOffset })
    }
    return Math.min(highWatermark, verdict.keepFrom)
  }

  #slowest(partition: PartitionIndex): { readonly follower: BrokerId; readonly endOffset: number } {
    const { board, livingFollowers, brokerId } = this.#parts
    let slowest = { follower: brokerId, endOffset: Number.POSITIVE_INFINITY }
    for (const follower of livingFollowers(partition)) {
      const endOffset = board.logEndOffset(follower, partition)
      if (endOffset < slowest.endOffset) slowest = { follower, endOffset }
    }
    return slowest
  }
}
