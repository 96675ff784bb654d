/**
 * FinishGroup: partitions that a catch-up has brought to the leader's end but for the last batch,
 * and finishes together. Each that comes to the end alone costs a poll, a proposal, a record of the
 * metadata log and its way to every broker; on a machine whose threads share cores that is time
 * which the reading lacks. So the last batches of several are read in one step, and the leader
 * finds them all in one poll.
 */
import type { PartitionIndex } from '../ids.ts'

const groupSizeMax = 16
/** A partition shall not stay out of sync for company: with large ones a group takes long. */
const waitMsMax = 30

const stage = { none: 0, waiting: 1, finishing: 2 } as const

export class FinishGroup {
  readonly #stage: Uint8Array
  #waiting: PartitionIndex[] = []
  #sinceMs = 0

  constructor(partitionsMax: number) {
    this.#stage = new Uint8Array(partitionsMax)
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  isWaiting(partition: PartitionIndex): boolean {
    return this.#stage[partition] === stage.waiting
  }

  /** Whether it may wait for others; once only, or those that grow fast would never be done. */
  isOpenTo(partition: PartitionIndex): boolean {
    return this.#stage[partition] === stage.none
  }

  add(partition: PartitionIndex, nowMs: number): void {
    if (this.isEmpty) this.#sinceMs = nowMs
    this.#stage[partition] = stage.waiting
    this.#waiting.push(partition)
  }

  isDue(nowMs: number): boolean {
    if (this.isEmpty) return false
    return this.#waiting.length >= groupSizeMax || nowMs - this.#sinceMs >= waitMsMax
  }

  /** All that wait; from now on they don't. */
  take(): PartitionIndex[] {
    const waiting = this.#waiting
    this.#waiting = []
    // Who was forgotten is still listed, and twice when it has come again.
    return waiting.filter((partition) => {
      if (!this.isWaiting(partition)) return false
      this.#stage[partition] = stage.finishing
      return true
    })
  }

  /** It is at the end, or has another leader, or failed. */
  forget(partition: PartitionIndex): void {
    this.#stage[partition] = stage.none
  }
}
