/**
 * CatchUpConvergence: is the follower there yet? Asked of the leaders' events and of the shared
 * words.
 */
import type { BrokerId, PartitionIndex } from '../ids.ts'
import type { CatchUpEvents } from './catch-up-events.ts'
import { type CatchUpSampler, sampleMs } from './catch-up-sampler.ts'
import type { LabCluster } from './lab-cluster.ts'

export class CatchUpConvergence {
  /** Partitions that the follower follows, and so must be brought up. */
  readonly affected: readonly PartitionIndex[]
  readonly #lab: LabCluster
  readonly #follower: BrokerId
  readonly #events: CatchUpEvents
  readonly #sampler: CatchUpSampler

  constructor(lab: LabCluster, follower: BrokerId, events: CatchUpEvents, sampler: CatchUpSampler) {
    this.#lab = lab
    this.#follower = follower
    this.#events = events
    this.#sampler = sampler
    this.affected = lab.partitions.filter((index) => {
      const registration = lab.cluster.registration(index)
      if (registration === undefined || registration.leader === follower) return false
      return registration.replicas.includes(follower)
    })
  }

  /** Records that each affected partition lacks. */
  backlog(): Float64Array {
    const { board } = this.#lab.cluster
    return Float64Array.from(this.affected, (index) => {
      const leader = this.#lab.cluster.registration(index)?.leader ?? -1
      if (leader < 1 || leader === this.#follower) return 0
      return Math.max(
        0,
        board.logEndOffset(leader as BrokerId, index) - board.logEndOffset(this.#follower, index),
      )
    })
  }

  /** Leaders say it of those that had left; of the others the shared words do. */
  haveAllReached(): boolean {
    const { evictedAtMs, reachedAtMs } = this.#events.times
    const { board } = this.#lab.cluster
    for (const index of this.affected) {
      if (evictedAtMs.has(index)) {
        if (!reachedAtMs.has(index)) return false
        continue
      }
      const registration = this.#lab.cluster.registration(index)
      if (registration === undefined || registration.leader < 1) return false
      if (!registration.inSyncReplicas.includes(this.#follower)) return false
      const lag =
        board.logEndOffset(registration.leader, index) - board.logEndOffset(this.#follower, index)
      if (lag > 0 && this.#sampler.samples.length > 0 && this.#isBehindForLong(index)) return false
    }
    return true
  }

  #isBehindForLong(index: PartitionIndex): boolean {
    return this.#sampler.lagTimeMs(index) > 4 * sampleMs
  }

  areAllBack(): boolean {
    return this.#lab.partitions.every((index) => {
      const registration = this.#lab.cluster.registration(index)
      return (
        registration !== undefined &&
        registration.inSyncReplicas.length === registration.replicas.length
      )
    })
  }
}
