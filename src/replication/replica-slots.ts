/** Lays the remote replicas of a led partition into slots, and resets what is known of them. */
import type { BrokerId, PartitionIndex } from '../ids.ts'
import { invariant } from '../invariant.ts'
import type { FollowerProgress } from './follower-progress.ts'
import { type LedPartitions, replicaStride } from './led-partitions.ts'
import type { Outsiders } from './outsiders.ts'
import type { PartitionRegistration } from './registration.ts'

export interface SlotParts {
  readonly table: LedPartitions
  readonly progress: FollowerProgress
  readonly outsiders: Outsiders
}

/**
 * Takes over the assignment. Replicas that stay keep their state, new ones begin with none (Kafka:
 * `Partition.updateAssignmentAndIsr`). The ISR must be applied afterwards: masks are over slots.
 */
export function assignSlots(parts: SlotParts, registration: PartitionRegistration): void {
  const { table, progress } = parts
  const partition = registration.index
  table.replicationFactor[partition] =
    registration.replicas.length - registration.addingReplicas.length
  const remote = registration.replicas.filter((broker) => broker !== table.self)
  invariant(remote.length <= replicaStride, () => `${remote.length} replicas fit ${replicaStride}`)
  if (isSameAssignment(table, partition, remote)) return
  const first = partition * replicaStride
  const kept = remote.map((broker) => {
    const slot = table.slotOf(partition, broker)
    return slot < 0 ? undefined : progress.readSlot(first + slot)
  })
  forgetOutsiders(parts, partition)
  table.follower.fill(0, first, first + replicaStride)
  table.followerCount[partition] = remote.length
  for (const [slot, broker] of remote.entries()) {
    table.follower[first + slot] = broker
    const words = kept[slot]
    if (words === undefined) progress.resetUnknown(first + slot, 0)
    else progress.moveSlot(words, first + slot)
  }
}

/**
 * A new tenure or a new epoch of the same leader (Kafka: `Replica.resetReplicaState`): members of
 * the ISR get a whole lag time of grace; a newly elected leader knows no offsets yet. Nor does one
 * whose epoch rose by more than one: metadata may tell only the last of several changes, and under
 * a leader in between followers may have cut what they had told us. (Kafka keeps the offsets, and
 * could count such a follower for the high watermark.)
 */
export function resetReplicas(
  parts: SlotParts,
  registration: PartitionRegistration,
  isNewLeader: boolean,
  nowMs: number,
): void {
  const { table, progress } = parts
  const first = registration.index * replicaStride
  const knowsNothing =
    isNewLeader || registration.leaderEpoch > table.leaderEpoch[registration.index] + 1
  for (let slot = 0; slot < table.followerCount[registration.index]; slot += 1) {
    const broker = table.follower[first + slot] as BrokerId
    const timeMs = registration.inSyncReplicas.includes(broker) ? nowMs : 0
    if (knowsNothing) progress.resetUnknown(first + slot, timeMs)
    else progress.resetTimes(first + slot, timeMs)
  }
}

export function forgetOutsiders(parts: SlotParts, partition: PartitionIndex): void {
  const { table, outsiders } = parts
  const first = partition * replicaStride
  for (let slot = 0; slot < table.followerCount[partition]; slot += 1) {
    outsiders.remove(table.follower[first + slot] as BrokerId, first + slot)
  }
}

function isSameAssignment(
  table: LedPartitions,
  partition: PartitionIndex,
  remote: readonly BrokerId[],
): boolean {
  if (table.followerCount[partition] !== remote.length) return false
  return remote.every((broker, slot) => table.slotOf(partition, broker) === slot)
}
