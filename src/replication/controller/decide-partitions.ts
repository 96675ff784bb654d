/** More partitions for a topic, and the end of a topic (Kafka: createPartitions, deleteTopics). */
import type { AdminResponse, CreatePartitionsRequest, DeleteTopicRequest } from '../messages.ts'
import { done, refused } from './admin-response.ts'
import { newPartition, type TopicLimits } from './decide-topic.ts'
import type { Decision } from './decision.ts'
import type { MetadataImage } from './metadata-image.ts'
import { refuseAssignments } from './replica-assignment.ts'

export function decideCreatePartitions(
  image: MetadataImage,
  request: CreatePartitionsRequest,
  { partitionsMax }: TopicLimits,
): Decision<AdminResponse> {
  const { topic: name, count, assignments } = request
  const topic = image.topicNamed(name)
  if (topic === undefined) {
    return refused(request, 'UNKNOWN_TOPIC_OR_PARTITION', `no topic '${name}'`)
  }
  const present = topic.partitions.size
  const most = present + partitionsMax - image.partitionIndexesEnd
  if (!Number.isInteger(count) || count <= present || count > most) {
    const detail = `topic '${name}': ${count} partitions; it has ${present}, allowed are more, up to ${most}`
    return refused(request, 'INVALID_PARTITIONS', detail)
  }
  if (assignments.length !== count - present) {
    const detail = `topic '${name}': ${assignments.length} assignments for ${count - present} new partitions`
    return refused(request, 'INVALID_REPLICA_ASSIGNMENT', detail)
  }
  const factor = image.partitionOf(topic.topicId, 0)?.replicas.length
  const refusal = refuseAssignments(image, assignments, factor, present)
  if (refusal !== undefined) return refused(request, refusal.error, refusal.detail)
  const records = assignments.map((replicas, at) =>
    newPartition(image, topic.topicId, present + at, replicas),
  )
  return done(request, records)
}

/** Its settings go with it. */
export function decideDeleteTopic(
  image: MetadataImage,
  request: DeleteTopicRequest,
): Decision<AdminResponse> {
  const topic = image.topicNamed(request.topic)
  if (topic === undefined) {
    return refused(request, 'UNKNOWN_TOPIC_OR_PARTITION', `no topic '${request.topic}'`)
  }
  return done(request, [{ type: 'removeTopic', topicId: topic.topicId }])
}
