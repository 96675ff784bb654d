/**
 * LeaderFiles: a follower's reads of its leaders' segment files, one bounded chunk at a time,
 * checked batch by batch before anything of it is appended. Where the leader's log no longer holds
 * what comes next, the own log starts over at the leader's beginning.
 */
import path from 'node:path'
import { TidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { limits } from '../limits.ts'
import {
  baseOffsetAt,
  batchPositions,
  checkBatch,
  leaderEpochAt,
  nextOffsetAt,
  sizeInBytesAt,
} from '../log/batch-header.ts'
import { type BatchMemory, type BatchRun, batchMemory } from '../log/batch-memory.ts'
import type { OpenFiles } from '../log/open-files.ts'
import type { SegmentPosition } from '../log/read-plan.ts'
import { SegmentReader } from '../log/segment-reader.ts'
import type { BrokerTally } from './broker-tally.ts'
import type { FollowedPartitions } from './followed-partitions.ts'
import type { LeaderOffsets } from './leader-offsets.ts'
import { type PartitionStore, partitionName } from './partition-store.ts'
import type { ProgressBoard } from './progress-board.ts'

const batchesPerReadMax = 16_384
const readersOpenMax = 256

export interface LeaderFilesParts {
  readonly board: ProgressBoard
  readonly followed: FollowedPartitions
  readonly store: PartitionStore
  readonly offsets: LeaderOffsets
  readonly tally: BrokerTally
  readonly files: OpenFiles
  /** Directory of a broker, by id. */
  readonly brokerDirectory: (broker: BrokerId) => string
  readonly readBytes: number
}

interface LeaderLog {
  readonly reader: SegmentReader
  /** Where what comes next lies; undefined: not known. */
  next: SegmentPosition | undefined
}

export class LeaderFiles {
  readonly #parts: LeaderFilesParts
  #memory: BatchMemory
  #run: BatchRun
  readonly #logs = new Map<PartitionIndex, LeaderLog>()
  /** Of the last read. */
  #readBytes = 0
  #endOffset = 0

  constructor(parts: LeaderFilesParts) {
    this.#parts = parts
    const positions = new Int32Array(batchesPerReadMax)
    this.#memory = batchMemory(new ArrayBuffer(parts.readBytes))
    this.#run = { memory: this.#memory, positions, count: 0 }
  }

  /**
   * Reads from the own log's end on, at most up to the leader's, into memory.
   *
   * @returns bytes read; 0: the leader has nothing more
   * @throws {TidemarkError} OFFSET_OUT_OF_RANGE, CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR of the
   *   leader's disk, RECORD_TOO_LARGE after which `grow` may help
   */
  read(partition: PartitionIndex, leader: BrokerId): number {
    const { store, board, tally } = this.#parts
    const log = store.log(partition)
    // Noted before the read: bytes at or above it may be half written.
    const endOffset = board.logEndOffset(leader, partition)
    if (endOffset <= log.logEndOffset) return 0
    const source = this.#log(partition, leader)
    const memory = this.#memory
    // Leader and follower roll at the same batches: the own end is a good guess at the place in
    // its file.
    const place = source.next ?? log.endPosition
    source.next = undefined
    const { length } = memory.bytes
    const { reader } = source
    const bytes = reader.readFrom(log.logEndOffset, place, endOffset, length, memory, 0)
    this.#readBytes = bytes
    this.#endOffset = endOffset
    tally.add('diskReads', 1)
    tally.add('diskReadBytes', bytes)
    this.#check(partition, bytes)
    return bytes
  }

  /** Whether the last read came to the leader's end and brought enough without its last batch. */
  get canLeaveLast(): boolean {
    const { count, positions } = this.#run
    const bytesMin = this.#memory.bytes.length * limits.catchUpSmallReadShare
    if (count < 2 || this.#readBytes < bytesMin) return false
    return nextOffsetAt(this.#memory, positions[count - 1]!) === this.#endOffset
  }

  /**
   * Appends what `read` has brought, all of it or all but the last batch.
   *
   * @returns bytes appended
   * @throws {TidemarkError} what `PartitionLog.appendReplicated` throws
   */
  append(partition: PartitionIndex, leader: BrokerId, leavesLast: boolean): number {
    const { store, offsets, tally } = this.#parts
    if (leavesLast) this.#run.count -= 1
    this.#beginWithin(partition)
    // What the leader has compacted is missing from its files.
    store.appendReplicated(partition, this.#run, 'allowed')
    offsets.follow(partition, leader)
    const last = this.#run.positions[this.#run.count - 1]!
    const appended = last + sizeInBytesAt(this.#memory, last)
    this.#noteNext(partition, appended)
    tally.add('copiedBytes', appended)
    return appended
  }

  #noteNext(partition: PartitionIndex, appended: number): void {
    const source = this.#logs.get(partition)
    const place = source?.reader.place
    if (source === undefined || place === undefined) return
    const position = place.position - (this.#readBytes - appended)
    source.next = { segmentBase: place.segmentBase, position }
  }

  /**
   * The leader's log begins after our end: nothing of ours is left there to go on from (Kafka:
   * `AbstractFetcherThread.fetchOffsetAndTruncate`).
   *
   * @returns whether the own log was emptied
   */
  startOver(partition: PartitionIndex, leader: BrokerId): boolean {
    const { store, board } = this.#parts
    const logStartOffset = board.logStartOffset(leader, partition)
    if (logStartOffset <= store.log(partition).logEndOffset) return false
    this.forget(partition)
    store.truncateFullyAndStartAt(partition, logStartOffset)
    return true
  }

  /** A single batch is larger than a read. Batches have a bound. @returns whether there is more */
  grow(): boolean {
    const bytes = this.#memory.bytes.length * 2
    if (bytes > 2 * limits.batchBytesMax) return false
    this.#memory = batchMemory(new ArrayBuffer(bytes))
    this.#run = { memory: this.#memory, positions: this.#run.positions, count: 0 }
    return true
  }

  /** Forgets where the files of a partition were; called when its leader changes. */
  forget(partition: PartitionIndex): void {
    this.#logs.get(partition)?.reader.close()
    this.#logs.delete(partition)
  }

  close(): void {
    for (const { reader } of this.#logs.values()) reader.close()
    this.#logs.clear()
  }

  /**
   * Bytes from disk are checked before anything of them is written; a torn or foreign batch ends
   * what is taken, the rest is read again (KAFKA-18723: nothing of a newer epoch than asked for
   * either).
   */
  #check(partition: PartitionIndex, bytes: number): void {
    const epoch = this.#parts.followed.leaderEpoch[partition]!
    const found = batchPositions(this.#memory, 0, bytes, this.#run.positions)
    let count = 0
    while (count < found) {
      const position = this.#run.positions[count]!
      if (checkBatch(this.#memory, position, bytes - position) !== undefined) break
      if (leaderEpochAt(this.#memory, position) > epoch) break
      count++
    }
    this.#run.count = count
    if (count > 0) return
    const { logEndOffset } = this.#parts.store.log(partition)
    const detail = `no whole batch at offset ${logEndOffset} of partition #${partition}`
    throw new TidemarkError('CORRUPT_MESSAGE', detail)
  }

  /**
   * The leader's log may start within a batch. An empty log then takes the whole batch and starts
   * where that does, until it follows the leader's start (Kafka: `Partition
   * .appendRecordsToFollowerOrFutureReplica`).
   */
  #beginWithin(partition: PartitionIndex): void {
    const { store } = this.#parts
    const { logStartOffset, logEndOffset } = store.log(partition)
    if (logStartOffset !== logEndOffset) return
    const first = this.#run.positions[0]!
    const baseOffset = baseOffsetAt(this.#memory, first)
    if (baseOffset >= logEndOffset || nextOffsetAt(this.#memory, first) <= logEndOffset) return
    store.truncateFullyAndStartAt(partition, baseOffset)
  }

  #log(partition: PartitionIndex, leader: BrokerId): LeaderLog {
    let source = this.#logs.get(partition)
    if (source !== undefined) return source
    if (this.#logs.size >= readersOpenMax) {
      for (const [oldest] of this.#logs) {
        this.forget(oldest)
        break
      }
    }
    const { topic, partition: number } = this.#parts.store.stored(partition)
    const directory = path.join(this.#parts.brokerDirectory(leader), partitionName(topic, number))
    const reader = SegmentReader.open(directory, { files: this.#parts.files })
    source = { reader, next: undefined }
    this.#logs.set(partition, source)
    return source
  }
}
