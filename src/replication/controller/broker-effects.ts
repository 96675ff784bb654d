/**
 * What a change of a broker's state does to partitions (Kafka: ReplicationControlManager
 * .generateLeaderAndIsrUpdates and the handlers that call it). Pure.
 */
import type { BrokerId } from '../../ids.ts'
import { leaderNone, type PartitionRegistration } from '../registration.ts'
import { changeOf } from './election-rules.ts'
import type { MetadataImage } from './metadata-image.ts'
import type { PartitionChangeRecord } from './metadata-records.ts'

/**
 * The broker is leaving (fenced, shutting down): out of every ISR, and its leaderships to others.
 * It stays eligible where too few are in sync; see `buildPartitionChange` for the last member. The
 * records stand before the one that says that it left.
 */
export function changesOfLeaving(image: MetadataImage, broker: BrokerId): PartitionChangeRecord[] {
  return changesWithout(image, broker, [])
}

/**
 * The broker came back without what it hadn't flushed, or is gone for good: neither in sync nor
 * eligible (Kafka: handleUncleanBrokerShutdown, handleBrokerUnregistered).
 */
export function changesOfLosing(image: MetadataImage, broker: BrokerId): PartitionChangeRecord[] {
  return changesWithout(image, broker, [broker])
}

function changesWithout(
  image: MetadataImage,
  broker: BrokerId,
  uncleanShutdowns: readonly BrokerId[],
): PartitionChangeRecord[] {
  const changes: PartitionChangeRecord[] = []
  const mayLead = (candidate: BrokerId) => candidate !== broker && image.isActive(candidate)
  const isLost = uncleanShutdowns.length > 0
  image.forEachPartition((registration) => {
    const { inSyncReplicas, eligibleLeaderReplicas } = registration
    const isInSync = inSyncReplicas.includes(broker)
    if (!isInSync && !(isLost && eligibleLeaderReplicas.includes(broker))) return
    const change = changeOf(image, registration, {
      mayLead,
      inSyncReplicas: inSyncReplicas.filter((member) => member !== broker),
      uncleanShutdowns,
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
    const change = changeOf(image, registration, { mayLead })
    if (change !== undefined) changes.push(change)
  })
  return changes
}

export function leadsAny(image: MetadataImage, broker: BrokerId): boolean {
  for (let index = 0; index < image.partitionIndexesEnd; index++) {
    if (image.partition(index as PartitionRegistration['index'])?.leader === broker) return true
  }
  return false
}
