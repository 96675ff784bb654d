/**
 * Invariant: whoever is elected was in sync or eligible, unless the topic allows unclean elections,
 * or nobody that was in sync is left and it is the last known leader (KIP-966).
 */
import type { PartitionRegistration } from '../../../src/replication/registration.ts'

/** @returns what is broken; undefined: nothing */
export function uncleanFault(
  before: PartitionRegistration,
  after: PartitionRegistration,
  isAllowed: boolean,
): string | undefined {
  const { inSyncReplicas, eligibleLeaderReplicas, lastKnownLeader } = before
  const holders = [...inSyncReplicas, ...eligibleLeaderReplicas]
  if (isAllowed || holders.includes(after.leader)) return undefined
  // The last eligible one may lose that in the very change.
  const isLastKnown = inSyncReplicas.length === 0 && lastKnownLeader.includes(after.leader)
  if (isLastKnown && after.eligibleLeaderReplicas.length === 0) return undefined
  return `${after.leader} was elected, in sync ${inSyncReplicas}, eligible ${eligibleLeaderReplicas}`
}
