/**
 * What a log alone does by itself. Its timers never keep a process alive, and a disk that fails
 * them is the log's failure: whoever appends next is told.
 */
import { isTidemarkError } from '../errors.ts'
import type { LogConfig } from './log-config.ts'

type Timer = ReturnType<typeof setTimeout>

/** Kafka: `log.retention.check.interval.ms`. */
const retentionCheckMs = 300_000
/** Node's timers take no more, and fire at once instead. */
const timerMsMax = 2 ** 31 - 1

export interface LogTasks {
  readonly dropExpired: () => void
  readonly flush: () => Promise<void>
}

export class LogTimers {
  readonly #config: LogConfig
  readonly #tasks: LogTasks
  readonly #retention: Timer | undefined = undefined
  #flush: Timer | undefined = undefined

  constructor(config: LogConfig, tasks: LogTasks) {
    this.#config = config
    this.#tasks = tasks
    if (!config.deletes || (config.retentionMs < 0 && config.retentionBytes < 0)) return
    this.#retention = setInterval(() => this.#dropExpired(), retentionCheckMs)
    this.#retention.unref()
  }

  /** Something was appended that `flush.ms` wants on disk some time later. */
  appended(): void {
    const { flush } = this.#config
    if (flush.kind !== 'interval' || this.#flush !== undefined) return
    this.#flush = setTimeout(
      () => {
        this.#flush = undefined
        this.#tasks.flush().catch(ignoreStorage)
      },
      Math.min(flush.ms, timerMsMax),
    )
    this.#flush.unref()
  }

  stop(): void {
    clearInterval(this.#retention)
    clearTimeout(this.#flush)
  }

  #dropExpired(): void {
    try {
      this.#tasks.dropExpired()
    } catch (cause) {
      ignoreStorage(cause)
    }
  }
}

function ignoreStorage(cause: unknown): void {
  if (isTidemarkError(cause, 'KAFKA_STORAGE_ERROR')) return
  if (isTidemarkError(cause, 'BROKER_CLOSED')) return
  throw cause
}
