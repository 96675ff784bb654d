/**
 * Names for the numbers that travel between the layers.
 *
 * Offsets, epochs and positions are plain JavaScript numbers (exact up to 2^53 - 1); they are 64
 * bits wide only on disk and in shared words. The two ids that index arrays side by side
 * everywhere, and would therefore be mixed up most easily, are branded.
 */

/** Id of a broker: an integer from 1 to `limits.brokersMax`. */
export type BrokerId = number & { readonly __brand: 'BrokerId' }

/** Dense number of a partition in the whole cluster, from 0, in order of creation. Never reused. */
export type PartitionIndex = number & { readonly __brand: 'PartitionIndex' }

/**
 * Number of a record in a partition, from 0. Ends of ranges are exclusive unless the name says
 * `last`.
 */
export type Offset = number

/** Term of a leader; grows by one with every new leader. -1: none. */
export type LeaderEpoch = number

/** Version of a partition's registration at the controller; grows with every change of it. */
export type PartitionEpoch = number

/** Incarnation of a broker: offset of its registration record. -1: not stated. */
export type BrokerEpoch = number

export function brokerId(value: number): BrokerId {
  return value as BrokerId
}

export function partitionIndex(value: number): PartitionIndex {
  return value as PartitionIndex
}
