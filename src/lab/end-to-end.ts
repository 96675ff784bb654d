/**
 * End-to-end latency: consumers in the application's thread, on a few of the partitions that a load
 * is produced to. A batch's latency runs from the time it was meant to be sent until a consumer has
 * its last record in hand.
 */
import { type Clock, systemClock } from '../clock.ts'
import type { Cluster } from '../cluster.ts'
import type { PartitionIndex } from '../ids.ts'
import { type LoadLedger, ledgerStatus } from './load-ledger.ts'

/** Consumers share one thread: more of them would measure that thread. */
const watchedMax = 8

/** What one consumer saw: record `firstOffset + n` at `seenMs[n]`. */
export interface SeenRecords {
  readonly firstOffset: number
  readonly seenMs: readonly number[]
}

/** From the high watermark at its start, on up to eight partitions spread evenly over the list. */
export class EndToEndWatch {
  readonly #seen = new Map<PartitionIndex, { firstOffset: number; seenMs: number[] }>()
  readonly #stopped = new AbortController()
  readonly #consumers: Promise<void>[] = []
  readonly #clock: Clock

  constructor(cluster: Cluster, partitions: readonly PartitionIndex[], clock: Clock = systemClock) {
    this.#clock = clock
    const count = Math.min(partitions.length, watchedMax)
    for (let at = 0; at < count; at++) {
      const index = partitions[Math.floor((at * partitions.length) / count)]
      const consumer = this.#consume(cluster, index)
      // A failure is told by `latenciesMs`, whoever waits for it.
      consumer.catch(() => {})
      this.#consumers.push(consumer)
    }
  }

  /**
   * After the round, when everything is answered: waits until all that was acknowledged is seen, or
   * `signal` aborts.
   *
   * @param firstRows of each ledger: where the round began
   * @throws {TidemarkError} what a consumer throws
   */
  async latenciesMs(
    ledgers: readonly LoadLedger[],
    firstRows: readonly number[],
    signal: AbortSignal,
  ): Promise<number[]> {
    const failed = Promise.all(this.#consumers)
    const ends = endsOf(ledgers, firstRows)
    while (!signal.aborted && !this.#hasSeen(ends)) {
      const pause = new Promise((resolve) => setTimeout(resolve, 2))
      await Promise.race([failed, pause])
    }
    return ledgers.flatMap((ledger, at) => endToEndLatencies(ledger, firstRows[at], this.#seen))
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    await Promise.allSettled(this.#consumers)
  }

  async #consume(cluster: Cluster, index: PartitionIndex): Promise<void> {
    const { topic, partition, highWatermark: from } = cluster.describeIndex(index)
    const seenMs: number[] = []
    this.#seen.set(index, { firstOffset: from, seenMs })
    const { signal } = this.#stopped
    for await (const _ of cluster.consume({ topic, partition, from, signal })) {
      seenMs.push(this.#clock.nowMs())
    }
  }

  #hasSeen(ends: ReadonlyMap<PartitionIndex, number>): boolean {
    for (const [partition, { firstOffset, seenMs }] of this.#seen) {
      if (firstOffset + seenMs.length < (ends.get(partition) ?? 0)) return false
    }
    return true
  }
}

/** Offset after the last acknowledged record of each partition. */
function endsOf(ledgers: readonly LoadLedger[], firstRows: readonly number[]) {
  const ends = new Map<PartitionIndex, number>()
  for (const [at, ledger] of ledgers.entries()) {
    for (let row = firstRows[at]; row < ledger.count; row++) {
      if (ledger.status[row] !== ledgerStatus.acknowledged) continue
      const partition = ledger.partition[row] as PartitionIndex
      const end = ledger.baseOffset[row] + ledger.recordCount[row]
      ends.set(partition, Math.max(end, ends.get(partition) ?? 0))
    }
  }
  return ends
}

/** Of the acknowledged batches from a row on whose last record was seen; others say nothing. */
export function endToEndLatencies(
  ledger: LoadLedger,
  firstRow: number,
  seen: ReadonlyMap<PartitionIndex, SeenRecords>,
): number[] {
  const latenciesMs: number[] = []
  for (let row = firstRow; row < ledger.count; row++) {
    const records = seen.get(ledger.partition[row] as PartitionIndex)
    if (records === undefined || ledger.status[row] !== ledgerStatus.acknowledged) continue
    const last = ledger.baseOffset[row] + ledger.recordCount[row] - 1
    const seenMs = records.seenMs[last - records.firstOffset]
    if (seenMs !== undefined) latenciesMs.push(seenMs - ledger.intendedMs[row])
  }
  return latenciesMs
}
