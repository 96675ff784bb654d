/** Follows the end of a log: what is there, then whatever comes, until somebody ends it. */
import { BatchReading, type ReadSource } from './batch-reading.ts'
import type { Isolation } from './log-options.ts'
import { committedIn, type ReadRange, recordsOfBatch, visibleEnd } from './log-records.ts'
import type { LogRecord } from './record.ts'

/** Those who wait for more to come. */
export class AppendWaiters {
  #waiting: (() => void)[] = []

  /** Something was appended, or nothing ever will be. */
  wake(): void {
    if (this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  /** Until the next `wake`, or the signal. */
  wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      if (signal === undefined) {
        this.#waiting.push(resolve)
        return
      }
      const done = (): void => {
        signal.removeEventListener('abort', abort)
        resolve()
      }
      const abort = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== done)
        done()
      }
      signal.addEventListener('abort', abort)
      this.#waiting.push(done)
    })
  }
}

export interface FollowParts {
  readonly source: ReadSource
  readonly waiters: AppendWaiters
  readonly fromOffset: number
  readonly isolation: Isolation
  readonly signal: AbortSignal | undefined
  /** Throws when nothing will ever be appended again. */
  readonly assertGoesOn: () => void
}

/**
 * @throws {TidemarkError} BROKER_CLOSED when the log is closed; OFFSET_OUT_OF_RANGE when records
 *   were removed before they were read; KAFKA_STORAGE_ERROR when all was read of a log that failed;
 *   CORRUPT_MESSAGE
 */
export async function* follow(parts: FollowParts): AsyncGenerator<LogRecord, void, undefined> {
  const { source, waiters, signal, fromOffset, isolation, assertGoesOn } = parts
  const reading = new BatchReading(source, fromOffset)
  const isAborted = (): boolean => signal?.aborted === true
  let hasWaited = true
  let range: ReadRange = { fromOffset, toOffset: fromOffset, committed: undefined }
  while (!isAborted()) {
    // Whoever has much to read leaves the event loop to others between two chunks.
    if (!reading.isReady && !hasWaited) await new Promise((resolve) => setImmediate(resolve))
    hasWaited = false
    const toOffset = visibleEnd(source.log, isolation)
    if (toOffset !== range.toOffset) {
      const committed = committedIn(source.log, isolation, reading.offset, toOffset)
      range = { fromOffset, toOffset, committed }
    }
    if (reading.next(toOffset)) {
      for (const record of recordsOfBatch(reading, range)) {
        yield record
        if (isAborted()) return
      }
      continue
    }
    assertGoesOn()
    await waiters.wait(signal)
    hasWaited = true
  }
}
