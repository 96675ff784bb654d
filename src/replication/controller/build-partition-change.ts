/** The record that brings a partition to a target (Kafka: PartitionChangeBuilder.build). Pure. */
import type { BrokerId } from '../../ids.ts'
import type { LeaderRecoveryState, PartitionRegistration } from '../registration.ts'
import { completeReassignment } from './complete-reassignment.ts'
import { decideLeader, type ElectionType } from './decide-leader.ts'
import { leaderRecoveryStates, type PartitionChangeRecord } from './metadata-records.ts'

export interface PartitionChangeTarget {
  readonly registration: PartitionRegistration
  readonly election: ElectionType
  /** Whether the broker is there to lead; see `ElectionInput`. */
  readonly mayLead: (broker: BrokerId) => boolean
  /** What is wanted; absent: as it is. */
  readonly inSyncReplicas?: readonly BrokerId[]
  readonly replicas?: readonly BrokerId[]
  readonly addingReplicas?: readonly BrokerId[]
  readonly removingReplicas?: readonly BrokerId[]
  readonly leaderRecoveryState?: LeaderRecoveryState
}

type Fields = { -readonly [K in keyof PartitionChangeRecord]: PartitionChangeRecord[K] }

/**
 * The change record, or undefined when nothing differs. Order matters: a completed reassignment
 * sets the target, the election sees it, and only then are the fields compared.
 *
 * The last in-sync replica is never removed: with an empty target the partition is left without
 * leader and keeps its in-sync replicas, so that the one that has all committed records leads
 * when it returns.
 */
export function buildPartitionChange(
  target: PartitionChangeTarget,
): PartitionChangeRecord | undefined {
  const { registration } = target
  const assignment = completeReassignment({
    replicas: target.replicas ?? registration.replicas,
    inSyncReplicas: target.inSyncReplicas ?? registration.inSyncReplicas,
    addingReplicas: target.addingReplicas ?? registration.addingReplicas,
    removingReplicas: target.removingReplicas ?? registration.removingReplicas,
  })
  const fields: Fields = {
    type: 'partitionChange',
    partitionId: registration.partition,
    topicId: registration.topicId,
  }
  if (target.leaderRecoveryState !== undefined) {
    setRecoveryState(fields, registration, target.leaderRecoveryState)
  }
  elect(fields, target, assignment.replicas, assignment.inSyncReplicas)
  if (fields.leader === undefined && !includesAll(assignment.replicas, registration.replicas)) {
    // A replica left the assignment: its fetches must be told from those of a former epoch.
    fields.leader = registration.leader
  }
  if (fields.isr === undefined && assignment.inSyncReplicas.length > 0) {
    if (!sameOrder(assignment.inSyncReplicas, registration.inSyncReplicas)) {
      fields.isr = assignment.inSyncReplicas
    }
  }
  setAssignment(fields, registration, assignment)
  return isNoOp(fields) ? undefined : fields
}

function elect(
  fields: Fields,
  { registration, election, mayLead }: PartitionChangeTarget,
  replicas: readonly BrokerId[],
  inSyncReplicas: readonly BrokerId[],
): void {
  const current = registration.leader
  const { leader, unclean } = decideLeader({
    type: election,
    replicas,
    inSyncReplicas,
    leader: current,
    mayLead,
  })
  if (leader === current) return
  fields.leader = leader
  if (!unclean) return
  // Whoever else is in sync may have committed records that the new leader lacks.
  fields.isr = [leader]
  setRecoveryState(fields, registration, 'recovering')
}

function setRecoveryState(
  fields: Fields,
  registration: PartitionRegistration,
  state: LeaderRecoveryState,
): void {
  if (state === registration.leaderRecoveryState) delete fields.leaderRecoveryState
  else fields.leaderRecoveryState = leaderRecoveryStates[state]
}

function setAssignment(
  fields: Fields,
  registration: PartitionRegistration,
  target: Pick<PartitionRegistration, 'replicas' | 'addingReplicas' | 'removingReplicas'>,
): void {
  if (!sameOrder(target.replicas, registration.replicas)) fields.replicas = target.replicas
  if (!sameOrder(target.addingReplicas, registration.addingReplicas)) {
    fields.addingReplicas = target.addingReplicas
  }
  if (!sameOrder(target.removingReplicas, registration.removingReplicas)) {
    fields.removingReplicas = target.removingReplicas
  }
}

function isNoOp(fields: Fields): boolean {
  return (
    fields.isr === undefined &&
    fields.leader === undefined &&
    fields.replicas === undefined &&
    fields.addingReplicas === undefined &&
    fields.removingReplicas === undefined &&
    fields.leaderRecoveryState === undefined
  )
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
