/**
 * The partitions that one broker leads, as structure of arrays.
 *
 * Per partition: `array[partition]`. Per replica: `array[partition * stride + slot]`, where slots
 * 0 .. followerCount - 1 hold the remote replicas; the leader itself has no slot. Sets of replicas
 * are bit masks over slots, so that the rules of the hot path touch a few adjacent words and no
 * object.
 */

import type { BrokerId, PartitionIndex } from '../ids.ts'
import { invariant } from '../invariant.ts'
import { limits } from '../limits.ts'
import {
  committedInSyncReplicas,
  committedIsr,
  type IsrState,
  isPending,
  maximalInSyncReplicas,
} from './isr-state.ts'

/** Replica slots of a partition; a mask over them fits a byte. */
export const replicaStride = limits.replicationFactorMax
invariant(replicaStride <= 8, 'a mask of replica slots fits a byte')
invariant(limits.brokersMax < 256, 'a broker id fits a byte')

const noIsr = committedIsr([], 'recovered')

export class LedPartitions {
  readonly self: BrokerId
  readonly partitionsMax: number

  /** 1 while this broker leads the partition. */
  readonly leading: Uint8Array
  /** Both outlive leadership, so that older metadata stays refused. -1: never heard of. */
  readonly leaderEpoch: Int32Array
  readonly partitionEpoch: Int32Array
  readonly leaderEpochStartOffset: Float64Array
  readonly logEndOffset: Float64Array
  readonly highWatermark: Float64Array
  /** As configured; `effectiveMinInSync` bounds it by the replicas there are. */
  readonly minInSync: Uint8Array
  /**
   * Replication factor without the adding replicas of a reassignment (Kafka: `AssignmentState`).
   */
  readonly replicationFactor: Uint8Array

  readonly followerCount: Uint8Array
  /** Per replica: broker id; 0 in free slots. */
  readonly follower: Uint8Array

  readonly pending: Uint8Array
  readonly committedMask: Uint8Array
  readonly maximalMask: Uint8Array
  /** Members, the leader included. */
  readonly committedSize: Uint8Array
  readonly maximalSize: Uint8Array
  /** Committed members that are neither the leader nor hold a slot. */
  readonly strangers: Uint8Array
  readonly #isr: IsrState[] = []

  readonly #list: Int32Array
  readonly #place: Int32Array
  #count = 0

  constructor(self: BrokerId, partitionsMax: number) {
    this.self = self
    this.partitionsMax = partitionsMax
    const replicas = partitionsMax * replicaStride
    this.leading = new Uint8Array(partitionsMax)
    this.leaderEpoch = new Int32Array(partitionsMax).fill(-1)
    this.partitionEpoch = new Int32Array(partitionsMax).fill(-1)
    this.leaderEpochStartOffset = new Float64Array(partitionsMax)
    this.logEndOffset = new Float64Array(partitionsMax)
    this.highWatermark = new Float64Array(partitionsMax)
    this.minInSync = new Uint8Array(partitionsMax)
    this.replicationFactor = new Uint8Array(partitionsMax)
    this.followerCount = new Uint8Array(partitionsMax)
    this.follower = new Uint8Array(replicas)
    this.pending = new Uint8Array(partitionsMax)
    this.committedMask = new Uint8Array(partitionsMax)
    this.maximalMask = new Uint8Array(partitionsMax)
    this.committedSize = new Uint8Array(partitionsMax)
    this.maximalSize = new Uint8Array(partitionsMax)
    this.strangers = new Uint8Array(partitionsMax)
    this.#list = new Int32Array(partitionsMax)
    this.#place = new Int32Array(partitionsMax).fill(-1)
  }

  /**
   * Number of partitions led now; `partitionAt(0 .. count - 1)` walks them in no particular order.
   */
  get count(): number {
    return this.#count
  }

  partitionAt(place: number): PartitionIndex {
    return this.#list[place] as PartitionIndex
  }

  startLeading(partition: PartitionIndex): void {
    if (this.leading[partition] === 1) return
    this.leading[partition] = 1
    this.#place[partition] = this.#count
    this.#list[this.#count] = partition
    this.#count += 1
  }

  stopLeading(partition: PartitionIndex): void {
    invariant(this.leading[partition] === 1, 'only a led partition stops being led')
    const place = this.#place[partition]
    const moved = this.#list[this.#count - 1]
    this.#count -= 1
    this.#list[place] = moved
    this.#place[moved] = place
    this.#place[partition] = -1
    this.leading[partition] = 0
    this.follower.fill(0, partition * replicaStride, (partition + 1) * replicaStride)
    this.followerCount[partition] = 0
    this.setIsr(partition, noIsr)
  }

  /** Slot of a remote replica, -1 if the broker is none. */
  slotOf(partition: PartitionIndex, broker: BrokerId): number {
    const first = partition * replicaStride
    const end = first + this.followerCount[partition]
    for (let index = first; index < end; index += 1) {
      if (this.follower[index] === broker) return index - first
    }
    return -1
  }

  isrOf(partition: PartitionIndex): IsrState {
    return this.#isr[partition] ?? noIsr
  }

  /** Sets the state and every word derived from it; call it again when the slots have changed. */
  setIsr(partition: PartitionIndex, state: IsrState): void {
    this.#isr[partition] = state
    const committed = committedInSyncReplicas(state)
    const maximal = maximalInSyncReplicas(state)
    this.pending[partition] = isPending(state) ? 1 : 0
    this.committedMask[partition] = this.#maskOf(partition, committed)
    this.maximalMask[partition] = this.#maskOf(partition, maximal)
    this.committedSize[partition] = committed.length
    this.maximalSize[partition] = maximal.length
    this.strangers[partition] = this.strangersOf(partition).length
  }

  /** Committed members without a slot: no longer assigned, or never were. */
  strangersOf(partition: PartitionIndex): BrokerId[] {
    return committedInSyncReplicas(this.isrOf(partition)).filter(
      (broker) => broker !== this.self && this.slotOf(partition, broker) < 0,
    )
  }

  /** `min.insync.replicas`, but never more than there are replicas (Kafka: `effectiveMinIsr`). */
  effectiveMinInSync(partition: PartitionIndex): number {
    return Math.min(this.minInSync[partition], this.followerCount[partition] + 1)
  }

  /** Kafka: `Partition.isUnderMinIsr`, over the committed ISR. */
  isUnderMinInSync(partition: PartitionIndex): boolean {
    return this.committedSize[partition] < this.effectiveMinInSync(partition)
  }

  #maskOf(partition: PartitionIndex, brokers: readonly BrokerId[]): number {
    let mask = 0
    for (const broker of brokers) {
      const slot = this.slotOf(partition, broker)
      if (slot >= 0) mask |= 1 << slot
    }
    return mask
  }
}
