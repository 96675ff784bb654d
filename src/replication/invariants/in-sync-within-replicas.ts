/**
 * Invariant: in-sync and eligible replicas are replicas of the partition, each named once; the
 * leader is in sync; and somebody is always known to have all committed records.
 */
import { leaderNone, type PartitionRegistration } from '../registration.ts'

/** @returns what is broken; undefined: nothing */
export function inSyncFault(registration: PartitionRegistration): string | undefined {
  const { replicas, inSyncReplicas, eligibleLeaderReplicas, leader } = registration
  const holders = [...inSyncReplicas, ...eligibleLeaderReplicas]
  const told = `replicas ${replicas}, in sync ${inSyncReplicas}, eligible ${eligibleLeaderReplicas}`
  const stranger = holders.find((holder) => !replicas.includes(holder))
  if (stranger !== undefined) return `${stranger} is no replica: ${told}`
  if (new Set(holders).size !== holders.length) return `named twice: ${told}`
  if (leader !== leaderNone && !inSyncReplicas.includes(leader)) {
    return `leader ${leader} is not in sync: ${told}`
  }
  // With eligible replicas both may be empty: then the last known leader stands for them.
  if (holders.length > 0 || registration.lastKnownLeader.length > 0) return undefined
  return `nobody has the committed records: ${told}`
}
