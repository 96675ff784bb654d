/** Creating a topic (Kafka: ReplicationControlManager.createTopic). Pure. */
import type { ErrorCode } from '../../errors.ts'
import type { BrokerId } from '../../ids.ts'
import { limits } from '../../limits.ts'
import { topicNameFault } from '../../log/topic-name.ts'
import type { CreateTopicRequest, CreateTopicResponse } from '../messages.ts'
import type { Decision } from './decision.ts'
import type { MetadataImage } from './metadata-image.ts'
import { metadataTopic } from './metadata-log-port.ts'
import { configResources, type MetadataRecord } from './metadata-records.ts'

export interface TopicLimits {
  /** Partitions of the cluster for which there is room. */
  readonly partitionsMax: number
}

interface Refusal {
  readonly error: ErrorCode
  readonly detail: string
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
    refuseConfigs(request.configs) ??
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
    const isr = replicas.filter((broker) => image.isActive(broker))
    records.push({
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
    })
  })
  return records
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

/** Only what the controller itself acts on; the rest was checked by whoever took the request. */
function refuseConfigs(configs: Readonly<Record<string, string>>): Refusal | undefined {
  const unclean = configs['unclean.leader.election.enable']
  if (unclean !== undefined && unclean !== 'true' && unclean !== 'false') {
    return invalidConfig('unclean.leader.election.enable', unclean, 'true or false')
  }
  const minInSync = configs['min.insync.replicas']
  if (minInSync !== undefined && !/^[1-9]\d{0,8}$/.test(minInSync)) {
    return invalidConfig('min.insync.replicas', minInSync, 'an integer of 1 or more')
  }
  return undefined
}

function invalidConfig(name: string, value: string, allowed: string): Refusal {
  return { error: 'INVALID_CONFIG', detail: `${name} '${value}': allowed is ${allowed}` }
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

function refuseAssignments(
  image: MetadataImage,
  assignments: readonly (readonly BrokerId[])[],
): Refusal | undefined {
  const factor = assignments[0].length
  for (let partition = 0; partition < assignments.length; partition++) {
    const replicas = assignments[partition]
    const invalid = (why: string): Refusal => ({
      error: 'INVALID_REPLICA_ASSIGNMENT',
      detail: `partition ${partition}, replicas [${replicas}]: ${why}`,
    })
    if (replicas.length === 0) return invalid('there is no replica')
    if (replicas.length > limits.replicationFactorMax) {
      const detail = `replication factor ${replicas.length}; at most ${limits.replicationFactorMax}`
      return { error: 'INVALID_REPLICATION_FACTOR', detail }
    }
    if (replicas.length !== factor) return invalid(`partition 0 has ${factor} replicas`)
    if (new Set(replicas).size !== replicas.length) return invalid('a broker stands twice')
    const stranger = replicas.find((broker) => image.broker(broker) === undefined)
    if (stranger !== undefined) return invalid(`broker ${stranger} is not registered`)
    if (!replicas.some((broker) => image.isActive(broker))) return invalid('no broker is active')
  }
  return undefined
}
