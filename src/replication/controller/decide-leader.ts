/** Who leads (Kafka: PartitionChangeBuilder.electLeader). Pure. */
import type { BrokerId } from '../../ids.ts'
import { leaderNone } from '../registration.ts'

/**
 * - `online`: keeps the leader while it may lead, else the first in-sync replica that may.
 * - `unclean`: as `online`, then any replica that may lead: committed records can be lost.
 * - `preferred`: the first replica of the assignment if it is in sync and may lead, else as
 *   `online`.
 */
export type ElectionType = 'online' | 'unclean' | 'preferred'

export interface ElectionInput {
  readonly type: ElectionType
  /** In order of preference. */
  readonly replicas: readonly BrokerId[]
  /** In-sync replicas as they will be after the change. */
  readonly inSyncReplicas: readonly BrokerId[]
  /** As they will be: they have all that is committed, and lead when nobody is in sync. */
  readonly eligibleLeaderReplicas: readonly BrokerId[]
  /** Who led last, when nobody is left in the two lists above; none or one. */
  readonly lastKnownLeader: readonly BrokerId[]
  /** The present leader, or `leaderNone`. */
  readonly leader: BrokerId
  /** Whether the broker is there to lead: active, and not on its way out by this very change. */
  readonly mayLead: (broker: BrokerId) => boolean
}

export interface ElectionResult {
  /** `leaderNone` when nobody can lead. */
  readonly leader: BrokerId
  /** The leader may lack committed records. */
  readonly unclean: boolean
}

export function decideLeader(input: ElectionInput): ElectionResult {
  const { type, replicas, leader } = input
  if (type === 'preferred' && replicas.length > 0 && isValid(input, replicas[0])) {
    return { leader: replicas[0], unclean: false }
  }
  if (isValid(input, leader)) return { leader, unclean: false }
  for (const replica of replicas) {
    if (isValid(input, replica)) return { leader: replica, unclean: false }
  }
  const known = lastKnown(input)
  if (known !== undefined) return { leader: known, unclean: true }
  if (type === 'unclean') {
    for (const replica of replicas) {
      if (input.mayLead(replica)) return { leader: replica, unclean: true }
    }
  }
  return { leader: leaderNone, unclean: false }
}

function isValid(input: ElectionInput, broker: BrokerId): boolean {
  const { inSyncReplicas, eligibleLeaderReplicas, mayLead } = input
  const hasAll = inSyncReplicas.length > 0 ? inSyncReplicas : eligibleLeaderReplicas
  return hasAll.includes(broker) && mayLead(broker)
}

/**
 * When nobody is known to have all that is committed, the last leader comes nearest (Kafka:
 * canElectLastKnownLeader). It must be there, as anybody else (KAFKA-19522).
 */
function lastKnown(input: ElectionInput): BrokerId | undefined {
  const { inSyncReplicas, eligibleLeaderReplicas, lastKnownLeader, replicas, mayLead } = input
  if (inSyncReplicas.length > 0 || eligibleLeaderReplicas.length > 0) return undefined
  if (lastKnownLeader.length !== 1) return undefined
  const [broker] = lastKnownLeader
  return replicas.includes(broker) && mayLead(broker) ? broker : undefined
}
