/**
 * Eligible leader replicas (KIP-966; Kafka: PartitionChangeBuilder.maybePopulateTargetElr,
 * maybeUpdateLastKnownLeader). Pure.
 *
 * While fewer than `min.insync.replicas` are in sync the high watermark stands still, so whoever
 * left the in-sync replicas since then still has all that is committed, and may lead.
 */
import type { BrokerId } from '../../ids.ts'
import { leaderNone, type PartitionRegistration } from '../registration.ts'

export interface EligibleLeadersInput {
  readonly registration: PartitionRegistration
  /** As they will be after the change. */
  readonly replicas: readonly BrokerId[]
  readonly inSyncReplicas: readonly BrokerId[]
  /** As configured; above the number of replicas it counts as that number. */
  readonly minInSyncReplicas: number
  /** Lost what they hadn't flushed, perhaps committed records. */
  readonly uncleanShutdowns: readonly BrokerId[]
}

const nobody: readonly BrokerId[] = []

/** Whoever was eligible or in sync, isn't in sync now, and kept what it had. */
export function eligibleLeadersOf(input: EligibleLeadersInput): readonly BrokerId[] {
  const { registration, replicas, inSyncReplicas, minInSyncReplicas, uncleanShutdowns } = input
  if (inSyncReplicas.length >= Math.min(minInSyncReplicas, replicas.length)) return nobody
  const { eligibleLeaderReplicas: before, inSyncReplicas: wereInSync } = registration
  const candidates = before.concat(wereInSync.filter((broker) => !before.includes(broker)))
  return candidates.filter(
    (broker) =>
      replicas.includes(broker) &&
      !inSyncReplicas.includes(broker) &&
      !uncleanShutdowns.includes(broker),
  )
}

/**
 * Who led when the last in-sync replica went; forgotten as soon as somebody leads.
 *
 * @param leader after the change.
 * @param inSyncReplicas after the change.
 */
export function lastKnownLeaderAfter(
  registration: PartitionRegistration,
  leader: BrokerId,
  inSyncReplicas: readonly BrokerId[],
): readonly BrokerId[] {
  if (leader !== leaderNone) return nobody
  const becomesEmpty = inSyncReplicas.length === 0 && registration.inSyncReplicas.length > 0
  if (!becomesEmpty || registration.leader === leaderNone) return registration.lastKnownLeader
  return [registration.leader]
}
