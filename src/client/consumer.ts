/**
 * Consumer: one partition's records as an async iterator. It reads the leader's segment files
 * itself, in chunks and without blocking, bounded by the high watermark that the leader publishes
 * in shared memory; the leader's thread is not involved.
 */
import path from 'node:path'
import { isTidemarkError, TidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { limits } from '../limits.ts'
import { AsyncSegmentReader } from '../log/async-segment-reader.ts'
import { batchPositions, checkBatch, nextOffsetAt } from '../log/batch-header.ts'
import { type BatchMemory, batchMemory } from '../log/batch-memory.ts'
import type { LogRecord } from '../log/record.ts'
import { readRecords } from '../log/record-reader.ts'
import { partitionName } from '../workers/partition-store.ts'
import type { ProgressBoard } from '../workers/progress-board.ts'
import { ChunkSize } from './chunk-size.ts'
import type { WakeLoop } from './wake-loop.ts'

export interface ConsumeOptions {
  readonly topic: string
  readonly partition: number
  /**
   * First offset to read: a number, the log's start (default), what is committed from now on, or
   * the first record that is not older than a time (if none is, as `latest`).
   */
  readonly from?: number | 'earliest' | 'latest' | { readonly timestampMs: number }
  /** Ends before this offset; default: never, the iterator waits for more. */
  readonly until?: number
  /** Ends the iteration; nothing is thrown. */
  readonly signal?: AbortSignal
  /** Bytes of one read at most (default 1 MiB); a larger batch is read all the same. */
  readonly readBytes?: number
}

export interface ConsumerParts {
  readonly index: PartitionIndex
  readonly board: ProgressBoard
  readonly wakeLoop: WakeLoop
  readonly brokerDirectory: (broker: BrokerId) => string
  /** Word that tells leaders somebody waits for high watermarks; counted. */
  readonly watchWord: number
  /** First record of a partition's directory that is not older than a time. */
  readonly findOffset: (query: {
    readonly directory: string
    readonly timestampMs: number
    readonly startOffset: number
  }) => Promise<{ readonly offset: number } | undefined>
  /** Aborted when the cluster closes. */
  readonly closed: AbortSignal
  readonly options: ConsumeOptions
}

const positionsMax = 65_536
const leaderRetryMs = 10

/**
 * Made by `Cluster.consume`.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT at once; while iterating OFFSET_OUT_OF_RANGE,
 *   CORRUPT_MESSAGE, and BROKER_CLOSED when the cluster closes
 */
export function consume(parts: ConsumerParts): AsyncGenerator<LogRecord, void, undefined> {
  checkOptions(parts.options)
  return recordsOf(parts)
}

async function* recordsOf(parts: ConsumerParts): AsyncGenerator<LogRecord, void, undefined> {
  const { options } = parts
  const until = options.until ?? Number.POSITIVE_INFINITY
  const reading = new PartitionReading(parts)
  const isAborted = () => options.signal?.aborted === true
  try {
    let offset = await reading.firstOffset()
    while (offset < until && !isAborted()) {
      const memory = await reading.read(offset)
      if (memory === undefined) continue
      for (const position of memory.positions) {
        offset = nextOffsetAt(memory, position)
        for (const record of readRecords(memory, position)) {
          if (record.offset < memory.from) continue
          if (record.offset >= until || isAborted()) return
          yield record
        }
      }
    }
  } finally {
    await reading.close()
  }
}

interface Chunk extends BatchMemory {
  /** Good until the next read. */
  readonly positions: Int32Array
  /** The offset asked for: records of the first batch may lie before it. */
  readonly from: number
}

class PartitionReading {
  readonly #parts: ConsumerParts
  readonly #chunk: ChunkSize
  /** Of the batches in the chunk at hand. */
  readonly #positions = new Int32Array(positionsMax)
  #leader = 0
  #reader: AsyncSegmentReader | undefined

  constructor(parts: ConsumerParts) {
    this.#parts = parts
    this.#chunk = new ChunkSize(parts.options.readBytes ?? 1024 * 1024)
  }

  async firstOffset(): Promise<number> {
    const { options, findOffset } = this.#parts
    const { from = 'earliest' } = options
    await this.#findLeader()
    if (from === 'earliest') return this.#logStartOffset()
    if (from === 'latest') return this.#highWatermark()
    if (typeof from === 'number') return from
    const found = await findOffset({
      directory: this.#directoryOfLeader(),
      timestampMs: from.timestampMs,
      startOffset: this.#logStartOffset(),
    })
    return Math.min(found?.offset ?? Number.POSITIVE_INFINITY, this.#highWatermark())
  }

  /** Records from `offset` on, or undefined when it was worth waiting and trying again. */
  async read(offset: number): Promise<Chunk | undefined> {
    await this.#findLeader()
    const highWatermark = this.#highWatermark()
    this.#assertWithin(offset)
    if (offset >= highWatermark) {
      await this.#waitBeyond(offset)
      return undefined
    }
    const maxBytes = this.#chunk.bytes
    const memory = batchMemory(new ArrayBuffer(maxBytes))
    const reader = this.#readerOfLeader()
    let bytes: number
    try {
      bytes = await reader.read(offset, highWatermark, maxBytes, memory, 0)
    } catch (error) {
      // The leader moved between the look and the read, and its files were cut: look again.
      if (isTidemarkError(error) && this.#parts.board.leader(this.#parts.index) !== this.#leader) {
        return undefined
      }
      if (isTidemarkError(error, 'RECORD_TOO_LARGE') && this.#chunk.grow()) return undefined
      throw error
    }
    this.#chunk.filled(bytes)
    return this.#checked(memory, bytes, offset)
  }

  async close(): Promise<void> {
    await this.#reader?.close()
    this.#reader = undefined
  }

  #checked(memory: BatchMemory, bytes: number, from: number): Chunk {
    const all = this.#positions
    const count = batchPositions(memory, 0, bytes, all)
    for (let at = 0; at < count; at++) {
      const fault = checkBatch(memory, all[at], bytes - all[at])
      if (fault === undefined) continue
      const { topic, partition } = this.#parts.options
      const detail = `${partitionName(topic, partition)}: batch at or after offset ${from}: ${fault}`
      throw new TidemarkError('CORRUPT_MESSAGE', detail)
    }
    return { ...memory, positions: all.subarray(0, count), from }
  }

  #highWatermark(): number {
    return this.#parts.board.highWatermark(this.#leader as BrokerId, this.#parts.index)
  }

  #logStartOffset(): number {
    return this.#parts.board.logStartOffset(this.#leader as BrokerId, this.#parts.index)
  }

  /**
   * Kafka: `UnifiedLog.read`. Between high watermark and log end there is nothing to see yet,
   * beyond there never was, and below the log start retention or a deletion came first.
   */
  #assertWithin(offset: number): void {
    const { board, index, options } = this.#parts
    const start = this.#logStartOffset()
    const end = board.logEndOffset(this.#leader as BrokerId, index)
    if (offset >= start && offset <= Math.max(end, this.#highWatermark())) return
    // Of a leader that doesn't lead yet, or not any more, nothing of this is known.
    if (this.#leader < 1 || board.leader(index) !== this.#leader) return
    if (board.ledEpoch(this.#leader as BrokerId, index) < 0) return
    const { topic, partition } = options
    throw new TidemarkError(
      'OFFSET_OUT_OF_RANGE',
      `${partitionName(topic, partition)}: offset ${offset}, the log holds ${start} to ${end}`,
    )
  }

  #directoryOfLeader(): string {
    const { topic, partition } = this.#parts.options
    const home = this.#parts.brokerDirectory(this.#leader as BrokerId)
    return path.join(home, partitionName(topic, partition))
  }

  async #findLeader(): Promise<void> {
    const { board, index, options } = this.#parts
    for (;;) {
      this.#assertOpen()
      const leader = board.leader(index)
      if (leader === this.#leader) return
      if (leader > 0) {
        await this.close()
        this.#leader = leader
        return
      }
      if (options.signal?.aborted === true) return
      await new Promise((resolve) => setTimeout(resolve, leaderRetryMs))
    }
  }

  #readerOfLeader(): AsyncSegmentReader {
    if (this.#reader !== undefined) return this.#reader
    this.#reader = AsyncSegmentReader.open(this.#directoryOfLeader())
    return this.#reader
  }

  /**
   * Until the high watermark passes `offset`, the leader changes, or the reader is told to stop.
   */
  async #waitBeyond(offset: number): Promise<void> {
    const { board, index, wakeLoop, watchWord, options } = this.#parts
    const { closed } = this.#parts
    const isOver = () => {
      if (options.signal?.aborted === true || closed.aborted) return true
      return board.leader(index) !== this.#leader || this.#highWatermark() > offset
    }
    Atomics.add(board.words, watchWord, 1)
    try {
      await new Promise<void>((resolve) => {
        const onWake = () => {
          if (!isOver()) return
          wakeLoop.remove(onWake)
          options.signal?.removeEventListener('abort', onWake)
          closed.removeEventListener('abort', onWake)
          resolve()
        }
        options.signal?.addEventListener('abort', onWake)
        closed.addEventListener('abort', onWake)
        wakeLoop.add(onWake)
        onWake()
      })
    } finally {
      Atomics.sub(board.words, watchWord, 1)
    }
  }

  #assertOpen(): void {
    if (!this.#parts.closed.aborted) return
    throw new TidemarkError('BROKER_CLOSED', 'the cluster is closed')
  }
}

function checkOptions({ from, until, readBytes }: ConsumeOptions): void {
  if (from !== undefined && !isPlace(from)) {
    const shown = typeof from === 'object' ? JSON.stringify(from) : from
    throw badOption('from', shown, 'an offset from 0, earliest, latest, { timestampMs }')
  }
  if (until !== undefined && !(until >= 0)) throw badOption('until', until, 'an offset from 0')
  const isSize =
    Number.isInteger(readBytes) && readBytes! >= 1 && readBytes! <= limits.batchBytesMax
  if (readBytes !== undefined && !isSize) {
    throw badOption('readBytes', readBytes, `a whole number from 1 to ${limits.batchBytesMax}`)
  }
}

function isPlace(from: NonNullable<ConsumeOptions['from']>): boolean {
  if (typeof from === 'number') return Number.isSafeInteger(from) && from >= 0
  if (typeof from === 'object') return from !== null && Number.isFinite(from.timestampMs)
  return from === 'earliest' || from === 'latest'
}

function badOption(name: string, value: unknown, allowed: string): TidemarkError {
  return new TidemarkError('INVALID_ARGUMENT', `${name} = ${String(value)}: ${allowed}`)
}
