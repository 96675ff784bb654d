/**
 * ClusterTallies: what is counted out of a cluster's events, because no thread counts it: unclean
 * elections, who left the in-sync replicas and why, who left again after it had come back.
 */
import type { ClusterEvent } from './cluster-events.ts'
import type { BrokerId, PartitionIndex } from './ids.ts'
import type { ControllerEvent } from './replication/controller/controller-events.ts'
import type { LagCause } from './replication/isr-cause.ts'
import type { IsrCommitted } from './replication/replication-event.ts'

export class ClusterTallies {
  uncleanElections = 0
  elections = 0
  fencings = 0
  /** False from the end of the controller's thread to the next that is heard of one. */
  isControllerActive = true
  /** By broker and cause. */
  readonly departures = new Map<BrokerId, Map<LagCause, number>>()
  /** By broker: departures of a replica that had left before and come back. */
  readonly flaps = new Map<BrokerId, number>()
  /** Replicas that came back; partition × broker. */
  readonly #returned = new Map<PartitionIndex, Set<BrokerId>>()

  readonly take = (event: ClusterEvent): void => {
    if (event.type === 'controller') this.#takeController(event.event)
    else if (event.type === 'failed' && event.brokerId === 0) this.isControllerActive = false
    else if (event.type === 'replication') {
      const { event: told } = event
      if (told.type === 'shrinkCommitted' || told.type === 'expandCommitted') this.#changed(told)
    }
  }

  #takeController({ kind, detail }: ControllerEvent): void {
    this.isControllerActive = kind !== 'ended'
    if (kind === 'fenced') this.fencings += 1
    if (kind !== 'elected') return
    this.elections += detail.elected ?? 0
    this.uncleanElections += detail.unclean ?? 0
  }

  #changed({ partition, left, joined }: IsrCommitted): void {
    let returned = this.#returned.get(partition)
    for (const { brokerId, cause } of left) {
      let causes = this.departures.get(brokerId)
      if (causes === undefined) {
        causes = new Map()
        this.departures.set(brokerId, causes)
      }
      causes.set(cause, (causes.get(cause) ?? 0) + 1)
      if (returned?.delete(brokerId) !== true) continue
      this.flaps.set(brokerId, (this.flaps.get(brokerId) ?? 0) + 1)
    }
    if (joined.length === 0) return
    if (returned === undefined) {
      returned = new Set()
      this.#returned.set(partition, returned)
    }
    for (const broker of joined) returned.add(broker)
  }
}
