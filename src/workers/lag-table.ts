/**
 * LagTable: how far each follower is behind one leader, in shared memory. It costs nothing until
 * somebody asks: the reader counts up a word and rings the leader's bell, the leader fills in the
 * table and notes which question it has answered.
 *
 *   words      requested (reader)   served (leader)   rows
 *   a follower partitions, behind, records, recordsMax, bytes, lagMsMax
 *   a row      partition, follower, records, bytes, lagMs: the worst, by time
 */
import type { BrokerId, PartitionIndex } from '../ids.ts'

/** Replicas that are told one by one; a scrape of ten thousand partitions must stay small. */
export const lagRowsMax = 64

export interface LagTableBuffers {
  readonly brokers: number
  readonly words: SharedArrayBuffer
  readonly numbers: SharedArrayBuffer
}

/** A follower's lag over all partitions that it follows from this leader. */
export interface FollowerLagTotal {
  readonly follower: BrokerId
  readonly partitions: number
  /** Partitions whose end it hasn't reached. */
  readonly behind: number
  readonly records: number
  readonly recordsMax: number
  /** Estimated from the mean record of each log. */
  readonly bytes: number
  /** Longest time since it was caught up, of those it is behind in. */
  readonly lagMsMax: number
}

export interface ReplicaLag {
  readonly partition: PartitionIndex
  readonly follower: BrokerId
  readonly records: number
  readonly bytes: number
  readonly lagMs: number
}

export interface LagReport {
  readonly totals: readonly FollowerLagTotal[]
  /** At most `lagRowsMax`, longest time first. */
  readonly worst: readonly ReplicaLag[]
}

const word = { requested: 0, served: 1, rows: 2 } as const
const words = 16
const totalNumbers = 6
const rowNumbers = 5

function tableNumbers(brokers: number): number {
  return brokers * totalNumbers + lagRowsMax * rowNumbers
}

export function allocateLagTables(brokers: number): LagTableBuffers {
  return {
    brokers,
    words: new SharedArrayBuffer(brokers * words * 4),
    numbers: new SharedArrayBuffer(brokers * tableNumbers(brokers) * 8),
  }
}

export class LagTable {
  readonly #words: Int32Array
  readonly #numbers: Float64Array
  readonly #brokers: number

  /** The table of the broker that leads. */
  constructor({ brokers, words: shared, numbers }: LagTableBuffers, leader: BrokerId) {
    const size = tableNumbers(brokers)
    this.#brokers = brokers
    this.#words = new Int32Array(shared, (leader - 1) * words * 4, words)
    this.#numbers = new Float64Array(numbers, (leader - 1) * size * 8, size)
  }

  // ── the reader ───────────────────────────────────────────────────────────────────────────────

  /** Asks for a fresh table; the bell is the caller's to ring. @returns what `isServed` takes */
  request(): number {
    return (Atomics.add(this.#words, word.requested, 1) + 1) | 0
  }

  isServed(request: number): boolean {
    return ((Atomics.load(this.#words, word.served) - request) | 0) >= 0
  }

  /** Whole only while no question is open: ask one at a time. */
  read(): LagReport {
    const totals = Array.from({ length: this.#brokers }, (_, row): FollowerLagTotal => {
      const at = row * totalNumbers
      const [partitions, behind, records, recordsMax, bytes, lagMsMax] = this.#take(
        at,
        totalNumbers,
      )
      return {
        follower: (row + 1) as BrokerId,
        partitions: partitions!,
        behind: behind!,
        records: records!,
        recordsMax: recordsMax!,
        bytes: bytes!,
        lagMsMax: lagMsMax!,
      }
    })
    const rows = Math.min(lagRowsMax, Math.max(0, Atomics.load(this.#words, word.rows)))
    const worst = Array.from({ length: rows }, (_, row): ReplicaLag => {
      const at = this.#brokers * totalNumbers + row * rowNumbers
      const [partition, follower, records, bytes, lagMs] = this.#take(at, rowNumbers)
      return {
        partition: partition as PartitionIndex,
        follower: follower as BrokerId,
        records: records!,
        bytes: bytes!,
        lagMs: lagMs!,
      }
    })
    return { totals: totals.filter(({ partitions }) => partitions > 0), worst }
  }

  // ── the leader ───────────────────────────────────────────────────────────────────────────────

  /** The open question; undefined: there is none. */
  get openRequest(): number | undefined {
    const request = Atomics.load(this.#words, word.requested)
    return request === Atomics.load(this.#words, word.served) ? undefined : request
  }

  serve(request: number, { totals, worst }: LagReport): void {
    this.#numbers.fill(0)
    for (const total of totals) {
      const { follower, partitions, behind, records, recordsMax, bytes, lagMsMax } = total
      const numbers = [partitions, behind, records, recordsMax, bytes, lagMsMax]
      this.#numbers.set(numbers, (follower - 1) * totalNumbers)
    }
    const rows = worst.slice(0, lagRowsMax)
    for (const [row, { partition, follower, records, bytes, lagMs }] of rows.entries()) {
      const at = this.#brokers * totalNumbers + row * rowNumbers
      this.#numbers.set([partition, follower, records, bytes, lagMs], at)
    }
    Atomics.store(this.#words, word.rows, rows.length)
    Atomics.store(this.#words, word.served, request)
  }

  #take(from: number, count: number): number[] {
    return Array.from(this.#numbers.subarray(from, from + count))
  }
}
