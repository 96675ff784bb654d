/**
 * Moving replicas (Kafka: ReplicationControlManager.alterPartitionReassignments,
 * PartitionReassignmentReplicas, PartitionReassignmentRevert; KIP-455). Pure.
 *
 * While replicas move, `replicas` is the target followed by those that are to go; the change that
 * takes the last of the target into the in-sync replicas also ends the move, see
 * `completeReassignment`.
 */
import type { BrokerId, PartitionIndex } from '../../ids.ts'
import { limits } from '../../limits.ts'
import type {
  AdminResponse,
  AlterReassignmentsRequest,
  PartitionResult,
  ReassignablePartition,
} from '../messages.ts'
import type { PartitionRegistration } from '../registration.ts'
import { done } from './admin-response.ts'
import { type ControllerEvent, electedEvents, nobodyAsked } from './controller-events.ts'
import type { Decision } from './decision.ts'
import { changeOf, electionRules } from './election-rules.ts'
import type { MetadataImage } from './metadata-image.ts'
import type { PartitionChangeRecord } from './metadata-records.ts'
import { type Refusal, refuseReplicas } from './replica-assignment.ts'

type Outcome = Refusal | { readonly change: PartitionChangeRecord | undefined }

export function decideAlterReassignments(
  image: MetadataImage,
  request: AlterReassignmentsRequest,
  nowMs: number,
): Decision<AdminResponse> {
  const changes: PartitionChangeRecord[] = []
  const moved: PartitionIndex[] = []
  const results: PartitionResult[] = []
  const seen = new Set<PartitionRegistration>()
  for (const item of request.partitions) {
    const { topic, partition } = item
    const topicId = image.topicNamed(topic)?.topicId
    const registration = topicId === undefined ? undefined : image.partitionOf(topicId, partition)
    const outcome = decideItem(image, registration, item, seen)
    if ('error' in outcome) {
      results.push({ topic, partition, ...outcome })
      continue
    }
    results.push({ topic, partition, error: 'NONE', detail: '' })
    if (registration === undefined || outcome.change === undefined) continue
    changes.push(outcome.change)
    moved.push(registration.index)
  }
  const detail = { metadataOffset: image.endOffset }
  const moving: ControllerEvent[] =
    moved.length === 0
      ? []
      : [{ atMs: nowMs, kind: 'reassigning', brokerId: nobodyAsked, partitions: moved, detail }]
  const events = [...moving, ...electedEvents(image, changes, nobodyAsked, nowMs)]
  return done(request, changes, events, results)
}

function decideItem(
  image: MetadataImage,
  registration: PartitionRegistration | undefined,
  { topic, partition, replicas }: ReassignablePartition,
  seen: Set<PartitionRegistration>,
): Outcome {
  const what = `${topic}-${partition}`
  if (registration === undefined) {
    return { error: 'UNKNOWN_TOPIC_OR_PARTITION', detail: `no partition ${what}` }
  }
  if (seen.has(registration)) {
    return { error: 'INVALID_REQUEST', detail: `${what} stands twice in the request` }
  }
  seen.add(registration)
  if (replicas === null) return cancel(image, what, registration)
  return refuseReplicas(image, what, replicas) ?? move(image, what, registration, replicas)
}

/**
 * A new target replaces one that is still being worked on. `addingReplicas` are all that weren't
 * there before the first of them, so that calling it off leads back there.
 */
function move(
  image: MetadataImage,
  what: string,
  registration: PartitionRegistration,
  target: readonly BrokerId[],
): Outcome {
  const present = registration.replicas
  const isOriginal = (broker: BrokerId) =>
    present.includes(broker) && !registration.addingReplicas.includes(broker)
  const removingReplicas = present.filter((broker) => !target.includes(broker))
  const replicas = target.concat(removingReplicas)
  if (replicas.length > limits.replicationFactorMax) {
    const detail = `${what}: ${replicas.length} replicas while it moves; at most ${limits.replicationFactorMax}`
    return { error: 'INVALID_REPLICATION_FACTOR', detail }
  }
  const addingReplicas = replicas.filter((broker) => !isOriginal(broker))
  return { change: changeOf(image, registration, { replicas, addingReplicas, removingReplicas }) }
}

function cancel(image: MetadataImage, what: string, registration: PartitionRegistration): Outcome {
  const { addingReplicas, removingReplicas, eligibleLeaderReplicas } = registration
  if (!isReassigning(registration)) {
    return { error: 'NO_REASSIGNMENT_IN_PROGRESS', detail: `${what}: no replica is being moved` }
  }
  const stays = (broker: BrokerId) => !addingReplicas.includes(broker)
  const replicas = registration.replicas.filter(stays)
  const inSyncReplicas = registration.inSyncReplicas.filter(stays)
  const nothing = { addingReplicas: [], removingReplicas: [] }
  if (inSyncReplicas.length > 0 || eligibleLeaderReplicas.some(stays)) {
    return { change: changeOf(image, registration, { replicas, inSyncReplicas, ...nothing }) }
  }
  const detail = `${what}: none of the replicas [${replicas}] that would stay is in sync`
  if (electionRules(image, registration.topic).election !== 'unclean') {
    return {
      error: 'INVALID_REPLICA_ASSIGNMENT',
      detail: `${detail}; removing ${removingReplicas}`,
    }
  }
  // The first is taken to be in sync, though it may lack committed records.
  const first = replicas.slice(0, 1)
  const target = { replicas, inSyncReplicas: first, ...nothing, election: 'unclean' } as const
  return { change: changeOf(image, registration, { ...target, leaderRecoveryState: 'recovering' }) }
}

function isReassigning({ addingReplicas, removingReplicas }: PartitionRegistration): boolean {
  return addingReplicas.length > 0 || removingReplicas.length > 0
}

/** The moves that are under way (Kafka: ListPartitionReassignments). */
export function listReassignments(image: MetadataImage): PartitionRegistration[] {
  const moving: PartitionRegistration[] = []
  image.forEachPartition((registration) => {
    if (isReassigning(registration)) moving.push(registration)
  })
  return moving
}
