/** The record that brings a partition to a target (Kafka: PartitionChangeBuilder.build). Pure. */
import type { BrokerId } from '../../ids.ts'
import {
  type LeaderRecoveryState,
  leaderNone,
  type PartitionRegistration,
} from '../registration.ts'
import { type AssignmentTarget, completeReassignment } from './complete-reassignment.ts'
import { decideLeader, type ElectionType } from './decide-leader.ts'
import { eligibleLeadersOf, lastKnownLeaderAfter } from './eligible-leaders.ts'
import { leaderRecoveryStates, type PartitionChangeRecord } from './metadata-records.ts'

/** How a topic's partitions elect, as configured. */
export interface ElectionRules {
  readonly election: ElectionType
  /** `min.insync.replicas`, as configured. */
  readonly minInSyncReplicas: number
  /** Whether eligible leader replicas are kept (`eligible.leader.replicas.version` of 1). */
  readonly keepsEligible: boolean
}

export interface PartitionChangeTarget extends ElectionRules {
  readonly registration: PartitionRegistration
  /** Whether the broker is there to lead; see `ElectionInput`. */
  readonly mayLead: (broker: BrokerId) => boolean
  /** What is wanted; absent: as it is. */
  readonly inSyncReplicas?: readonly BrokerId[]
  readonly replicas?: readonly BrokerId[]
  readonly addingReplicas?: readonly BrokerId[]
  readonly removingReplicas?: readonly BrokerId[]
  readonly leaderRecoveryState?: LeaderRecoveryState
  /** Brokers that lost what they hadn't flushed: neither in sync nor eligible. */
  readonly uncleanShutdowns?: readonly BrokerId[]
}

type Fields = { -readonly [K in keyof PartitionChangeRecord]: PartitionChangeRecord[K] }

/** Who leads after the change, and who else could. */
interface Leadership {
  readonly leader: BrokerId
  readonly unclean: boolean
  readonly inSyncReplicas: readonly BrokerId[]
  readonly eligibleLeaderReplicas: readonly BrokerId[]
}

const nobody: readonly BrokerId[] = []

/**
 * The change record, or undefined when nothing differs. Order matters: a completed reassignment
 * sets the target, the eligible leaders follow from it, the election sees both, and only then are
 * the fields compared.
 *
 * Without eligible leader replicas the last in-sync replica is never removed: with an empty target
 * the partition is left without leader and keeps its in-sync replicas, so that the one that has
 * all committed records leads when it returns.
 */
export function buildPartitionChange(
  target: PartitionChangeTarget,
): PartitionChangeRecord | undefined {
  const { registration, keepsEligible } = target
  const assignment = completeReassignment({
    replicas: target.replicas ?? registration.replicas,
    inSyncReplicas: target.inSyncReplicas ?? registration.inSyncReplicas,
    addingReplicas: target.addingReplicas ?? registration.addingReplicas,
    removingReplicas: target.removingReplicas ?? registration.removingReplicas,
  })
  const elected = elect(target, assignment)
  const fields: Fields = {
    type: 'partitionChange',
    partitionId: registration.partition,
    topicId: registration.topicId,
  }
  setRecoveryState(fields, registration, target.leaderRecoveryState)
  if (elected.unclean) setRecoveryState(fields, registration, 'recovering')
  if (elected.leader !== registration.leader || elected.unclean) fields.leader = elected.leader
  if (fields.leader === undefined && !includesAll(assignment.replicas, registration.replicas)) {
    // A replica left the assignment: its fetches must be told from those of a former epoch.
    fields.leader = registration.leader
  }
  const isr = elected.inSyncReplicas
  if (isr.length > 0 || keepsEligible) {
    if (!sameOrder(isr, registration.inSyncReplicas)) fields.isr = isr
  }
  setEligible(fields, target, elected)
  setAssignment(fields, registration, assignment)
  return isNoOp(fields) ? undefined : fields
}

function elect(target: PartitionChangeTarget, assignment: AssignmentTarget): Leadership {
  const { registration, election, minInSyncReplicas, keepsEligible, mayLead } = target
  const { replicas, inSyncReplicas } = assignment
  const uncleanShutdowns = target.uncleanShutdowns ?? nobody
  const eligibleLeaderReplicas = keepsEligible
    ? eligibleLeadersOf({
        registration,
        replicas,
        inSyncReplicas,
        minInSyncReplicas,
        uncleanShutdowns,
      })
    : nobody
  const { leader, unclean } = decideLeader({
    type: election,
    replicas,
    inSyncReplicas,
    eligibleLeaderReplicas,
    lastKnownLeader: keepsEligible ? registration.lastKnownLeader : nobody,
    leader: registration.leader,
    mayLead,
  })
  if (unclean) {
    // Whoever else is in sync may have committed records that the new leader lacks.
    return { leader, unclean, inSyncReplicas: [leader], eligibleLeaderReplicas: nobody }
  }
  if (leader === leaderNone || inSyncReplicas.includes(leader)) {
    return { leader, unclean, inSyncReplicas, eligibleLeaderReplicas }
  }
  // From the eligible ones: alone in sync, which may be enough for the high watermark to move.
  const isEnough = Math.min(minInSyncReplicas, replicas.length) <= 1
  const others = eligibleLeaderReplicas.filter((broker) => broker !== leader)
  return {
    leader,
    unclean,
    inSyncReplicas: [leader],
    eligibleLeaderReplicas: isEnough ? nobody : others,
  }
}

function setRecoveryState(
  fields: Fields,
  registration: PartitionRegistration,
  state: LeaderRecoveryState | undefined,
): void {
  if (state === undefined) return
  if (state === registration.leaderRecoveryState) delete fields.leaderRecoveryState
  else fields.leaderRecoveryState = leaderRecoveryStates[state]
}

function setEligible(
  fields: Fields,
  { registration, keepsEligible }: PartitionChangeTarget,
  { leader, inSyncReplicas, eligibleLeaderReplicas }: Leadership,
): void {
  if (!sameOrder(eligibleLeaderReplicas, registration.eligibleLeaderReplicas)) {
    fields.eligibleLeaderReplicas = eligibleLeaderReplicas
  }
  const lastKnown = keepsEligible
    ? lastKnownLeaderAfter(registration, leader, inSyncReplicas)
    : nobody
  if (!sameOrder(lastKnown, registration.lastKnownLeader)) fields.lastKnownElr = lastKnown
}

function setAssignment(
  fields: Fields,
  registration: PartitionRegistration,
  target: AssignmentTarget,
): void {
  if (!sameOrder(target.replicas, registration.replicas)) fields.replicas = target.replicas
  if (!sameOrder(target.addingReplicas, registration.addingReplicas)) {
    fields.addingReplicas = target.addingReplicas
  }
  if (!sameOrder(target.removingReplicas, registration.removingReplicas)) {
    fields.removingReplicas = target.removingReplicas
  }
}

/** Type, partition and topic alone change nothing. */
function isNoOp(fields: Fields): boolean {
  return Object.keys(fields).length === 3
}

/** Equal as lists: a mere reorder is a difference. */
function sameOrder(a: readonly BrokerId[], b: readonly BrokerId[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

function includesAll(all: readonly BrokerId[], some: readonly BrokerId[]): boolean {
  return some.every((broker) => all.includes(broker))
}
