/**
 * BackOff: partitions whose fetch failed, until they may try again. All wait equally long (Kafka:
 * `replica.fetch.backoff.ms`), so the first that was put in is the first that is due.
 */
import type { PartitionIndex } from '../ids.ts'

interface Waiting {
  readonly partition: PartitionIndex
  readonly untilMs: number
}

export class BackOff {
  /** By partition; 0: doesn't wait. */
  readonly #untilMs: Float64Array
  readonly #backOffMs: number
  #queue: Waiting[] = []

  constructor(partitionsMax: number, backOffMs: number) {
    this.#backOffMs = backOffMs
    this.#untilMs = new Float64Array(partitionsMax)
  }

  isWaiting(partition: PartitionIndex): boolean {
    return this.#untilMs[partition] !== 0
  }

  /** Time at which the first is due; infinite when nobody waits. */
  get dueAtMs(): number {
    return this.#queue[0]?.untilMs ?? Number.POSITIVE_INFINITY
  }

  wait(partition: PartitionIndex, nowMs: number): void {
    const untilMs = nowMs + this.#backOffMs
    this.#untilMs[partition] = untilMs
    this.#queue.push({ partition, untilMs })
  }

  /** It need not wait any longer: another leader, another log. */
  forget(partition: PartitionIndex): void {
    this.#untilMs[partition] = 0
  }

  /** Tells of each partition that is due, once. */
  release(nowMs: number, visit: (partition: PartitionIndex) => void): void {
    if (this.dueAtMs > nowMs) return
    let due = 0
    for (; due < this.#queue.length && this.#queue[due]!.untilMs <= nowMs; due++) {
      const { partition, untilMs } = this.#queue[due]!
      // One that was forgotten meanwhile, or waits anew.
      if (this.#untilMs[partition] !== untilMs) continue
      this.#untilMs[partition] = 0
      visit(partition)
    }
    this.#queue.splice(0, due)
  }
}
