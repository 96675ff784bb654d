/**
 * Whether a log still takes appends. The first failure of its disk ends that for good, and is what
 * later callers are told; reads go on. Closing ends both.
 */
import { TidemarkError } from '../errors.ts'
import { storageError } from './storage-error.ts'

export class WritingLife {
  /** Why it ended; undefined as long as it goes on. */
  failure: TidemarkError | undefined = undefined
  isClosed = false
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Ends with the action's failure. @throws {TidemarkError} KAFKA_STORAGE_ERROR */
  guard<T>(action: () => T): T {
    try {
      return action()
    } catch (cause) {
      throw this.fail(cause)
    }
  }

  get isWritable(): boolean {
    return !this.isClosed && this.failure === undefined
  }

  /** Ends with the action's failure, which only `failure` tells. */
  attempt(action: () => void): void {
    try {
      action()
    } catch (cause) {
      this.fail(cause)
    }
  }

  /** @throws what is no failure of the disk but a mistake of ours; the log has ended with it */
  fail(cause: unknown): TidemarkError {
    try {
      const error = storageError('disk failure in log', this.#directory, cause)
      this.failure ??= error
      return error
    } catch (mistake) {
      const detail = `log ${this.#directory} is in an unknown state: ${mistake}`
      this.failure ??= new TidemarkError('KAFKA_STORAGE_ERROR', { detail, cause: mistake })
      throw mistake
    }
  }

  /** @throws {TidemarkError} BROKER_CLOSED, KAFKA_STORAGE_ERROR */
  assertWritable(): void {
    this.assertOpen()
    const cause = this.failure
    if (cause === undefined) return
    const detail = `log ${this.#directory} takes no appends after a failure: ${cause.message}`
    throw new TidemarkError('KAFKA_STORAGE_ERROR', { detail, cause })
  }

  /** @throws {TidemarkError} BROKER_CLOSED */
  assertOpen(): void {
    if (!this.isClosed) return
    throw new TidemarkError('BROKER_CLOSED', `log ${this.#directory} is closed`)
  }
}
