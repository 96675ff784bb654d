/**
 * What a change of a broker's state does to partitions (Kafka: ReplicationControlManager
 * .generateLeaderAndIsrUpdates and the handlers that call it). Pure.
 */
import type { BrokerId } from '../../ids.ts'
import { leaderNone, type PartitionRegistration } from '../registration.ts'
import { buildPartitionChange } from './build-partition-change.ts'
import type { ElectionType } from './decide-leader.ts'
import type { MetadataImage } from './metadata-image.ts'
import type { PartitionChangeRecord } from './metadata-records.ts'

/**
 * The broker is leaving (fenced, shutting down, gone): out of every ISR but where it is the last
 * member, and its leaderships to others. The records stand before the one that says that it left.
 */
export function changesOfLeaving(image: MetadataImage, broker: BrokerId): PartitionChangeRecord[] {
  const changes: PartitionChangeRecord[] = []
  const mayLead = (candidate: BrokerId) => candidate !== broker && image.isActive(candidate)
  image.forEachPartition((registration) => {
    if (!registration.inSyncReplicas.includes(broker)) return
    const change = buildPartitionChange({
      registration,
      election: electionFor(image, registration),
      mayLead,
      inSyncReplicas: registration.inSyncReplicas.filter((member) => member !== broker),
    })
    if (change !== undefined) changes.push(change)
  })
  return changes
}

/**
 * The broker is back: partitions without leader may elect it. It joins no ISR by that. The
 * records stand after the one that says that it is back.
 */
export function changesOfReturning(
  image: MetadataImage,
  broker: BrokerId,
): PartitionChangeRecord[] {
  const changes: PartitionChangeRecord[] = []
  // The image still has it fenced. One that began a controlled shutdown in this life stays out of
  // every leadership, even if it changed its mind (Kafka's brokers never do).
  const returns = image.broker(broker)?.inControlledShutdown !== true
  const mayLead = (candidate: BrokerId) =>
    (returns && candidate === broker) || image.isActive(candidate)
  image.forEachPartition((registration) => {
    if (registration.leader !== leaderNone) return
    const election = electionFor(image, registration)
    const change = buildPartitionChange({ registration, election, mayLead })
    if (change !== undefined) changes.push(change)
  })
  return changes
}

/** Elections are clean unless the topic, or the cluster's default, says otherwise. */
export function electionFor(image: MetadataImage, { topic }: PartitionRegistration): ElectionType {
  const enabled = image.topicConfig(topic, 'unclean.leader.election.enable')
  return enabled === 'true' ? 'unclean' : 'online'
}

export function leadsAny(image: MetadataImage, broker: BrokerId): boolean {
  for (let index = 0; index < image.partitionIndexesEnd; index++) {
    if (image.partition(index as PartitionRegistration['index'])?.leader === broker) return true
  }
  return false
}
