/**
 * CatchUpConvergence: is the follower there yet? Asked of the leaders' events and of the shared
 * words.
 */
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { brokerState } from '../workers/progress-board.ts'
import type { CatchUpEvents } from './catch-up-events.ts'
import { type CatchUpSampler, sampleMs } from './catch-up-sampler.ts'
import { endsTheBroker, type Fault } from './faults.ts'
import type { LabCluster } from './lab-cluster.ts'

export class CatchUpConvergence {
  /** Partitions that the follower follows, and so must be brought up. */
  affected: readonly PartitionIndex[]
  readonly #lab: LabCluster
  readonly #follower: BrokerId
  readonly #events: CatchUpEvents
  readonly #sampler: CatchUpSampler

  constructor(lab: LabCluster, follower: BrokerId, events: CatchUpEvents, sampler: CatchUpSampler) {
    this.#lab = lab
    this.#follower = follower
    this.#events = events
    this.#sampler = sampler
    this.affected = this.#followedBy(() => false)
  }

  /** Partitions that the broker leads now. */
  led(): PartitionIndex[] {
    return this.#lab.partitions.filter((index) => {
      return this.#lab.cluster.registration(index)?.leader === this.#follower
    })
  }

  /**
   * After the faults: what the broker follows now, and, if its thread had ended, all that it holds;
   * such a broker leads nothing when it is back.
   */
  settle(faults: readonly Fault[]): void {
    const ended = faults.some((fault) => fault.broker === this.#follower && endsTheBroker(fault))
    this.affected = this.#followedBy(() => ended)
  }

  #followedBy(evenIfLed: () => boolean): PartitionIndex[] {
    const { cluster, partitions } = this.#lab
    return partitions.filter((index) => {
      const registration = cluster.registration(index)
      if (registration === undefined) return false
      if (registration.leader === this.#follower && !evenIfLed()) return false
      return registration.replicas.includes(this.#follower)
    })
  }

  /** Records that each affected partition lacks. */
  backlog(): Float64Array {
    const { board } = this.#lab.cluster
    return Float64Array.from(this.affected, (index) => {
      const leader = this.#lab.cluster.registration(index)?.leader ?? -1
      if (leader < 1 || leader === this.#follower) return 0
      const own = board.logEndOffset(this.#follower, index)
      // What the leader no longer holds can't be lacked.
      const first = board.logStartOffset(leader as BrokerId, index)
      return Math.max(0, board.logEndOffset(leader as BrokerId, index) - Math.max(own, first))
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

  /** A broker that hasn't registered since its restart is in sync only on paper. */
  areAllBack(): boolean {
    const { board, brokerIds } = this.#lab.cluster
    if (brokerIds.some((id) => board.state(id) !== brokerState.running)) return false
    return this.#lab.partitions.every((index) => {
      const registration = this.#lab.cluster.registration(index)
      return (
        registration !== undefined &&
        registration.inSyncReplicas.length === registration.replicas.length
      )
    })
  }
}
