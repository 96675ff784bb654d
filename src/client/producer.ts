/**
 * Producer: records to batches to the leaders' rings, and promises completed from shared memory.
 * Records are held by reference until their batch is full or its linger is over; then they are
 * encoded once, straight into the ring.
 *
 * Order: records of one partition are appended in the order of `send`, and once each. Without
 * idempotence a batch that had to be sent again may come behind a later one that was accepted.
 */
import { errorCodeOf, isTidemarkError, TidemarkError } from '../errors.ts'
import type { PartitionIndex } from '../ids.ts'
import { invariant } from '../invariant.ts'
import { BatchEncoder } from '../log/batch-encoder.ts'
import { batchOverheadBytes } from '../log/batch-layout.ts'
import type { ProduceRecord } from '../log/record.ts'
import { toProduceRecord } from '../log/record-input.ts'
import type { RingProducer } from '../workers/ring-producer.ts'
import { partitionForKey } from './partitioner.ts'
import {
  type Batch,
  isNotAppended,
  mayComeAgain,
  newBatch,
  type Pending,
  sizeAfter,
} from './producer-batch.ts'
import { checkedProducerOptions, type ProducerOptions } from './producer-options.ts'
import { type SendRecord, sizeInBatch } from './producer-record.ts'
import { ProducerSequences } from './producer-sequences.ts'
import type { WakeLoop } from './wake-loop.ts'

export interface RecordMetadata {
  readonly topic: string
  readonly partition: number
  /** -1 with acks 0: not known. */
  readonly offset: number
  readonly timestampMs: number
}

/** Where a topic's partitions are; undefined for a topic that does not exist. */
export type TopicLookup = (topic: string) => readonly PartitionIndex[] | undefined

const retryBackoffMs = 20
const recordOverheadBytes = 32

export class Producer {
  readonly #ring: RingProducer
  readonly #wakeLoop: WakeLoop
  readonly #lookup: TopicLookup
  readonly #nowMs: () => number
  readonly #options: Required<ProducerOptions>
  /** Of an idempotent producer. */
  readonly #sequences: ProducerSequences | undefined
  readonly #encoder = new BatchEncoder()
  /** Batches not handed over yet, by partition, in order; the last one may still take records. */
  readonly #queues = new Map<PartitionIndex, Batch[]>()
  readonly #inFlight = new Map<number, Batch>()
  readonly #roomWaiters: (() => void)[] = []
  readonly #nextPartition = new Map<string, number>()
  readonly #onWake = () => this.#progress()
  readonly #poll: () => void
  readonly #release: () => void
  #bufferedBytes = 0
  #batches = 0
  #timer: NodeJS.Timeout | undefined
  #isTicking = false
  /** `send` is refused from the first moment of `close`. */
  #isClosing = false
  #isClosed = false

  /** Made by `Cluster.producer`. */
  constructor(parts: {
    readonly ring: RingProducer
    readonly wakeLoop: WakeLoop
    readonly lookup: TopicLookup
    readonly nowMs: () => number
    /** Takes in this thread's acknowledgements and hands each to its producer. */
    readonly poll: () => void
    /** A producer id of its own. */
    readonly producerId: () => Promise<number>
    readonly options: ProducerOptions
    readonly onClosed: () => void
  }) {
    this.#ring = parts.ring
    this.#wakeLoop = parts.wakeLoop
    this.#lookup = parts.lookup
    this.#nowMs = parts.nowMs
    this.#poll = parts.poll
    this.#release = parts.onClosed
    this.#options = checkedProducerOptions(parts.options, parts.ring.batchBytesMax)
    if (!this.#options.idempotent) return
    this.#sequences = new ProducerSequences()
    void this.#takeProducerId(this.#sequences, parts.producerId)
  }

  /**
   * Sends one record.
   *
   * @throws {TidemarkError} UNKNOWN_TOPIC_OR_PARTITION, RECORD_TOO_LARGE, INVALID_RECORD at once;
   *   what the leader answers; REQUEST_TIMED_OUT and NETWORK_EXCEPTION when the outcome is unknown;
   *   BROKER_CLOSED
   */
  async send(input: SendRecord): Promise<RecordMetadata> {
    const record = toProduceRecord(input, this.#nowMs())
    while (this.#bufferedBytes >= this.#options.bufferBytes && !this.#isClosing) {
      await new Promise<void>((resolve) => this.#roomWaiters.push(resolve))
    }
    if (this.#isClosing) throw new TidemarkError('BROKER_CLOSED', 'the producer is closed')
    const { partition, index } = this.#place(input, record)
    const bytes = batchOverheadBytes + sizeInBatch(record, 0, record.timestampMs)
    if (bytes > this.#ring.batchBytesMax) {
      const detail = `record of ${bytes} bytes: at most ${this.#ring.batchBytesMax}`
      throw new TidemarkError('RECORD_TOO_LARGE', detail)
    }
    return new Promise((resolve, reject) => {
      this.#enqueue(input.topic, partition, index, { record, resolve, reject })
    })
  }

  /** Sends what is waiting and resolves when everything sent so far has been answered. */
  async flush(): Promise<void> {
    const queued = [...this.#queues.values()].flat()
    const batches = [...this.#inFlight.values(), ...queued]
    for (const batch of queued) if (!batch.isSealed) batch.dueAtMs = 0
    this.#progress()
    while (batches.some(({ isSettled }) => !isSettled)) {
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  /** Flushes and closes; calls of `send` that come later, or wait for room, are refused. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#wakeRoomWaiters()
    await this.flush()
    this.abort()
  }

  /** Closes at once: whatever is unanswered fails with BROKER_CLOSED. */
  abort(): void {
    if (this.#isClosed) return
    this.#isClosing = true
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#wakeLoop.remove(this.#onWake)
    const error = new TidemarkError('BROKER_CLOSED', 'the producer is closed')
    const batches = [...this.#inFlight.values(), ...[...this.#queues.values()].flat()]
    this.#inFlight.clear()
    this.#queues.clear()
    for (const batch of batches) this.#fail(batch, error)
    this.#wakeRoomWaiters()
    this.#release()
  }

  /** Acknowledgements of this thread's tickets. @returns whether the ticket was this producer's */
  onAcknowledged(ticket: number, errorNumber: number, baseOffset: number): boolean {
    const batch = this.#inFlight.get(ticket)
    if (batch === undefined) return false
    this.#inFlight.delete(ticket)
    this.#sequences?.answered(batch.index)
    if (errorNumber === 0) this.#complete(batch, baseOffset)
    else this.#refused(batch, new TidemarkError(errorCodeOf(errorNumber)), baseOffset)
    return true
  }

  /** Until there is one nothing is handed over; the batches' own deadlines count. */
  async #takeProducerId(sequences: ProducerSequences, take: () => Promise<number>): Promise<void> {
    while (!this.#isClosed) {
      try {
        sequences.producerId = await take()
        this.#schedule()
        return
      } catch {
        await new Promise((resolve) => setTimeout(resolve, retryBackoffMs).unref())
      }
    }
  }

  #place(input: SendRecord, record: ProduceRecord) {
    const partitions = this.#lookup(input.topic)
    if (partitions === undefined) {
      throw new TidemarkError(
        'UNKNOWN_TOPIC_OR_PARTITION',
        `no topic ${JSON.stringify(input.topic)}`,
      )
    }
    const partition = input.partition ?? this.#choose(input.topic, record.key, partitions.length)
    const index = partitions[partition]
    if (index === undefined) {
      const allowed = `0 to ${partitions.length - 1}`
      const detail = `topic ${input.topic} has no partition ${partition}: allowed are ${allowed}`
      throw new TidemarkError('UNKNOWN_TOPIC_OR_PARTITION', detail)
    }
    return { partition, index }
  }

  #choose(topic: string, key: Uint8Array | null, partitions: number): number {
    if (key !== null) return partitionForKey(key, partitions)
    const next = this.#nextPartition.get(topic) ?? 0
    this.#nextPartition.set(topic, (next + 1) % partitions)
    return next
  }

  #enqueue(topic: string, partition: number, index: PartitionIndex, item: Pending): void {
    let queue = this.#queues.get(index)
    if (queue === undefined) {
      queue = []
      this.#queues.set(index, queue)
    }
    const { record } = item
    const { batchBytes } = this.#options
    let batch = queue.at(-1)
    let bytes = batch === undefined ? 0 : sizeAfter(batch, record)
    if (batch === undefined || batch.isSealed || batch.bytes + bytes > batchBytes) {
      const nowMs = this.#nowMs()
      if (batch?.isSealed === false) batch.dueAtMs = Math.min(batch.dueAtMs, nowMs)
      this.#bufferedBytes += batchOverheadBytes
      const order = this.#batches++
      batch = newBatch({ topic, partition, index }, order, nowMs, this.#options)
      bytes = sizeAfter(batch, record)
      queue.push(batch)
    }
    batch.pending.push(item)
    batch.bytes += bytes
    this.#bufferedBytes += bytes + recordOverheadBytes
    if (batch.bytes >= batchBytes) batch.dueAtMs = 0
    this.#schedule()
  }

  /** At the end of this turn for what is due, by timer for the rest. */
  #schedule(): void {
    if (this.#isTicking) return
    this.#isTicking = true
    setImmediate(() => {
      this.#isTicking = false
      this.#progress()
    })
  }

  #progress(): void {
    if (this.#isClosed) return
    this.#poll()
    const nowMs = this.#nowMs()
    let nextMs = Number.POSITIVE_INFINITY
    for (const [index, queue] of this.#queues) {
      while (
        queue.length > 0 &&
        queue[0]!.dueAtMs <= nowMs &&
        this.#tryHandOver(queue[0]!, nowMs)
      ) {
        queue.shift()
      }
      if (queue.length === 0) this.#queues.delete(index)
      else nextMs = Math.min(nextMs, Math.max(queue[0]!.dueAtMs, nowMs + 1))
    }
    if (this.#inFlight.size > 0) this.#wakeLoop.add(this.#onWake)
    else this.#wakeLoop.remove(this.#onWake)
    clearTimeout(this.#timer)
    if (nextMs !== Number.POSITIVE_INFINITY) {
      this.#timer = setTimeout(() => this.#progress(), Math.max(1, nextMs - nowMs))
    }
  }

  /** @returns whether the batch has left the queue */
  #tryHandOver(batch: Batch, nowMs: number): boolean {
    if (nowMs > batch.deadlineMs) {
      this.#fail(batch, new TidemarkError('REQUEST_TIMED_OUT', 'delivery timeout'))
      return true
    }
    const ring = this.#ring
    if (this.#sequences?.mayHandOver(batch.index, batch) === false) return false
    if (ring.tryClaim(batch.index, batch.bytes) !== 'claimed') return false
    batch.isSealed = true
    const bytes = this.#encode(batch)
    if (bytes < 0) return true
    const acks = this.#options.acks === 'all' ? -1 : this.#options.acks
    const ticket = ring.commit(batch.index, bytes, acks, this.#options.requestTimeoutMs)
    if (acks === 0) this.#complete(batch, -1)
    else this.#inFlight.set(ticket, batch)
    this.#sequences?.handedOver(batch.index)
    return true
  }

  /**
   * Into the claim. @returns bytes; -1: it failed, with its records, and the claim was given back
   */
  #encode(batch: Batch): number {
    const ring = this.#ring
    const { compression } = this.#options
    try {
      this.#sequences?.assign(batch.index, batch, batch.pending.length)
      const { producerEpoch, baseSequence } = batch
      const producerId = this.#sequences?.producerId ?? -1
      const options = { compression, producerId, producerEpoch, baseSequence }
      this.#encoder.begin(ring.claimMemory, ring.claimPosition, batch.bytes, options)
      for (const { record } of batch.pending) {
        const fits = this.#encoder.tryAppend(record)
        invariant(fits, 'a batch has the size that was worked out for it')
      }
      return this.#encoder.finish()
    } catch (error) {
      this.#encoder.abandon()
      ring.abort()
      this.#fail(batch, asTidemarkError(error))
      return -1
    }
  }

  /** @param baseOffset where a leader had appended it that leads no more; -1: nowhere */
  #refused(batch: Batch, answer: TidemarkError, baseOffset: number): void {
    const nowMs = this.#nowMs()
    let error = answer
    if (baseOffset >= 0 && answer.code === 'NOT_LEADER_OR_FOLLOWER') {
      const detail = 'the leader was replaced after it had appended the batch'
      error = new TidemarkError('NETWORK_EXCEPTION', { detail, cause: answer })
    }
    if (nowMs > batch.deadlineMs || !this.#mayBeSentAgain(batch, error)) {
      this.#fail(batch, error)
      return
    }
    batch.dueAtMs = nowMs + retryBackoffMs
    const queue = this.#queues.get(batch.index)
    if (queue === undefined) this.#queues.set(batch.index, [batch])
    else {
      const at = queue.findIndex((other) => other.order > batch.order)
      queue.splice(at < 0 ? queue.length : at, 0, batch)
    }
    this.#schedule()
  }

  #mayBeSentAgain(batch: Batch, { code, retriable }: TidemarkError): boolean {
    const sequences = this.#sequences
    if (sequences === undefined) return isNotAppended(code)
    return mayComeAgain(batch, { code, retriable, sequences })
  }

  #complete(batch: Batch, baseOffset: number): void {
    this.#giveBack(batch)
    for (const [delta, { record, resolve }] of batch.pending.entries()) {
      const offset = baseOffset < 0 ? -1 : baseOffset + delta
      const { topic, partition } = batch
      resolve({ topic, partition, offset, timestampMs: record.timestampMs })
    }
  }

  #fail(batch: Batch, error: TidemarkError): void {
    this.#giveBack(batch)
    for (const { reject } of batch.pending) reject(error)
  }

  #giveBack(batch: Batch): void {
    batch.isSettled = true
    this.#sequences?.settled(batch.index, batch)
    this.#bufferedBytes -= batch.bytes + batch.pending.length * recordOverheadBytes
    if (this.#bufferedBytes < this.#options.bufferBytes) this.#wakeRoomWaiters()
  }

  #wakeRoomWaiters(): void {
    for (const resolve of this.#roomWaiters.splice(0)) resolve()
  }
}

function asTidemarkError(error: unknown): TidemarkError {
  if (isTidemarkError(error)) return error
  return new TidemarkError('UNKNOWN_SERVER_ERROR', { detail: String(error), cause: error })
}
