/**
 * Invariant: leader and partition epochs only grow; each change of a registration has a partition
 * epoch of its own, and each change of leader a leader epoch of its own.
 */
import type { PartitionRegistration } from '../registration.ts'

/** @returns what is broken; undefined: nothing */
export function epochsThatDidNotGrow(
  before: PartitionRegistration,
  after: PartitionRegistration,
): string | undefined {
  if (after === before || isSame(before, after)) return undefined
  const told = `${epochsOf(before)} became ${epochsOf(after)}`
  if (after.leaderEpoch < before.leaderEpoch) return `leader epoch went back: ${told}`
  if (after.partitionEpoch <= before.partitionEpoch) return `partition epoch did not grow: ${told}`
  if (after.leader === before.leader || after.leaderEpoch > before.leaderEpoch) return undefined
  return `another leader in the same epoch: ${told}`
}

/** Read back from the log, a registration is another object. */
function isSame(before: PartitionRegistration, after: PartitionRegistration): boolean {
  return (
    after.partitionEpoch === before.partitionEpoch &&
    JSON.stringify(after) === JSON.stringify(before)
  )
}

function epochsOf({ leader, leaderEpoch, partitionEpoch }: PartitionRegistration): string {
  return `leader ${leader} of epoch ${leaderEpoch}, partition epoch ${partitionEpoch}`
}
