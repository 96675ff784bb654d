/** Which names topics may have, and how partition directories are called (Kafka: `Topic`). */
import { TidemarkError } from '../errors.ts'

export const topicNameCharactersMax = 249
const allowed = /^[a-zA-Z0-9._-]+$/
const directoryName = /^(?<topic>.+)-(?<partition>0|[1-9]\d{0,9})$/
const partitionMax = 0x7fff_ffff

export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** What is wrong with a topic's name; undefined: nothing. */
export function topicNameFault(topic: string): string | undefined {
  if (topic.length === 0) return 'it is empty'
  if (topic === '.' || topic === '..') return "it is '.' or '..'"
  if (topic.length > topicNameCharactersMax) {
    return `it is longer than ${topicNameCharactersMax} characters`
  }
  return allowed.test(topic) ? undefined : "allowed are ASCII letters, digits, '.', '_' and '-'"
}

/** @throws {TidemarkError} INVALID_TOPIC_EXCEPTION naming the topic and what is allowed. */
export function checkTopicName(topic: string): void {
  const fault = topicNameFault(topic)
  if (fault === undefined) return
  throw new TidemarkError('INVALID_TOPIC_EXCEPTION', `topic '${topic.slice(0, 300)}': ${fault}`)
}

export function partitionDirectoryName({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`
}

/** Undefined for names that no partition has, those of directories being deleted among them. */
export function parsePartitionDirectoryName(name: string): TopicPartition | undefined {
  const groups = directoryName.exec(name)?.groups
  if (groups === undefined || topicNameFault(groups.topic) !== undefined) return undefined
  const partition = Number(groups.partition)
  return partition > partitionMax ? undefined : { topic: groups.topic, partition }
}
