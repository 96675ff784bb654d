/**
 * When a running reassignment is done (Kafka: PartitionReassignmentReplicas, KAFKA-15665). Pure.
 */
import type { BrokerId } from '../../ids.ts'

export interface AssignmentTarget {
  readonly replicas: readonly BrokerId[]
  readonly inSyncReplicas: readonly BrokerId[]
  readonly addingReplicas: readonly BrokerId[]
  readonly removingReplicas: readonly BrokerId[]
}

const nobody: readonly BrokerId[] = []

/**
 * Completes the reassignment when *all* replicas that are to stay are in sync, not merely those
 * being added; else returns the target as it is.
 */
export function completeReassignment(target: AssignmentTarget): AssignmentTarget {
  const { removingReplicas, addingReplicas } = target
  if (removingReplicas.length === 0 && addingReplicas.length === 0) return target
  const stays = (broker: BrokerId) => !removingReplicas.includes(broker)
  const replicas = target.replicas.filter(stays)
  const inSyncReplicas = target.inSyncReplicas.filter(stays)
  if (inSyncReplicas.length === 0) return target
  if (!replicas.every((broker) => inSyncReplicas.includes(broker))) return target
  return { replicas, inSyncReplicas, addingReplicas: nobody, removingReplicas: nobody }
}
