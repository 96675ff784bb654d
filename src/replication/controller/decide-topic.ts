/** Creating a topic (Kafka: ReplicationControlManager.createTopic). Pure. */
import type { BrokerId } from '../../ids.ts'
import { topicNameFault } from '../../log/topic-name.ts'
import type { CreateTopicRequest, CreateTopicResponse } from '../messages.ts'
import { refuseTopicConfig } from './decide-config.ts'
import type { Decision } from './decision.ts'
import type { MetadataImage } from './metadata-image.ts'
import { metadataTopic } from './metadata-log-port.ts'
import { configResources, type MetadataRecord, type PartitionRecord } from './metadata-records.ts'
import { type Refusal, refuseAssignments } from './replica-assignment.ts'

export interface TopicLimits {
  /** Partitions of the cluster for which there is room. */
  readonly partitionsMax: number
}

/** @param topicId a fresh id for the topic. */
export function decideCreateTopic(
  image: MetadataImage,
  request: CreateTopicRequest,
  topicId: string,
  topicLimits: TopicLimits,
): Decision<CreateTopicResponse> {
  const { correlationId } = request
  const refusal =
    refuseName(image, request.topic) ??
    refuseTopicConfig(request.configs, request.assignments[0]?.length) ??
    refuseCount(image, request, topicLimits) ??
    refuseAssignments(image, request.assignments)
  if (refusal !== undefined) {
    const response = {
      type: 'createTopicResponse',
      correlationId,
      ...refusal,
      topicId: '',
    } as const
    return { records: [], response, events: [] }
  }
  return {
    records: recordsOf(image, request, topicId),
    response: { type: 'createTopicResponse', correlationId, error: 'NONE', detail: '', topicId },
    events: [],
  }
}

function recordsOf(
  image: MetadataImage,
  { topic, assignments, configs }: CreateTopicRequest,
  topicId: string,
): MetadataRecord[] {
  const records: MetadataRecord[] = [{ type: 'topic', name: topic, topicId }]
  for (const [name, value] of Object.entries(configs)) {
    const resourceType = configResources.topic
    records.push({ type: 'config', resourceType, resourceName: topic, name, value })
  }
  assignments.forEach((replicas, partitionId) => {
    records.push(newPartition(image, topicId, partitionId, replicas))
  })
  return records
}

/** In sync are those that are active; the first of them leads. */
export function newPartition(
  image: MetadataImage,
  topicId: string,
  partitionId: number,
  replicas: readonly BrokerId[],
): PartitionRecord {
  const isr = replicas.filter((broker) => image.isActive(broker))
  return {
    type: 'partition',
    partitionId,
    topicId,
    replicas,
    isr,
    removingReplicas: [],
    addingReplicas: [],
    leader: isr[0],
    leaderEpoch: 0,
    partitionEpoch: 0,
  }
}

function refuseName(image: MetadataImage, topic: string): Refusal | undefined {
  const invalid = (why: string): Refusal => ({
    error: 'INVALID_TOPIC_EXCEPTION',
    detail: `topic '${topic.slice(0, 300)}': ${why}`,
  })
  const fault = topicNameFault(topic)
  if (fault !== undefined) return invalid(fault)
  if (topic === metadataTopic) {
    return { error: 'INVALID_REQUEST', detail: `topic '${topic}' is the controller's own` }
  }
  if (image.topicNamed(topic) !== undefined) {
    return { error: 'TOPIC_ALREADY_EXISTS', detail: `topic '${topic}' exists already` }
  }
  // Metrics write '.' as '_', so two such names would be one there.
  const folded = topic.replaceAll('.', '_')
  for (const { name } of image.topics()) {
    if (name.replaceAll('.', '_') === folded) return invalid(`it collides with '${name}'`)
  }
  return undefined
}

function refuseCount(
  image: MetadataImage,
  { topic, assignments }: CreateTopicRequest,
  { partitionsMax }: TopicLimits,
): Refusal | undefined {
  const count = assignments.length
  const room = partitionsMax - image.partitionIndexesEnd
  if (count >= 1 && count <= room) return undefined
  const detail = `topic '${topic}': ${count} partitions; allowed are 1 to ${room}, of ${partitionsMax}`
  return { error: 'INVALID_PARTITIONS', detail: `${detail} in the cluster` }
}
