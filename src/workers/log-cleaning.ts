/**
 * LogCleaning: a broker's share of compaction (Kafka: `LogCleaner`, `LogCleanerManager`). It picks
 * the log that is worth most, has another thread compact it, and exchanges the segments. One log at
 * a time; appends and reads go on meanwhile.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { Clock } from '../clock.ts'
import { type ErrorCode, errorKinds, isTidemarkError, TidemarkError } from '../errors.ts'
import type { PartitionIndex } from '../ids.ts'
import { dirtyRatio, isWorthCleaning } from '../log/compaction/cleanable-range.ts'
import type { CleanerJob } from '../log/compaction/cleaner-job.ts'
import type { CleaningOutcome } from './cleaning-task.ts'
import { type PartitionStore, partitionName } from './partition-store.ts'
import type { OffsetEntry } from './thread-messages.ts'

/** Whoever does the work, in whatever thread. */
export interface CleaningPort {
  begin(job: CleanerJob): void
  /** What became of it; undefined: it isn't done. */
  take(): CleaningOutcome | undefined
}

export interface LogCleaningParts {
  readonly store: PartitionStore
  /** Without one nothing is compacted. */
  readonly cleaningPort?: CleaningPort
  readonly clock: Clock
  /** What the logs take for the time of day. Default: `clock`. */
  readonly wallClock?: Clock
  readonly config: {
    readonly 'log.cleaner.backoff.ms': number
    readonly 'log.cleaner.dedupe.buffer.size': number
  }
}

/** To the supervisor, over a port. */
export class MessageCleaning implements CleaningPort {
  readonly #port: MessagePort

  constructor(port: MessagePort) {
    this.#port = port
  }

  begin(job: CleanerJob): void {
    this.#port.postMessage(job)
  }

  take(): CleaningOutcome | undefined {
    return receiveMessageOnPort(this.#port)?.message as CleaningOutcome | undefined
  }
}

/** The data itself is at fault, and will be the next time. */
const lastingCodes: readonly string[] = ['CORRUPT_MESSAGE', 'INVALID_RECORD', 'UNSUPPORTED_VERSION']

export class LogCleaning {
  readonly #parts: LogCleaningParts
  /** Whose log is being compacted. */
  #partition: PartitionIndex | undefined
  #lookAtMs = 0
  #hasNews = false

  constructor(parts: LogCleaningParts) {
    this.#parts = parts
  }

  /** When it is worth a look again; infinity: somebody wakes the broker. */
  get dueAtMs(): number {
    const isIdle = this.#parts.cleaningPort !== undefined && this.#partition === undefined
    return isIdle ? this.#lookAtMs : Number.POSITIVE_INFINITY
  }

  step(nowMs: number): void {
    const { cleaningPort: port, config } = this.#parts
    if (port === undefined) return
    if (this.#partition !== undefined) {
      const outcome = port.take()
      if (outcome === undefined) return
      const isGood = this.#settle(this.#partition, outcome)
      this.#partition = undefined
      if (isGood) this.#lookAtMs = nowMs
    }
    if (nowMs < this.#lookAtMs) return
    this.#lookAtMs = nowMs + config['log.cleaner.backoff.ms']
    this.#begin(port)
  }

  /** Up to where logs are compacted, if that has changed since the last call. */
  takeCleanedOffsets(): OffsetEntry[] | undefined {
    if (!this.#hasNews) return undefined
    this.#hasNews = false
    const entries: OffsetEntry[] = []
    for (const [, { topic, partition, log }] of this.#parts.store.all()) {
      const offset = log.compaction.cleanedOffset
      if (offset !== undefined) entries.push({ topic, partition, offset })
    }
    return entries
  }

  #begin(port: CleaningPort): void {
    const { store, clock, wallClock = clock, config } = this.#parts
    const partition = this.#filthiest(wallClock.nowMs())
    if (partition === undefined) return
    const { log } = store.stored(partition)
    const now = this.#now(partition, wallClock.nowMs())
    const job = log.compaction.plan(now, config['log.cleaner.dedupe.buffer.size'])
    if (job === undefined) return
    this.#partition = partition
    port.begin(job)
  }

  #filthiest(nowMs: number): PartitionIndex | undefined {
    let filthiest: PartitionIndex | undefined
    let highest = -1
    for (const [partition, { log }] of this.#parts.store.all()) {
      const { compaction, failure } = log
      if (!log.config.compacts || compaction.uncleanable !== undefined || failure !== undefined) {
        continue
      }
      const range = compaction.range(this.#now(partition, nowMs))
      const ratio = dirtyRatio(range)
      if (!isWorthCleaning(range, log.config) || ratio <= highest) continue
      highest = ratio
      filthiest = partition
    }
    return filthiest
  }

  #now(partition: PartitionIndex, nowMs: number) {
    const { store } = this.#parts
    const lastStableOffset = store.log(partition).lastStableOffset(store.highWatermark(partition))
    return { nowMs, lastStableOffset }
  }

  /** @returns whether the next log may follow at once */
  #settle(partition: PartitionIndex, { failure, ...outcome }: CleaningOutcome): boolean {
    const { store } = this.#parts
    // Deleted or moved away meanwhile.
    if (!store.has(partition)) return true
    const { topic, partition: number, log } = store.stored(partition)
    if (log.failure !== undefined) return true
    try {
      if (failure === undefined) {
        this.#hasNews = true
        return 'result' in outcome && log.compaction.replace(outcome.result) > 0
      }
      const detail = `cannot compact ${partitionName(topic, number)}: ${failure.message}`
      const isOurs = Object.hasOwn(errorKinds, failure.code)
      if (isOurs && lastingCodes.includes(failure.code)) {
        const error = new TidemarkError(failure.code as ErrorCode, detail)
        log.compaction.uncleanable = error
        store.noteFailure(partition, error)
      } else if (failure.code === 'EIO') {
        // A sync may be what failed, and is not tried again as if nothing had been lost.
        throw new TidemarkError('KAFKA_STORAGE_ERROR', detail)
      }
      return false
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      store.noteFailure(partition, error)
      return false
    }
  }
}
