/**
 * The newest AlterPartition request of each broker that was decided. One that comes late, or again,
 * is dropped: its sender has gone on from the answer to a newer one. Were it decided, a refusal
 * could turn into a commitment behind the leader's back, of a replica that the high watermark has
 * passed by then. Kafka's connections rule this out as long as none breaks.
 */
import type { BrokerEpoch, BrokerId } from '../../ids.ts'
import type { AlterPartitionRequest } from '../messages.ts'

export class LatestProposals {
  readonly #latest = new Map<BrokerId, { brokerEpoch: BrokerEpoch; correlationId: number }>()

  /** Notes a request that is about to be decided. False: it must not be. */
  admit({ brokerId, brokerEpoch, correlationId }: AlterPartitionRequest): boolean {
    const latest = this.#latest.get(brokerId)
    // Of a former life: its epoch is refused anyway.
    if (latest !== undefined && brokerEpoch < latest.brokerEpoch) return true
    if (latest?.brokerEpoch === brokerEpoch && correlationId <= latest.correlationId) return false
    this.#latest.set(brokerId, { brokerEpoch, correlationId })
    return true
  }
}
