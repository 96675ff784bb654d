/**
 * Counts of led partitions short of replicas, kept as states change, so that reading them is free.
 */
import type { PartitionIndex } from '../ids.ts'
import type { LedPartitions } from './led-partitions.ts'

const isUnderReplicated = 1
const isUnderMinInSync = 2
const isAtMinInSync = 4

/**
 * Over the committed ISR (Kafka: UnderReplicatedPartitions, UnderMinIsrPartitionCount,
 * AtMinIsr...).
 */
export class IsrGauges {
  underReplicated = 0
  underMinInSync = 0
  atMinInSync = 0

  readonly #table: LedPartitions
  readonly #flags: Uint8Array

  constructor(table: LedPartitions) {
    this.#table = table
    this.#flags = new Uint8Array(table.partitionsMax)
  }

  /** After any change of a partition's leadership, ISR, replicas or minimum. */
  refresh(partition: PartitionIndex): void {
    const old = this.#flags[partition]
    const flags = this.#flagsOf(partition)
    if (flags === old) return
    this.#flags[partition] = flags
    this.underReplicated += bitChange(old, flags, isUnderReplicated)
    this.underMinInSync += bitChange(old, flags, isUnderMinInSync)
    this.atMinInSync += bitChange(old, flags, isAtMinInSync)
  }

  #flagsOf(partition: PartitionIndex): number {
    const table = this.#table
    if (table.leading[partition] === 0) return 0
    const size = table.committedSize[partition]
    const minimum = table.effectiveMinInSync(partition)
    let flags = 0
    if (table.replicationFactor[partition] > size) flags |= isUnderReplicated
    if (size < minimum) flags |= isUnderMinInSync
    if (size === minimum) flags |= isAtMinInSync
    return flags
  }
}

function bitChange(old: number, flags: number, bit: number): number {
  return ((flags & bit) === 0 ? 0 : 1) - ((old & bit) === 0 ? 0 : 1)
}
