/** Producers that know what they were promised, and a consumer that reads below high watermarks. */
import type { ManualClock } from '../../src/clock.ts'
import { errorCodeOf } from '../../src/errors.ts'
import { type PartitionIndex, partitionIndex } from '../../src/ids.ts'
import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import { BatchEncoder } from '../../src/log/batch-encoder.ts'
import { batchField } from '../../src/log/batch-layout.ts'
import { batchSizeBound } from '../../src/log/record.ts'
import type { ClusterMemory } from '../../src/workers/cluster-memory.ts'
import { RingProducer } from '../../src/workers/ring-producer.ts'
import { textRecord } from '../support/batch-builder.ts'
import type { Coverage } from './coverage.ts'

export interface Acknowledged {
  readonly partition: PartitionIndex
  /** Broker that said so. */
  readonly leader: number
  readonly baseOffset: number
  readonly count: number
  readonly crc: number
}

interface Sent {
  readonly partition: PartitionIndex
  readonly leader: number
  readonly count: number
  readonly crc: number
  readonly acks: number
}

export class SimulatedClients {
  /** CRCs of batches that were refused before they were appended. */
  readonly refused = new Set<number>()
  /** CRCs of all batches that were sent. */
  readonly sent = new Set<number>()
  readonly #clock: ManualClock
  readonly #coverage: Coverage
  readonly #producers: RingProducer[]
  readonly #outstanding: Map<number, Sent>[]
  readonly #encoder = new BatchEncoder()
  readonly #onAcknowledged: (acknowledged: Acknowledged) => void
  #values = 0

  constructor(
    memory: ClusterMemory,
    clock: ManualClock,
    coverage: Coverage,
    onAcknowledged: (acknowledged: Acknowledged) => void,
  ) {
    this.#clock = clock
    this.#coverage = coverage
    this.#onAcknowledged = onAcknowledged
    this.#producers = [1, 2].map((slot) => new RingProducer(memory, slot))
    this.#outstanding = this.#producers.map(() => new Map())
  }

  get outstanding(): number {
    return this.#outstanding.reduce((sum, tickets) => sum + tickets.size, 0)
  }

  /** Sends one batch of values that never repeat. */
  produce(random: SeededRandom, partitions: number, bigBatches: number): void {
    const row = random.nextBelow(this.#producers.length)
    const partition = partitionIndex(random.nextBelow(partitions))
    const valueBytes = random.next() < bigBatches ? 1_000 + random.nextBelow(15_000) : 0
    const acks = [-1, -1, -1, 1, 0][random.nextBelow(5)]
    const timeoutMs = 20 + random.nextBelow(400)
    this.send(row, partition, { count: 1 + random.nextBelow(3), valueBytes, acks, timeoutMs })
  }

  /** @returns whether it went out */
  send(
    row: number,
    partition: PartitionIndex,
    batch: { count: number; valueBytes: number; acks: number; timeoutMs: number },
  ): boolean {
    const producer = this.#producers[row]
    const timestampMs = Math.floor(this.#clock.nowMs())
    const records = Array.from({ length: batch.count }, () => {
      const value = `${partition}:${++this.#values}`.padEnd(batch.valueBytes, 'x')
      return textRecord(value, timestampMs)
    })
    const bound = batchSizeBound(records)
    const result = producer.tryClaim(partition, bound)
    this.#coverage.count(`claim ${result}`)
    if (result !== 'claimed') return false
    const leader = producer.leaderOf(partition)
    const { claimMemory, claimPosition } = producer
    this.#encoder.begin(claimMemory, claimPosition, bound, { compression: 'none' })
    for (const record of records) this.#encoder.tryAppend(record)
    const bytes = this.#encoder.finish()
    const crc = claimMemory.view.getUint32(claimPosition + batchField.crc)
    this.sent.add(crc)
    const { acks, count } = batch
    const ticket = producer.commit(partition, bytes, acks, batch.timeoutMs)
    if (acks !== 0) {
      this.#outstanding[row].set(ticket, { partition, leader, count, crc, acks })
    }
    return true
  }

  /** Takes in all answers. */
  poll(): number {
    let taken = 0
    for (const [row, producer] of this.#producers.entries()) {
      if (this.#outstanding[row].size === 0 && producer.outstanding === 0) continue
      taken += producer.poll((ticket, error, baseOffset) => {
        this.#answered(row, ticket, error === 0 ? 'NONE' : errorCodeOf(error), baseOffset)
      })
    }
    return taken
  }

  #answered(row: number, ticket: number, error: string, baseOffset: number): void {
    const sent = this.#outstanding[row].get(ticket)!
    this.#outstanding[row].delete(ticket)
    this.#coverage.count(`acks=${sent.acks} ${error}`)
    if (error === 'NOT_ENOUGH_REPLICAS') this.refused.add(sent.crc)
    if (error !== 'NONE' || sent.acks !== -1) return
    const { partition, leader, count, crc } = sent
    this.#onAcknowledged({ partition, leader, baseOffset, count, crc })
  }
}
