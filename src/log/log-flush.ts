/**
 * How a log gets to disk: by a sync of its owner, or by one in another thread, and the recovery
 * point that both move. Knows no failures; whoever calls it ends the log's writing life when it
 * throws.
 */
import path from 'node:path'
import type { SyncOutcome, SyncRequest } from './background-flush.ts'
import type { LeaderEpochs } from './leader-epochs.ts'
import type { LogConfig } from './log-config.ts'
import { RecoveryPoint } from './recovery-point.ts'
import type { SegmentRow } from './segment-row.ts'
import type { SyncPlan } from './sync-plan.ts'

export interface LogFlushParts {
  readonly config: LogConfig
  readonly row: SegmentRow
  readonly leaderEpochs: LeaderEpochs
  readonly recoveryPoint: number
  readonly nowMs: number
}

export class LogFlush {
  readonly #config: LogConfig
  readonly #row: SegmentRow
  readonly #leaderEpochs: LeaderEpochs
  readonly #recoveryPoint: RecoveryPoint
  #lastFlushMs: number
  #plan: SyncPlan | undefined = undefined
  #epochsVersion = -1

  constructor(parts: LogFlushParts) {
    this.#config = parts.config
    this.#row = parts.row
    this.#leaderEpochs = parts.leaderEpochs
    this.#recoveryPoint = new RecoveryPoint(parts.recoveryPoint)
    this.#lastFlushMs = parts.nowMs
  }

  get recoveryPoint(): number {
    return this.#recoveryPoint.offset
  }

  /** Waits until everything up to `dataEndOffset`, the end of the data, is on disk. */
  sync(dataEndOffset: number, nowMs: number): void {
    this.#row.sync()
    // Before the recovery point rises: below it nobody restores epochs from the batches.
    this.#leaderEpochs.flush()
    this.#recoveryPoint.synced(dataEndOffset)
    this.#lastFlushMs = nowMs
  }

  /** Whether the policy is `interval`, it is time, and there is something to sync. */
  isDue(dataEndOffset: number, nowMs: number): boolean {
    const { flush } = this.#config
    if (flush.kind !== 'interval') return false
    if (this.#recoveryPoint.syncedOffset === dataEndOffset) return false
    const elapsedMs = nowMs - this.#lastFlushMs
    // Negative: the wall clock was put back; how long it has been isn't known.
    return elapsedMs < 0 || elapsedMs >= flush.ms
  }

  lower(offset: number): void {
    this.#recoveryPoint.lower(offset)
  }

  restart(offset: number): void {
    this.#recoveryPoint.restart(offset)
  }

  /** What another thread should sync; `end` must follow. undefined: nothing now. */
  begin(dataEndOffset: number, everything: boolean, nowMs: number): SyncRequest | undefined {
    const isWhole = everything || this.isDue(dataEndOffset, nowMs)
    const plan = this.#row.planSync(dataEndOffset, isWhole)
    if (plan === undefined) return undefined
    if (isWhole) this.#lastFlushMs = nowMs
    this.#plan = plan
    this.#recoveryPoint.begin(plan.endOffset)
    const epochs = this.#leaderEpochs.unflushed()
    this.#epochsVersion = epochs?.version ?? -1
    const { files, directories } = plan
    if (epochs === undefined) return { files, directories }
    // The file was replaced: its name has to last as well.
    const own = path.dirname(epochs.file)
    const all = directories.includes(own) ? directories : [own, ...directories]
    return { files: [...files, epochs.file], directories: all }
  }

  /** @throws {Error} when something that the log still has isn't on disk for certain */
  end({ absent, failure }: SyncOutcome): void {
    const plan = this.#plan
    if (plan === undefined) return
    this.#plan = undefined
    // Of segments that the log has dropped meanwhile nothing is expected any more.
    const gone = plan.segments.find(
      ({ segment }) => absent.includes(segment.file.path) && this.#row.has(segment),
    )
    const why =
      failure !== undefined
        ? `${failure.path}: ${failure.message}`
        : gone !== undefined && `${gone.segment.file.path} is gone`
    if (why !== false) {
      this.#row.endPlan(false)
      throw new Error(`a sync in the background failed: ${why}`)
    }
    const counts = this.#recoveryPoint.complete()
    this.#row.endPlan(counts)
    if (counts) this.#leaderEpochs.markFlushed(this.#epochsVersion)
  }
}
