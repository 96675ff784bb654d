/**
 * LoadGenerator: sends batches by a schedule (open loop) or as fast as they are answered (closed
 * loop), one partition after the other, and writes everything down in its ledger. No thread of its
 * own: `step`.
 *
 * Open loop: a batch's time is fixed before the run; when the ring is full or a leader is away,
 * batches wait and are sent late, and their latency counts from when they were meant to be sent.
 */
import type { Clock } from '../clock.ts'
import { errorCodeOf } from '../errors.ts'
import type { PartitionIndex } from '../ids.ts'
import { BatchEncoder } from '../log/batch-encoder.ts'
import { recordCountAt } from '../log/batch-header.ts'
import { batchField } from '../log/batch-layout.ts'
import type { RingProducer } from '../workers/ring-producer.ts'
import type { BatchSource } from './batch-source.ts'
import { type LoadLedger, ledgerStatus } from './load-ledger.ts'
import type { ArrivalSchedule } from './rate-schedule.ts'

export interface LoadGeneratorParts {
  readonly producer: RingProducer
  readonly partitions: readonly PartitionIndex[]
  readonly source: BatchSource
  readonly ledger: LoadLedger
  readonly clock: Clock
  /** Undefined: closed loop. */
  readonly schedule: ArrivalSchedule | undefined
  /** Bytes a batch may take in the ring. */
  readonly claimBytes: number
  readonly compression: 'none' | 'lz4'
  readonly acks: -1 | 0 | 1
  readonly requestTimeoutMs: number
  /** Closed loop: bytes that may be unanswered. More in flight only waits longer. */
  readonly inFlightBytesMax: number
  /** Bytes of batches after which a round ends by itself. */
  readonly roundBytesMax: number
}

interface DeferredBatch {
  readonly partition: PartitionIndex
  readonly intendedMs: number
}

/** Batches handed over in one step before acknowledgements are looked at. */
const batchesPerStepMax = 32
/**
 * Batches kept back for leaders whose ring is full or that are away; beyond it the schedule stands
 * still.
 */
const deferredMax = 262_144
const outcomeUnknown = new Set([
  'REQUEST_TIMED_OUT',
  'NETWORK_EXCEPTION',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'UNKNOWN_SERVER_ERROR',
])

export class LoadGenerator {
  readonly #parts: LoadGeneratorParts
  readonly #encoder = new BatchEncoder()
  readonly #onAcknowledged: (ticket: number, error: number, baseOffset: number) => void
  #startMs = 0
  /** Batches of the schedule that were taken up, whether sent or deferred. */
  #scheduled = 0
  #nextPartition = 0
  #inFlightBytes = 0
  #sentBytes = 0
  /**
   * Batches that were due and could not be sent, by leader: one that stands must not hold up the
   * others.
   */
  readonly #deferred = new Map<number, DeferredBatch[]>()
  #deferredCount = 0
  #failure: string | undefined

  constructor(parts: LoadGeneratorParts) {
    this.#parts = parts
    this.#onAcknowledged = (ticket, error, baseOffset) => {
      this.#acknowledged(ticket, error, baseOffset)
    }
  }

  /** Error that ends the run, a full disk for example. */
  get failure(): string | undefined {
    return this.#failure
  }

  /** The round has sent all it may, or the ledger is full. */
  get isFinished(): boolean {
    const { ledger, roundBytesMax } = this.#parts
    return this.#sentBytes >= roundBytesMax || ledger.count >= ledger.capacity
  }

  get outstanding(): number {
    return this.#parts.producer.outstanding
  }

  /** Begins a round: the schedule counts from now, and what an earlier one left undone stays so. */
  start(): void {
    this.#deferred.clear()
    this.#deferredCount = 0
    this.#startMs = this.#parts.clock.nowMs()
    this.#scheduled = 0
    this.#sentBytes = 0
  }

  /** Takes in answers. @returns how many */
  poll(): number {
    return this.#parts.producer.poll(this.#onAcknowledged)
  }

  /** Hands over what is due. @returns batches handed over */
  send(): number {
    if (this.isFinished) return 0
    return this.#parts.schedule === undefined
      ? this.#sendClosed()
      : this.#sendDue(this.#parts.schedule)
  }

  /** Milliseconds until the next batch is due; the time of a closed loop is not its own. */
  idleMs(): number {
    const { schedule, clock } = this.#parts
    if (schedule === undefined || this.isFinished) return 20
    if (this.#deferredCount > 0) return 1
    const dueMs = this.#startMs + schedule.intendedTimeMs(this.#scheduled) - clock.nowMs()
    return Math.max(0, Math.min(20, dueMs))
  }

  #sendClosed(): number {
    const { clock, inFlightBytesMax } = this.#parts
    let sent = 0
    while (sent < batchesPerStepMax && this.#inFlightBytes < inFlightBytesMax && !this.isFinished) {
      if (!this.#trySend(this.#partition(), clock.nowMs())) break
      this.#nextPartition++
      sent++
    }
    return sent
  }

  #sendDue(schedule: ArrivalSchedule): number {
    const { clock } = this.#parts
    let sent = this.#sendDeferred()
    const due = schedule.dueCount(clock.nowMs() - this.#startMs)
    while (sent < batchesPerStepMax && this.#scheduled < due && !this.isFinished) {
      const intendedMs = this.#startMs + schedule.intendedTimeMs(this.#scheduled)
      const partition = this.#partition()
      const leader = this.#parts.producer.leaderOf(partition)
      const isWaiting = this.#deferred.has(leader)
      if (!isWaiting && this.#trySend(partition, intendedMs)) sent++
      else if (this.#deferredCount < deferredMax) this.#defer(leader, { partition, intendedMs })
      else break
      this.#scheduled++
      this.#nextPartition++
    }
    return sent
  }

  #defer(leader: number, batch: DeferredBatch): void {
    const queue = this.#deferred.get(leader)
    if (queue === undefined) this.#deferred.set(leader, [batch])
    else queue.push(batch)
    this.#deferredCount++
  }

  #sendDeferred(): number {
    let sent = 0
    for (const [leader, queue] of this.#deferred) {
      let done = 0
      while (done < queue.length && sent < batchesPerStepMax) {
        const { partition, intendedMs } = queue[done]
        if (!this.#trySend(partition, intendedMs)) break
        done++
        sent++
      }
      this.#deferredCount -= done
      if (done === queue.length) this.#deferred.delete(leader)
      else if (done > 0) queue.splice(0, done)
    }
    return sent
  }

  #partition(): PartitionIndex {
    const { partitions } = this.#parts
    return partitions[this.#nextPartition % partitions.length]
  }

  #trySend(partition: PartitionIndex, intendedMs: number): boolean {
    const { producer, source, ledger, claimBytes, compression, acks, requestTimeoutMs } =
      this.#parts
    if (producer.tryClaim(partition, claimBytes) !== 'claimed') return false
    const memory = producer.claimMemory
    const position = producer.claimPosition
    this.#encoder.begin(memory, position, claimBytes, { compression })
    const payloadBytes = source.fill(this.#encoder, intendedMs)
    const bytes = this.#encoder.finish()
    const row = ledger.count
    ledger.partition[row] = partition
    ledger.recordCount[row] = recordCountAt(memory, position)
    ledger.batchBytes[row] = bytes
    ledger.payloadBytes[row] = payloadBytes
    ledger.crc[row] = memory.view.getInt32(position + batchField.crc)
    ledger.intendedMs[row] = intendedMs
    ledger.sentMs[row] = this.#parts.clock.nowMs()
    ledger.baseOffset[row] = -1
    ledger.status[row] = acks === 0 ? ledgerStatus.unknown : ledgerStatus.pending
    ledger.count = row + 1
    this.#sentBytes += bytes
    if (acks !== 0) this.#inFlightBytes += bytes
    // Tickets are counted from 0 by commit, as rows are: the one is the other.
    producer.commit(partition, bytes, acks, requestTimeoutMs)
    return true
  }

  #acknowledged(row: number, error: number, baseOffset: number): void {
    const { ledger, clock } = this.#parts
    this.#inFlightBytes -= ledger.batchBytes[row]
    ledger.answeredMs[row] = clock.nowMs()
    ledger.baseOffset[row] = baseOffset
    if (error === 0) ledger.status[row] = ledgerStatus.acknowledged
    else {
      const code = errorCodeOf(error)
      // A leader that leads no more may have appended it, and others may have it.
      const isUnknown = outcomeUnknown.has(code) || baseOffset >= 0
      ledger.status[row] = isUnknown ? ledgerStatus.unknown : ledgerStatus.refused
      if (code === 'KAFKA_STORAGE_ERROR') this.#failure = code
    }
    ledger.answeredCount++
  }
}
