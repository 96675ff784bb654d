/**
 * Reads a log's batches one after the other, in chunks, each batch checked before it is shown. Each
 * chunk has memory of its own: what was read stays good for as long as somebody holds it.
 */
import { isTidemarkError, TidemarkError } from '../errors.ts'
import { limits } from '../limits.ts'
import { baseOffsetAt, checkBatch, lastOffsetAt, sizeInBytesAt } from './batch-header.ts'
import { type BatchMemory, batchMemory } from './batch-memory.ts'
import type { PartitionLog } from './partition-log.ts'

const noMemory = batchMemory(new ArrayBuffer(0))

/** What is read, and how often it was truncated: what was read ahead may not be there any more. */
export interface ReadSource {
  readonly log: PartitionLog
  readonly truncations: number
}

export class BatchReading {
  /** Batch that `next` came to. */
  memory: BatchMemory = noMemory
  position = 0
  /** Where the next batch begins, at least. */
  offset: number
  readonly #source: ReadSource
  /** Few at first: who wants one record doesn't wait for many. */
  #readBytes: number = limits.scanFirstReadBytes
  /** Grows when batches are larger. */
  #memoryBytes: number = limits.scanChunkBytes
  #truncations: number
  #nextPosition = 0
  #end = 0

  constructor(source: ReadSource, offset: number) {
    this.#source = source
    this.#truncations = source.truncations
    this.offset = offset
  }

  /** Whether the next batch has been read already. */
  get isReady(): boolean {
    return this.#nextPosition < this.#end
  }

  /**
   * Goes to the batch that holds `offset`, or the next there is. False: none lies below `endOffset`
   * (exclusive).
   *
   * @throws {TidemarkError} OFFSET_OUT_OF_RANGE, CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR,
   *   BROKER_CLOSED
   */
  next(endOffset: number): boolean {
    if (this.#truncations !== this.#source.truncations) this.#dropReadAhead()
    if (this.#nextPosition >= this.#end && !this.#read(endOffset)) return false
    const { memory } = this
    const position = this.#nextPosition
    const fault = checkBatch(memory, position, this.#end - position)
    if (fault !== undefined) {
      throw new TidemarkError(
        'CORRUPT_MESSAGE',
        `log ${this.#source.log.directory}, offset ${baseOffsetAt(memory, position)}: ${fault}`,
      )
    }
    if (baseOffsetAt(memory, position) >= endOffset) return false
    this.position = position
    this.#nextPosition = position + sizeInBytesAt(memory, position)
    this.offset = lastOffsetAt(memory, position) + 1
    return true
  }

  #dropReadAhead(): void {
    this.#truncations = this.#source.truncations
    this.#nextPosition = 0
    this.#end = 0
    const { logEndOffset } = this.#source.log
    if (this.offset <= logEndOffset) return
    throw new TidemarkError(
      'OFFSET_OUT_OF_RANGE',
      `offset ${this.offset}: the log was truncated and ends at ${logEndOffset}`,
    )
  }

  #read(endOffset: number): boolean {
    const { offset } = this
    if (offset >= endOffset) return false
    // A batch that reaches beyond the end is read all the same; its reader takes what lies below.
    const { log } = this.#source
    for (;;) {
      // Not filled with zeros: nobody is shown more of it than was read.
      const memory = batchMemory(Buffer.allocUnsafeSlow(this.#memoryBytes).buffer)
      try {
        this.#end = log.read(offset, log.logEndOffset, this.#readBytes, memory, 0)
      } catch (cause) {
        const isLargest = this.#memoryBytes === limits.batchBytesMax
        if (isLargest || !isTidemarkError(cause, 'RECORD_TOO_LARGE')) throw cause
        this.#memoryBytes = Math.min(4 * this.#memoryBytes, limits.batchBytesMax)
        continue
      }
      this.#readBytes = this.#memoryBytes
      this.#nextPosition = 0
      this.memory = memory
      return this.#end > 0
    }
  }
}
