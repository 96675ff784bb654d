/**
 * Invariant: within a leader's tenure (one broker, one leader epoch) the high watermark of a
 * partition never goes back (Kafka: `UnifiedLog.maybeIncrementHighWatermark`).
 */
import type { BrokerId, LeaderEpoch, Offset, PartitionIndex } from '../../ids.ts'

interface Tenure {
  leaderEpoch: LeaderEpoch
  highWatermark: Offset
}

export class HighWatermarkRises {
  readonly #tenures = new Map<number, Tenure>()
  readonly #brokersMax: number

  constructor(brokersMax: number) {
    this.#brokersMax = brokersMax
  }

  /** @returns what is broken; undefined: nothing */
  observe(
    broker: BrokerId,
    partition: PartitionIndex,
    leaderEpoch: LeaderEpoch,
    highWatermark: Offset,
  ): string | undefined {
    const key = partition * (this.#brokersMax + 1) + broker
    const tenure = this.#tenures.get(key)
    if (tenure === undefined) {
      this.#tenures.set(key, { leaderEpoch, highWatermark })
      return undefined
    }
    const before = tenure.highWatermark
    const isSameTenure = tenure.leaderEpoch === leaderEpoch
    tenure.leaderEpoch = leaderEpoch
    tenure.highWatermark = highWatermark
    if (!isSameTenure || highWatermark >= before) return undefined
    return `broker ${broker} in epoch ${leaderEpoch}: high watermark ${highWatermark} after ${before}`
  }
}
