/**
 * Looks, at the end of a follower's poll, at its partitions outside the ISR that the poll did not
 * report because nothing changed there: joining may have become possible since. Kafka tries at
 * every fetch of every partition; here it is bounded in rate and in number, so that thousands of
 * them stay cheap.
 */
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { limits } from '../limits.ts'
import type { IsrChanges } from './isr-changes.ts'
import { replicaStride } from './led-partitions.ts'
import type { Outsiders } from './outsiders.ts'

export const outsiderSweepIntervalDefaultMs = 10
const replicasPerSweepMax = 4096

export class OutsiderSweep {
  readonly #outsiders: Outsiders
  readonly #changes: IsrChanges
  readonly #intervalMs: number
  /** Per broker. */
  readonly #sweptAtMs = new Float64Array(limits.brokersMax + 1).fill(Number.NEGATIVE_INFINITY)
  readonly #place = new Int32Array(limits.brokersMax + 1)

  constructor(outsiders: Outsiders, changes: IsrChanges, intervalMs: number) {
    this.#outsiders = outsiders
    this.#changes = changes
    this.#intervalMs = intervalMs
  }

  maybeSweep(follower: BrokerId, fetchTimeMs: number): void {
    const count = this.#outsiders.count(follower)
    if (count === 0 || fetchTimeMs - this.#sweptAtMs[follower] < this.#intervalMs) return
    this.#sweptAtMs[follower] = fetchTimeMs
    let place = this.#place[follower]
    // Proposals don't change the list that is walked: a pending addition is still outside.
    for (let visit = Math.min(count, replicasPerSweepMax); visit > 0; visit -= 1) {
      if (place >= count) place = 0
      const index = this.#outsiders.at(follower, place)
      const partition = Math.floor(index / replicaStride) as PartitionIndex
      this.#changes.polledOutside(partition, index, fetchTimeMs)
      place += 1
    }
    this.#place[follower] = place
  }
}
