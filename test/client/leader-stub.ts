/**
 * A leader that a test plays by hand, over the real shared memory, and a producer in front of it.
 */
import { onTestFinished, vi } from 'vitest'
import { Producer } from '../../src/client/producer.ts'
import type { ProducerOptions } from '../../src/client/producer-options.ts'
import { WakeLoop } from '../../src/client/wake-loop.ts'
import { type ErrorCode, errorNumber } from '../../src/errors.ts'
import { brokerId, type PartitionIndex, partitionIndex } from '../../src/ids.ts'
import {
  baseSequenceAt,
  checkBatch,
  compressionAt,
  producerEpochAt,
  producerIdAt,
  sizeInBytesAt,
} from '../../src/log/batch-header.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import type { LogRecord } from '../../src/log/record.ts'
import { readRecords } from '../../src/log/record-reader.ts'
import { AckRing } from '../../src/workers/ack-ring.ts'
import { BatchRing, frame } from '../../src/workers/batch-ring.ts'
import { allocateClusterMemory, type ClusterMemory } from '../../src/workers/cluster-memory.ts'
import { ringDoorbell } from '../../src/workers/doorbell.ts'
import { ProgressBoard } from '../../src/workers/progress-board.ts'
import { RingProducer } from '../../src/workers/ring-producer.ts'

/** A batch as the leader finds it in its ring. */
export interface TakenBatch {
  readonly partition: number
  readonly bytes: number
  readonly acks: number
  readonly timeoutMs: number
  readonly slot: number
  readonly ticket: number
  readonly compression: string
  /** Producer id, epoch and base sequence. */
  readonly sequence: readonly [number, number, number]
  readonly records: readonly LogRecord[]
  readonly values: readonly string[]
}

export class LeaderStub {
  readonly id: number
  readonly ring: BatchRing
  readonly #memory: ClusterMemory
  readonly #board: ProgressBoard
  readonly #ends = new Map<number, number>()
  #position = 0

  constructor(memory: ClusterMemory, id: number) {
    this.id = id
    this.#memory = memory
    this.#board = new ProgressBoard(memory.board)
    this.ring = new BatchRing(memory.rings[id - 1])
  }

  /** Leads these partitions, as the controller would announce it. */
  lead(...partitions: number[]): this {
    for (const partition of partitions) {
      this.#board.setRoute(partitionIndex(partition), brokerId(this.id), 1)
    }
    return this
  }

  /** What was committed since the last call, in the ring's order. Its space is not given back. */
  take(): TakenBatch[] {
    const taken: TakenBatch[] = []
    for (;;) {
      const units = this.ring.stateAt(this.#position)
      if (units === 0) return taken
      if (units > 0) taken.push(this.#batchAt(this.#position))
      this.#position = (this.#position + Math.abs(units)) | 0
    }
  }

  /** Gives back the space of everything taken. */
  reclaim(): void {
    this.ring.reclaim(this.#position)
  }

  /** Answers as a leader does: with the batch's first offset, or with an error. */
  /** @param baseOffset with an error: where it had appended the batch all the same */
  answer(batch: TakenBatch, error: ErrorCode | 'NONE' = 'NONE', baseOffset = -1): void {
    const acks = new AckRing(this.#memory.acks, batch.slot, this.id - 1)
    if (error !== 'NONE') acks.push(batch.ticket, errorNumber(error), baseOffset)
    else {
      const offset = this.#ends.get(batch.partition) ?? 0
      this.#ends.set(batch.partition, offset + batch.records.length)
      acks.push(batch.ticket, 0, offset)
    }
    ringDoorbell(this.#board.words, this.#board.clientDoorbellBase(batch.slot))
  }

  /** Its thread ends and another begins: nothing that was outstanding will be answered. */
  dieAndReturn(): void {
    this.ring.close()
    this.ring.reopen()
    this.#position = this.ring.published
    ringDoorbell(this.#board.words, this.#board.clientDoorbellBase(0))
  }

  #batchAt(position: number): TakenBatch {
    const { headers, memory } = this.ring
    const header = this.ring.headerIndex(position)
    const bytes = headers[header + frame.batchBytes]
    // The ring's bytes change when the space is used again; records are looked at later.
    const at = this.ring.batchPosition(position)
    const own = batchMemory(Uint8Array.from(memory.bytes.subarray(at, at + bytes)).buffer)
    const fault = checkBatch(own, 0, bytes)
    if (fault !== undefined || sizeInBytesAt(own, 0) !== bytes) throw new Error(`batch: ${fault}`)
    const records = [...readRecords(own, 0)]
    return {
      partition: headers[header + frame.partition],
      bytes,
      acks: headers[header + frame.acks],
      timeoutMs: headers[header + frame.timeoutMs],
      slot: headers[header + frame.producerSlot],
      ticket: headers[header + frame.ticket],
      compression: compressionAt(own, 0),
      sequence: [producerIdAt(own, 0), producerEpochAt(own, 0), baseSequenceAt(own, 0)],
      records,
      values: records.map(({ value }) => Buffer.from(value ?? []).toString()),
    }
  }
}

/**
 * Two leaders and a producer under a clock that the test moves: leader 1 has partitions 0 to 3 of
 * topic `t`. Time, timers and `setImmediate` are vitest's.
 */
export class ProducerFixture {
  readonly memory = allocateClusterMemory({
    brokers: 2,
    partitionsMax: 8,
    ringBytes: 256 * 1024,
    originMs: 0,
  })
  readonly ring = new RingProducer(this.memory, 0)
  readonly wakeLoop = new WakeLoop(this.ring.doorbell)
  readonly leader = new LeaderStub(this.memory, 1).lead(0, 1, 2, 3)
  readonly other = new LeaderStub(this.memory, 2)
  readonly producers: Producer[] = []

  constructor() {
    vi.useFakeTimers()
    onTestFinished(() => {
      for (const producer of this.producers) producer.abort()
      vi.useRealTimers()
    })
  }

  producer(options: ProducerOptions = {}): Producer {
    const partitions = [0, 1, 2, 3].map(partitionIndex) as PartitionIndex[]
    const producer = new Producer({
      ring: this.ring,
      wakeLoop: this.wakeLoop,
      lookup: (topic) => (topic === 't' ? partitions : undefined),
      nowMs: () => Date.now(),
      poll: () => {
        this.ring.poll((ticket, error, baseOffset) => {
          this.producers.some((candidate) => candidate.onAcknowledged(ticket, error, baseOffset))
        })
      },
      producerId: () => Promise.resolve(7),
      // Most tests are about what holds without; the others ask for it.
      options: { idempotent: false, ...options },
      onClosed: () => {},
    })
    this.producers.push(producer)
    return producer
  }

  /** Lets time pass, with everything that is due in it. */
  async pass(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms)
  }

  /** Answers until everything that was sent has been answered. @returns batches, in order */
  async answerAll(): Promise<TakenBatch[]> {
    const all: TakenBatch[] = []
    let quiet = 0
    for (let round = 0; round < 1_000; round++) {
      await this.pass(1)
      const taken = this.leader.take()
      quiet = taken.length === 0 ? quiet + 1 : 0
      for (const batch of taken) this.leader.answer(batch)
      this.leader.reclaim()
      all.push(...taken)
      // Longer than a back-off.
      if (quiet > 30 && this.ring.outstanding === 0) return all
    }
    throw new Error('the producer does not come to rest')
  }
}

/** How a promise ended, once it has: its value, or the code of its error. */
export function outcomeOf(promise: Promise<unknown>): { value?: unknown } {
  const outcome: { value?: unknown } = {}
  promise.then(
    (value) => {
      outcome.value = value
    },
    (error: { code?: string }) => {
      outcome.value = error.code ?? error
    },
  )
  return outcome
}
