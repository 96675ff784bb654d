/**
 * Changes of settings (Kafka: ConfigurationControlManager.incrementalAlterConfigs, KIP-339, and
 * what KAFKA-16540 and KIP-966 add). Pure.
 *
 * What a setting means for who is eligible or may lead is put right in the same batch of records.
 */
import { topicConfigFromEntries } from '../../config.ts'
import { isTidemarkError } from '../../errors.ts'
import type { AdminResponse, AlterConfigsRequest } from '../messages.ts'
import { leaderNone, type PartitionRegistration } from '../registration.ts'
import { done, refused } from './admin-response.ts'
import { electedEvents, nobodyAsked } from './controller-events.ts'
import type { Decision } from './decision.ts'
import { changeOf, electionRules, type TopicSettings } from './election-rules.ts'
import type { MetadataImage, TopicImage } from './metadata-image.ts'
import {
  type ConfigRecord,
  configResources,
  type PartitionChangeRecord,
} from './metadata-records.ts'
import type { Refusal } from './replica-assignment.ts'

/** Settings that a default for all topics may be given for; brokers and controller share them. */
const withDefault = new Set(['min.insync.replicas', 'unclean.leader.election.enable'])

const minInSync = 'min.insync.replicas'

export function decideAlterConfigs(
  image: MetadataImage,
  request: AlterConfigsRequest,
  nowMs: number,
): Decision<AdminResponse> {
  const { topic, changes } = request
  const named = topic === undefined ? undefined : image.topicNamed(topic)
  if (topic !== undefined && named === undefined) {
    return refused(request, 'UNKNOWN_TOPIC_OR_PARTITION', `no topic '${topic}'`)
  }
  const resourceType = topic === undefined ? configResources.broker : configResources.topic
  const resourceName = topic ?? ''
  const before = image.config(resourceType, resourceName)
  const after = changed(before, changes)
  const refusal = refuseChanged(image, named, after)
  if (refusal !== undefined) return refused(request, refusal.error, refusal.detail)

  const configs: ConfigRecord[] = []
  for (const [name, value] of Object.entries(changes)) {
    if (value === (before.get(name) ?? null)) continue
    configs.push({ type: 'config', resourceType, resourceName, name, value })
  }
  const topics = configs.length === 0 ? [] : named === undefined ? [...image.topics()] : [named]
  const effects = topics.flatMap((each) => {
    const own = named === undefined ? image.config(configResources.topic, each.name) : after
    const defaults = named === undefined ? after : image.config(configResources.broker, '')
    return effectsOn(image, each, (name) => own.get(name) ?? defaults.get(name))
  })
  const events = electedEvents(image, effects, nobodyAsked, nowMs)
  return done(request, [...configs, ...effects], events)
}

type Entries = ReadonlyMap<string, string>

function changed(before: Entries, changes: AlterConfigsRequest['changes']): Entries {
  const after = new Map(before)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) after.delete(name)
    else after.set(name, value)
  }
  return after
}

function refuseChanged(
  image: MetadataImage,
  topic: TopicImage | undefined,
  after: Entries,
): Refusal | undefined {
  if (topic !== undefined) {
    const factor = image.partitionOf(topic.topicId, 0)?.replicas.length
    return refuseTopicConfig(Object.fromEntries(after), factor)
  }
  const other = [...after.keys()].find((name) => !withDefault.has(name))
  if (other !== undefined) {
    const detail = `default of ${other}: allowed are ${[...withDefault].join(', ')}`
    return { error: 'INVALID_CONFIG', detail }
  }
  return refuseTopicConfig(Object.fromEntries(after), undefined)
}

/** @param factor replicas of each partition; undefined: not known, not looked at */
export function refuseTopicConfig(
  entries: Readonly<Record<string, string>>,
  factor: number | undefined,
): Refusal | undefined {
  try {
    const minimum = topicConfigFromEntries(new Map(Object.entries(entries)))[minInSync]
    if (factor === undefined || entries[minInSync] === undefined || minimum <= factor) {
      return undefined
    }
    const detail = `${minInSync} = ${minimum}: at most the replication factor ${factor}`
    return { error: 'INVALID_CONFIG', detail }
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    return { error: error.code, detail: error.message }
  }
}

/**
 * With a smaller minimum the high watermark may move again, and whoever was eligible may fall
 * behind it; with unclean elections allowed, who is there may lead.
 */
function effectsOn(
  image: MetadataImage,
  topic: TopicImage,
  settings: TopicSettings,
): PartitionChangeRecord[] {
  const rules = electionRules(image, topic.name, settings)
  const before = electionRules(image, topic.name)
  const isSame =
    rules.election === before.election && rules.minInSyncReplicas === before.minInSyncReplicas
  if (isSame) return []
  const changes: PartitionChangeRecord[] = []
  for (const index of topic.partitions.values()) {
    const registration = image.partition(index)
    if (registration === undefined || !isConcerned(registration)) continue
    const change = changeOf(image, registration, rules)
    if (change !== undefined) changes.push(change)
  }
  return changes
}

function isConcerned({ leader, eligibleLeaderReplicas }: PartitionRegistration): boolean {
  return leader === leaderNone || eligibleLeaderReplicas.length > 0
}
