/**
 * CatchUp: the way of a follower that the ring no longer serves. Partition by partition it reads
 * the leader's segment files, in bounded chunks and without the leader's thread, while the log end
 * offset keeps moving, until what passed by in the ring begins where the log ends. See
 * followed-partitions.ts for why the hand-over has neither gap nor duplicate.
 */
import path from 'node:path'
import { isTidemarkError, TidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { limits } from '../limits.ts'
import { batchPositions, checkBatch, leaderEpochAt, sizeInBytesAt } from '../log/batch-header.ts'
import { type BatchMemory, type BatchRun, batchMemory } from '../log/batch-memory.ts'
import { segmentBases } from '../log/file-names.ts'
import type { OpenFiles } from '../log/open-files.ts'
import { SegmentReader } from '../log/segment-reader.ts'
import type { BrokerTally } from './broker-tally.ts'
import type { FollowedPartitions } from './followed-partitions.ts'
import { type PartitionStore, partitionName } from './partition-store.ts'
import type { ProgressBoard } from './progress-board.ts'

const batchesPerReadMax = 16_384
const readersOpenMax = 256
/** How often a limited pass looks for partitions that the limit doesn't hold back. */
const inSyncScanMs = 10

export interface CatchUpParts {
  readonly brokerId: BrokerId
  readonly board: ProgressBoard
  readonly followed: FollowedPartitions
  readonly store: PartitionStore
  readonly tally: BrokerTally
  readonly files: OpenFiles
  /** Directory of a broker, by id. */
  readonly brokerDirectory: (broker: BrokerId) => string
  readonly config: {
    readonly 'catch.up.policy': 'smallest-lag-first' | 'round-robin'
    readonly 'catch.up.read.bytes': number
  }
  /** Whether this broker is in the committed ISR of a partition, as far as it knows. */
  readonly isInSync: (partition: PartitionIndex) => boolean
  /** Monotonic milliseconds, for the journal of reads only. */
  readonly stopwatchMs: () => number
}

/** One disk read and the append of what it brought: what a prediction is fitted from. */
export interface CatchUpRead {
  readonly atMs: number
  readonly bytes: number
  readonly tookMs: number
}

export class CatchUp {
  readonly #parts: CatchUpParts
  #memory: BatchMemory
  #run: BatchRun
  readonly #readers = new Map<PartitionIndex, SegmentReader>()
  #queue: PartitionIndex[] = []
  #journal: CatchUpRead[] = []
  #scanAtMs = 0

  constructor(parts: CatchUpParts) {
    this.#parts = parts
    const positions = new Int32Array(batchesPerReadMax)
    this.#memory = batchMemory(new ArrayBuffer(parts.config['catch.up.read.bytes']))
    this.#run = { memory: this.#memory, positions, count: 0 }
  }

  get hasWork(): boolean {
    return this.#queue.length > 0 || this.#parts.followed.behind.length > 0
  }

  takeJournal(): CatchUpRead[] {
    if (this.#journal.length === 0) return this.#journal
    return this.#journal.splice(0)
  }

  /**
   * One read of one partition.
   *
   * @param isLimited only of one in whose ISR this broker is: a limit must not drive a member out
   *   (KAFKA-4313)
   * @param report told each partition whose end moved
   * @returns bytes appended; 0: nothing to do at present
   */
  step(nowMs: number, isLimited: boolean, report: (partition: PartitionIndex) => void): number {
    const partition = this.#next()
    if (partition === undefined || (isLimited && !this.#preferInSync(nowMs))) return 0
    return this.#readLast(nowMs, report)
  }

  #readLast(nowMs: number, report: (partition: PartitionIndex) => void): number {
    const partition = this.#queue.at(-1)!
    const startedMs = this.#parts.stopwatchMs()
    const bytes = this.#readOnce(partition)
    if (bytes > 0) {
      report(partition)
      this.#journal.push({ atMs: nowMs, bytes, tookMs: this.#parts.stopwatchMs() - startedMs })
    }
    this.#requeue(partition, bytes)
    return bytes
  }

  /** Forgets where the files of a partition were; called when its leader changes. */
  forget(partition: PartitionIndex): void {
    this.#readers.get(partition)?.close()
    this.#readers.delete(partition)
  }

  close(): void {
    for (const reader of this.#readers.values()) reader.close()
    this.#readers.clear()
  }

  #isBehind(partition: PartitionIndex): boolean {
    const { followed, store } = this.#parts
    if (!followed.isFollowing(partition)) return false
    return store.log(partition).logEndOffset < followed.ringEndOffset[partition]!
  }

  #next(): PartitionIndex | undefined {
    while (this.#queue.length > 0) {
      const partition = this.#queue[this.#queue.length - 1]!
      if (this.#isBehind(partition)) return partition
      this.#queue.pop()
      this.forget(partition)
    }
    if (this.#parts.followed.behind.length === 0) return undefined
    this.#plan()
    return this.#queue.at(-1)
  }

  /** Brings a partition that is behind and in sync to the queue's end. False: there is none. */
  #preferInSync(nowMs: number): boolean {
    const { isInSync } = this.#parts
    if (isInSync(this.#queue.at(-1)!)) return true
    if (nowMs < this.#scanAtMs) return false
    this.#scanAtMs = nowMs + inSyncScanMs
    // Those that fell behind since the pass was planned: it may not end as long as the limit holds.
    this.#queue.unshift(...this.#parts.followed.takeBehind())
    const at = this.#queue.findIndex((each) => isInSync(each) && this.#isBehind(each))
    if (at < 0) return false
    this.#queue.push(...this.#queue.splice(at, 1))
    return true
  }

  /** Order of the pass: the queue is worked from its end. */
  #plan(): void {
    const { followed, store, config } = this.#parts
    const pass = followed.takeBehind().filter((partition) => this.#isBehind(partition))
    if (config['catch.up.policy'] === 'smallest-lag-first') {
      const lag = (partition: PartitionIndex) =>
        followed.ringEndOffset[partition]! - store.log(partition).logEndOffset
      const lags = new Map(pass.map((partition) => [partition, lag(partition)]))
      pass.sort((a, b) => lags.get(b)! - lags.get(a)! || b - a)
    } else pass.sort((a, b) => b - a)
    this.#queue = pass
  }

  #requeue(partition: PartitionIndex, bytes: number): void {
    const isBehind = this.#isBehind(partition)
    // Smallest lag first stays with a partition until it is done; round robin takes one chunk each.
    if (isBehind && bytes > 0 && this.#parts.config['catch.up.policy'] === 'smallest-lag-first')
      return
    this.#queue.pop()
    if (isBehind) this.#parts.followed.markBehind(partition)
    else this.forget(partition)
  }

  #readOnce(partition: PartitionIndex): number {
    const { followed, store, board, tally } = this.#parts
    const leader = followed.leader[partition]! as BrokerId
    const log = store.log(partition)
    try {
      // Noted before the read: bytes at or above it may be half written.
      const endOffset = board.logEndOffset(leader, partition)
      if (endOffset <= log.logEndOffset) return 0
      const reader = this.#reader(partition, leader)
      const memory = this.#memory
      const { length } = memory.bytes
      // Leader and follower roll at the same batches: the own end is a good guess at the place in
      // its file.
      const bytes =
        reader.place === undefined
          ? reader.readFrom(log.logEndOffset, log.endPosition, endOffset, length, memory, 0)
          : reader.read(log.logEndOffset, endOffset, length, memory, 0)
      tally.add('diskReads', 1)
      tally.add('diskReadBytes', bytes)
      return this.#append(partition, leader, bytes)
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      this.forget(partition)
      this.#onReadError(partition, leader, error)
      return 0
    }
  }

  /**
   * Bytes from disk are checked before anything of them is written; a torn or foreign batch ends
   * what is taken, the rest is read again (KAFKA-18723: nothing of a newer epoch than asked for
   * either).
   */
  #append(partition: PartitionIndex, leader: BrokerId, bytes: number): number {
    const { followed, store, tally } = this.#parts
    const epoch = followed.leaderEpoch[partition]!
    const found = batchPositions(this.#memory, 0, bytes, this.#run.positions)
    let count = 0
    let appended = 0
    while (count < found) {
      const position = this.#run.positions[count]!
      if (checkBatch(this.#memory, position, bytes - position) !== undefined) break
      if (leaderEpochAt(this.#memory, position) > epoch) break
      appended += sizeInBytesAt(this.#memory, position)
      count++
    }
    if (count === 0) throw new TidemarkError('CORRUPT_MESSAGE', `no whole batch for #${partition}`)
    this.#run.count = count
    store.appendReplicated(partition, this.#run, leader)
    tally.add('copiedBytes', appended)
    return appended
  }

  #onReadError(partition: PartitionIndex, leader: BrokerId, error: TidemarkError): void {
    const { followed, store } = this.#parts
    if (error.code === 'KAFKA_STORAGE_ERROR') {
      followed.fail(partition)
      store.noteFailure(partition, error)
    } else if (error.code === 'RECORD_TOO_LARGE') this.#growTo(this.#memory.bytes.length * 2)
    else if (error.code === 'OFFSET_OUT_OF_RANGE') this.#startOver(partition, leader)
  }

  /** A single batch is larger than a read; batches have a bound, so this ends. */
  #growTo(bytes: number): void {
    if (bytes > 2 * limits.batchBytesMax) return
    this.#memory = batchMemory(new ArrayBuffer(bytes))
    this.#run = { memory: this.#memory, positions: this.#run.positions, count: 0 }
  }

  /** The leader's log begins after our end: nothing of ours is left there to go on from. */
  #startOver(partition: PartitionIndex, leader: BrokerId): void {
    const { store, files } = this.#parts
    const [first] = segmentBases(files.fs.list(this.#directory(partition, leader)) ?? [])
    if (first === undefined || first <= store.log(partition).logEndOffset) return
    store.truncateFullyAndStartAt(partition, first)
  }

  #directory(partition: PartitionIndex, leader: BrokerId): string {
    const { topic, partition: number } = this.#parts.store.stored(partition)
    return path.join(this.#parts.brokerDirectory(leader), partitionName(topic, number))
  }

  #reader(partition: PartitionIndex, leader: BrokerId): SegmentReader {
    let reader = this.#readers.get(partition)
    if (reader !== undefined) return reader
    if (this.#readers.size >= readersOpenMax) {
      for (const [oldest] of this.#readers) {
        this.forget(oldest)
        break
      }
    }
    const directory = this.#directory(partition, leader)
    reader = SegmentReader.open(directory, { files: this.#parts.files })
    this.#readers.set(partition, reader)
    return reader
  }
}
