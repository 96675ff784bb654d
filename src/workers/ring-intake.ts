/**
 * RingIntake: the leader's way of a batch. Committed frames are taken in ring order, admitted or
 * refused one by one, grouped by partition, stamped and appended with one write a partition and
 * round, and then published to the followers by one store.
 *
 * Order: the log first, then the end offset's word, then `publish`. A follower that reads a frame,
 * from the ring or from the leader's segment files, never sees a byte that is not in the leader's
 * log.
 */
import { errorNumber, isTidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { limits } from '../limits.ts'
import { lacksKey } from '../log/append-doors.ts'
import {
  baseOffsetAt,
  checkBatch,
  nextOffsetAt,
  recordCountAt,
  sizeInBytesAt,
} from '../log/batch-header.ts'
import type { BatchMemory } from '../log/batch-memory.ts'
import { clientBatchFault } from '../log/producers/producer-rules.ts'
import type { PartitionLeaders } from '../replication/partition-leaders.ts'
import type { Acknowledger } from './acknowledger.ts'
import { type BatchRing, frame, frameAccepted, frameRejected } from './batch-ring.ts'
import type { BrokerTally } from './broker-tally.ts'
import { FrameGroups } from './frame-groups.ts'
import { FrameOutcomes } from './frame-outcomes.ts'
import type { PartitionStore } from './partition-store.ts'
import type { ProgressBoard } from './progress-board.ts'
import { storeSettled } from './shared-words.ts'

const notLeader = errorNumber('NOT_LEADER_OR_FOLLOWER')
const unknownPartition = errorNumber('UNKNOWN_TOPIC_OR_PARTITION')
const corrupt = errorNumber('CORRUPT_MESSAGE')
const tooLarge = errorNumber('RECORD_TOO_LARGE')
const listTooLarge = errorNumber('RECORD_LIST_TOO_LARGE')
const invalidRecord = errorNumber('INVALID_RECORD')
const invalidAcks = errorNumber('INVALID_REQUIRED_ACKS')
const storageError = errorNumber('KAFKA_STORAGE_ERROR')

export interface RingIntakeParts {
  readonly brokerId: BrokerId
  readonly board: ProgressBoard
  readonly ring: BatchRing
  readonly leaders: PartitionLeaders
  readonly store: PartitionStore
  readonly acknowledger: Acknowledger
  readonly tally: BrokerTally
}

export class RingIntake {
  readonly #parts: RingIntakeParts
  #consumed: number
  readonly #groups: FrameGroups
  #outcomes: FrameOutcomes

  constructor(parts: RingIntakeParts) {
    this.#parts = parts
    this.#consumed = parts.ring.published
    this.#groups = new FrameGroups(parts.ring, parts.board.shape.partitionsMax)
    this.#outcomes = new FrameOutcomes(this.#groups.capacity)
  }

  /** Bytes of the batches that the last round took. */
  takenBytes = 0

  /** One round, at most `limits.leaderRoundBytesMax`. @returns frames taken, padding included */
  take(nowMs: number): number {
    const { ring } = this.#parts
    let position = this.#consumed
    let bytes = 0
    let taken = 0
    this.#groups.begin()
    while (!this.#groups.isFull && bytes < limits.leaderRoundBytesMax) {
      const units = ring.stateAt(position)
      if (units === 0) break
      if (units > 0) bytes += this.#takeFrame(position, units)
      position = (position + Math.abs(units)) | 0
      taken++
    }
    this.takenBytes = bytes
    if (taken === 0) return 0
    const { groupCount, capacity } = this.#groups
    // Nothing is kept from round to round.
    if (capacity > this.#outcomes.capacity) this.#outcomes = new FrameOutcomes(capacity)
    for (let group = 0; group < groupCount; group++) this.#appendGroup(group)
    for (let group = 0; group < groupCount; group++) this.#commitGroup(group, nowMs)
    this.#consumed = position
    ring.publish(position)
    return taken
  }

  #takeFrame(position: number, units: number): number {
    const { ring, tally } = this.#parts
    const header = ring.headerIndex(position)
    const error = this.#refusal(position, header, units)
    if (error !== 0) {
      this.#reject(header, error)
      tally.add('rejectedBatches', 1)
      return 0
    }
    this.#groups.add(ring.headers[header + frame.partition]! as PartitionIndex, position)
    return ring.headers[header + frame.batchBytes]!
  }

  /**
   * Why the frame is refused, as an error number; 0: admitted. Kafka:
   * `Partition.appendRecordsToLeader`.
   */
  #refusal(position: number, header: number, units: number): number {
    const { ring, leaders, store, board } = this.#parts
    const partition = ring.headers[header + frame.partition]! as PartitionIndex
    const batchBytes = ring.headers[header + frame.batchBytes]!
    const acks = ring.headers[header + frame.acks]!
    if (acks < -1 || acks > 1) return invalidAcks
    if (partition < 0 || partition >= board.shape.partitionsMax) return unknownPartition
    if (!leaders.isLeader(partition)) return notLeader
    const at = ring.batchPosition(position)
    if (batchBytes <= 0 || batchBytes > (units - 1) * 64) return corrupt
    if (batchBytes > store.batchBytesMax(partition)) return tooLarge
    // Here, since the log refuses a whole group, and others' batches are in it.
    if (batchBytes > store.log(partition).config.segmentBytes) return listTooLarge
    const refused = leaders.admission(partition, acks as -1 | 0 | 1)
    if (refused !== 0) return refused
    if (checkBatch(ring.memory, at, batchBytes) !== undefined) return corrupt
    if (sizeInBytesAt(ring.memory, at) !== batchBytes) return corrupt
    if (clientBatchFault(ring.memory, at) !== undefined) return invalidRecord
    return store.log(partition).config.compacts ? keysRefusal(ring.memory, at) : 0
  }

  #appendGroup(group: number): void {
    const { leaders, store } = this.#parts
    const partition = this.#groups.partition(group)
    this.#outcomes.setRefused(group, false)
    try {
      const run = this.#groups.select(group)
      store.log(partition).append(run, leaders.leaderEpoch(partition), this.#outcomes.ofGroup)
      this.#outcomes.keep(this.#groups, group)
    } catch (error) {
      this.#failGroup(group, error)
    }
  }

  /**
   * After all appends of the round: nothing of it is answered, or shown to a follower, before it is
   * on disk, if the topic says so.
   */
  #commitGroup(group: number, nowMs: number): void {
    if (this.#outcomes.isRefused(group)) return
    const { leaders, store, board, brokerId } = this.#parts
    const partition = this.#groups.partition(group)
    const epoch = leaders.leaderEpoch(partition)
    const log = store.log(partition)
    try {
      log.commit()
    } catch (error) {
      this.#failGroup(group, error)
      return
    }
    const groups = this.#groups
    const isPlain = this.#outcomes.isPlain(group)
    let accepted = 0
    for (let at = groups.first(group); at >= 0; at = groups.next(at)) {
      if (!isPlain && this.#answerUnwritten(at, partition, nowMs)) continue
      this.#accept(groups.position(at), partition, epoch, nowMs)
      accepted += 1
    }
    // Of duplicates alone the log didn't grow.
    if (accepted === 0) return
    board.setLogEndOffset(brokerId, partition, log.logEndOffset)
    leaders.appended(partition, log.logEndOffset, nowMs)
  }

  #failGroup(group: number, error: unknown): void {
    if (!isTidemarkError(error)) throw error
    this.#outcomes.setRefused(group, true)
    this.#rejectGroup(group, error.number)
    const partition = this.#groups.partition(group)
    if (error.number === storageError) this.#parts.store.noteFailure(partition, error)
  }

  #accept(position: number, partition: PartitionIndex, epoch: number, nowMs: number): void {
    const { ring, tally } = this.#parts
    const { headers } = ring
    const header = ring.headerIndex(position)
    const at = ring.batchPosition(position)
    const baseOffset = baseOffsetAt(ring.memory, at)
    const endOffset = nextOffsetAt(ring.memory, at)
    headers[header + frame.status] = frameAccepted
    headers[header + frame.leaderEpoch] = epoch
    storeSettled(headers, header + frame.baseOffset, baseOffset)
    storeSettled(headers, header + frame.endOffset, endOffset)
    tally.add('appendedBytes', headers[header + frame.batchBytes]!)
    tally.add('appendedBatches', 1)
    tally.add('appendedRecords', recordCountAt(ring.memory, at))
    this.#answer(header, partition, baseOffset, endOffset, nowMs)
  }

  /** Whether the frame is not in the log, as a batch of a producer that was refused or is known. */
  #answerUnwritten(at: number, partition: PartitionIndex, nowMs: number): boolean {
    const { ring, tally } = this.#parts
    const header = ring.headerIndex(this.#groups.position(at))
    const error = this.#outcomes.error(at)
    if (error !== 0) {
      this.#reject(header, error)
      tally.add('rejectedBatches', 1)
      return true
    }
    if (!this.#outcomes.isDuplicate(at)) return false
    // Followers have the batch, or will have it: this copy is none of theirs.
    ring.headers[header + frame.status] = frameRejected
    const baseOffset = this.#outcomes.baseOffset(at)
    this.#answer(header, partition, baseOffset, this.#outcomes.endOffset(at), nowMs)
    return true
  }

  #answer(
    header: number,
    partition: PartitionIndex,
    baseOffset: number,
    endOffset: number,
    nowMs: number,
  ): void {
    const { ring, leaders, acknowledger } = this.#parts
    const { headers } = ring
    const acks = headers[header + frame.acks]!
    if (acks === 0) return
    const slot = headers[header + frame.producerSlot]!
    const ticket = headers[header + frame.ticket]!
    if (acks === 1) acknowledger.acknowledge(slot, ticket, 0, baseOffset)
    else {
      const deadlineMs = nowMs + headers[header + frame.timeoutMs]!
      leaders.wait(partition, endOffset, slot, ticket, deadlineMs, baseOffset)
    }
  }

  #rejectGroup(group: number, error: number): void {
    const groups = this.#groups
    for (let at = groups.first(group); at >= 0; at = groups.next(at)) {
      this.#reject(this.#parts.ring.headerIndex(groups.position(at)), error)
    }
  }

  #reject(header: number, error: number): void {
    const { headers } = this.#parts.ring
    headers[header + frame.status] = frameRejected
    if (headers[header + frame.acks] === 0) return
    const slot = headers[header + frame.producerSlot]!
    this.#parts.acknowledger.acknowledge(slot, headers[header + frame.ticket]!, error, -1)
  }
}

/** Of a batch for a compacted log, before it is with others in a group. */
function keysRefusal(memory: BatchMemory, position: number): number {
  try {
    return lacksKey(memory, position) ? invalidRecord : 0
  } catch (error) {
    if (isTidemarkError(error)) return error.number
    throw error
  }
}
