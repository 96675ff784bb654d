/** Invariant: in one leader epoch of a partition one broker leads, and no other ever did. */
import type { BrokerId, LeaderEpoch, PartitionIndex } from '../../ids.ts'

export class OneLeaderAnEpoch {
  readonly #leaders = new Map<PartitionIndex, Map<LeaderEpoch, BrokerId>>()

  /** The broker leads. @returns what is broken; undefined: nothing */
  observe(
    broker: BrokerId,
    partition: PartitionIndex,
    leaderEpoch: LeaderEpoch,
  ): string | undefined {
    let leaders = this.#leaders.get(partition)
    if (leaders === undefined) {
      leaders = new Map()
      this.#leaders.set(partition, leaders)
    }
    const known = leaders.get(leaderEpoch)
    if (known === undefined) leaders.set(leaderEpoch, broker)
    if (known === undefined || known === broker) return undefined
    return `brokers ${known} and ${broker} both led in epoch ${leaderEpoch}`
  }
}
