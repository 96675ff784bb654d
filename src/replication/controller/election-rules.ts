/**
 * How a topic's partitions elect, from its settings (Kafka: ConfigurationControlManager
 * .uncleanLeaderElectionEnabledForTopic, ReplicationControlManager.getTopicEffectiveMinIsr). Pure.
 */
import type { PartitionRegistration } from '../registration.ts'
import {
  buildPartitionChange,
  type ElectionRules,
  type PartitionChangeTarget,
} from './build-partition-change.ts'
import type { MetadataImage } from './metadata-image.ts'
import type { PartitionChangeRecord } from './metadata-records.ts'

/** Feature that turns eligible leader replicas on with level 1 (KIP-966). */
export const eligibleLeaderReplicasFeature = 'eligible.leader.replicas.version'

/** A topic's setting by name, where a change may already be thought of. */
export type TopicSettings = (name: string) => string | undefined

export function electionRules(
  image: MetadataImage,
  topic: string,
  settings: TopicSettings = (name) => image.topicConfig(topic, name),
): ElectionRules {
  return {
    election: settings('unclean.leader.election.enable') === 'true' ? 'unclean' : 'online',
    minInSyncReplicas: Number(settings('min.insync.replicas') ?? 1),
    keepsEligible: keepsEligibleLeaders(image),
  }
}

export function keepsEligibleLeaders(image: MetadataImage): boolean {
  return (image.featureLevel(eligibleLeaderReplicasFeature) ?? 0) > 0
}

/**
 * A change of a partition by its topic's rules, led by whoever is active; `target` may say
 * otherwise.
 */
export function changeOf(
  image: MetadataImage,
  registration: PartitionRegistration,
  target: Omit<Partial<PartitionChangeTarget>, 'registration'>,
): PartitionChangeRecord | undefined {
  return buildPartitionChange({
    ...electionRules(image, registration.topic),
    mayLead: (broker) => image.isActive(broker),
    ...target,
    registration,
  })
}
