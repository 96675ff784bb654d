/**
 * Producer: records to batches to the leaders' rings, and promises completed from shared memory. Records
 * are held by reference until their batch is full or its linger is over; then they are encoded once,
 * straight into the ring.
 *
 * Order: records of one partition are appended in the order of `send`, unless a batch was refused and had
 * to be sent again while a later one was accepted (as with Kafka's producer without idempotence).
 */
import { errorCodeOf, TidemarkError } from '../errors.ts'
import type { PartitionIndex } from '../ids.ts'
import { BatchEncoder } from '../log/batch-encoder.ts'
import { batchSizeBound, type ProduceRecord, type RecordHeader } from '../log/record.ts'
import type { RingProducer } from '../workers/ring-producer.ts'
import { partitionForKey } from './partitioner.ts'
import type { WakeLoop } from './wake-loop.ts'

export interface ProducerOptions {
  /** `'all'`: every in-sync replica has it (default); 1: the leader has it; 0: handed over. */
  readonly acks?: 0 | 1 | 'all'
  /** How long a batch waits for more records, ms (default 0: until the end of this turn of the event loop). */
  readonly lingerMs?: number
  /** A batch is sent when it has this many bytes (default 16384). */
  readonly batchBytes?: number
  readonly compression?: 'none' | 'lz4'
  /** Leader's time for an acks=all batch, ms (default 30000). */
  readonly requestTimeoutMs?: number
  /** Refused batches are sent again for so long, ms (default 120000). */
  readonly deliveryTimeoutMs?: number
  /** `send` waits while so many bytes are buffered (default 32 MiB). */
  readonly bufferBytes?: number
}

export interface SendRecord {
  readonly topic: string
  /** Default: by the key's hash as Kafka's producer does it, without a key in turn. */
  readonly partition?: number
  readonly key?: Uint8Array | string | null
  readonly value: Uint8Array | string | null
  readonly headers?: readonly RecordHeader[]
  /** Milliseconds since 1970; default now. */
  readonly timestampMs?: number
}

export interface RecordMetadata {
  readonly topic: string
  readonly partition: number
  /** -1 with acks 0: not known. */
  readonly offset: number
  readonly timestampMs: number
}

/** Where a topic's partitions are; undefined for a topic that does not exist. */
export type TopicLookup = (topic: string) => readonly PartitionIndex[] | undefined

interface Pending {
  readonly record: ProduceRecord
  readonly resolve: (metadata: RecordMetadata) => void
  readonly reject: (error: TidemarkError) => void
}

interface Batch {
  readonly topic: string
  readonly partition: number
  readonly index: PartitionIndex
  readonly pending: Pending[]
  readonly deadlineMs: number
  bytes: number
  /** Not before: linger, or back-off after a refusal. */
  dueAtMs: number
}

/** The batch is certainly not in the log: it may be sent again without a duplicate. */
const notAppended = new Set(['NOT_LEADER_OR_FOLLOWER', 'NOT_ENOUGH_REPLICAS'])
const retryBackoffMs = 20
const recordOverheadBytes = 32

export class Producer {
  readonly #ring: RingProducer
  readonly #wakeLoop: WakeLoop
  readonly #lookup: TopicLookup
  readonly #nowMs: () => number
  readonly #options: Required<ProducerOptions>
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
  #timer: NodeJS.Timeout | undefined
  #isTicking = false
  #isClosed = false

  /** Made by `Cluster.producer`. */
  constructor(parts: {
    readonly ring: RingProducer
    readonly wakeLoop: WakeLoop
    readonly lookup: TopicLookup
    readonly nowMs: () => number
    /** Takes in this thread's acknowledgements and hands each to its producer. */
    readonly poll: () => void
    readonly options: ProducerOptions
    readonly onClosed: () => void
  }) {
    this.#ring = parts.ring
    this.#wakeLoop = parts.wakeLoop
    this.#lookup = parts.lookup
    this.#nowMs = parts.nowMs
    this.#poll = parts.poll
    this.#release = parts.onClosed
    this.#options = checkedOptions(parts.options, parts.ring.batchBytesMax)
  }

  /**
   * Sends one record.
   *
   * @throws {TidemarkError} UNKNOWN_TOPIC_OR_PARTITION, RECORD_TOO_LARGE, INVALID_RECORD at once; what the
   *   leader answers; REQUEST_TIMED_OUT and NETWORK_EXCEPTION when the outcome is unknown; BROKER_CLOSED
   */
  async send(input: SendRecord): Promise<RecordMetadata> {
    while (this.#bufferedBytes >= this.#options.bufferBytes && !this.#isClosed) {
      await new Promise<void>((resolve) => this.#roomWaiters.push(resolve))
    }
    if (this.#isClosed) throw new TidemarkError('BROKER_CLOSED', 'the producer is closed')
    const record = toRecord(input, this.#nowMs())
    const { partition, index } = this.#place(input, record)
    const bytes = batchSizeBound([record])
    if (bytes > this.#ring.batchBytesMax) {
      const detail = `record of ${bytes} bytes: at most ${this.#ring.batchBytesMax}`
      throw new TidemarkError('RECORD_TOO_LARGE', detail)
    }
    return new Promise((resolve, reject) => {
      this.#enqueue(input.topic, partition, index, bytes, { record, resolve, reject })
    })
  }

  /** Sends what is waiting and resolves when everything sent so far has been answered. */
  async flush(): Promise<void> {
    for (const queue of this.#queues.values()) for (const batch of queue) batch.dueAtMs = 0
    this.#progress()
    while (this.#queues.size > 0 || this.#inFlight.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  /** Flushes and closes; later calls of `send` are refused. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    await this.flush()
    this.abort()
  }

  /** Closes at once: whatever is unanswered fails with BROKER_CLOSED. */
  abort(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#wakeLoop.remove(this.#onWake)
    const error = new TidemarkError('BROKER_CLOSED', 'the producer is closed')
    const batches = [...this.#inFlight.values(), ...[...this.#queues.values()].flat()]
    this.#inFlight.clear()
    this.#queues.clear()
    for (const batch of batches) this.#fail(batch, error)
    this.#release()
  }

  /** Acknowledgements of this thread's tickets. @returns whether the ticket was this producer's */
  onAcknowledged(ticket: number, errorNumber: number, baseOffset: number): boolean {
    const batch = this.#inFlight.get(ticket)
    if (batch === undefined) return false
    this.#inFlight.delete(ticket)
    if (errorNumber === 0) this.#complete(batch, baseOffset)
    else this.#refused(batch, new TidemarkError(errorCodeOf(errorNumber)))
    return true
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

  #enqueue(
    topic: string,
    partition: number,
    index: PartitionIndex,
    bytes: number,
    item: Pending,
  ): void {
    let queue = this.#queues.get(index)
    if (queue === undefined) {
      queue = []
      this.#queues.set(index, queue)
    }
    let batch = queue.at(-1)
    if (batch === undefined || batch.bytes + bytes > this.#options.batchBytes) {
      if (batch !== undefined) batch.dueAtMs = Math.min(batch.dueAtMs, this.#nowMs())
      const nowMs = this.#nowMs()
      const deadlineMs = nowMs + this.#options.deliveryTimeoutMs
      const dueAtMs = nowMs + this.#options.lingerMs
      batch = { topic, partition, index, pending: [], deadlineMs, bytes: 0, dueAtMs }
      queue.push(batch)
    }
    batch.pending.push(item)
    batch.bytes += bytes
    this.#bufferedBytes += bytes + recordOverheadBytes
    if (batch.bytes >= this.#options.batchBytes) batch.dueAtMs = 0
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
    const bound = batchSizeBound(batch.pending.map(({ record }) => record))
    if (ring.tryClaim(batch.index, bound) !== 'claimed') return false
    const { compression, requestTimeoutMs } = this.#options
    this.#encoder.begin(ring.claimMemory, ring.claimPosition, bound, { compression })
    for (const { record } of batch.pending) this.#encoder.tryAppend(record)
    const bytes = this.#encoder.finish()
    const acks = this.#options.acks === 'all' ? -1 : this.#options.acks
    const ticket = ring.commit(batch.index, bytes, acks, requestTimeoutMs)
    if (acks === 0) this.#complete(batch, -1)
    else this.#inFlight.set(ticket, batch)
    return true
  }

  #refused(batch: Batch, error: TidemarkError): void {
    const nowMs = this.#nowMs()
    if (!notAppended.has(error.code) || nowMs > batch.deadlineMs) {
      this.#fail(batch, error)
      return
    }
    batch.dueAtMs = nowMs + retryBackoffMs
    const queue = this.#queues.get(batch.index)
    if (queue === undefined) this.#queues.set(batch.index, [batch])
    else {
      const at = queue.findIndex((other) => other.deadlineMs >= batch.deadlineMs)
      queue.splice(at < 0 ? queue.length : at, 0, batch)
    }
    this.#schedule()
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
    this.#bufferedBytes -= batch.bytes + batch.pending.length * recordOverheadBytes
    if (this.#bufferedBytes >= this.#options.bufferBytes && !this.#isClosed) return
    for (const resolve of this.#roomWaiters.splice(0)) resolve()
  }
}

function checkedOptions(
  options: ProducerOptions,
  batchBytesMax: number,
): Required<ProducerOptions> {
  const checked = {
    acks: 'all' as const,
    lingerMs: 0,
    batchBytes: 16_384,
    compression: 'none' as const,
    requestTimeoutMs: 30_000,
    deliveryTimeoutMs: 120_000,
    bufferBytes: 32 * 1024 * 1024,
    ...options,
  }
  const { acks, batchBytes } = checked
  if (acks !== 0 && acks !== 1 && acks !== 'all') {
    throw new TidemarkError(
      'INVALID_REQUIRED_ACKS',
      `acks = ${String(acks)}: allowed are 0, 1, all`,
    )
  }
  for (const [name, value] of Object.entries(checked)) {
    if (typeof value === 'number' && !(value >= 0)) {
      throw new TidemarkError('INVALID_ARGUMENT', `${name} = ${value}: must not be negative`)
    }
  }
  if (batchBytes > batchBytesMax) {
    const detail = `batchBytes = ${batchBytes}: at most ${batchBytesMax}, a quarter of the ring`
    throw new TidemarkError('INVALID_ARGUMENT', detail)
  }
  return checked
}

function toRecord(input: SendRecord, nowMs: number): ProduceRecord {
  const record = {
    key: toBytes(input.key ?? null),
    value: toBytes(input.value),
    timestampMs: Math.floor(input.timestampMs ?? nowMs),
  }
  return input.headers === undefined ? record : { ...record, headers: input.headers }
}

function toBytes(value: Uint8Array | string | null): Uint8Array | null {
  return typeof value === 'string' ? Buffer.from(value) : value
}
