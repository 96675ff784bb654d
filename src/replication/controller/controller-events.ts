/** What the controller did and on what numbers, for timelines. Plain data. */
import type { ErrorCode } from '../../errors.ts'
import { type BrokerId, brokerId, type PartitionIndex } from '../../ids.ts'
import type { PartitionRegistration } from '../registration.ts'
import { leaderNone } from '../registration.ts'
import type { MetadataImage } from './metadata-image.ts'
import type { PartitionChangeRecord } from './metadata-records.ts'

/**
 * - `registered`: a new incarnation of the broker; `partitions` lost its former one.
 * - `fenced`: its session ended, or it asked for it; `partitions` are those whose in-sync
 *   replicas it left.
 * - `unfenced`: it has applied its registration and may lead and join.
 * - `shuttingDown`: its controlled shutdown began; `partitions` as with `fenced`.
 * - `committed`: the broker's proposals were applied to `partitions`.
 * - `rejected`: the broker's request, or its proposals for `partitions`, were refused with `error`.
 * - `elected`: the leaders of `partitions` changed, because of the event before it, or for want of
 *   one by request or by the clock (`brokerId` 0).
 * - `started`: a controller has replayed the log, and leads it in a new epoch.
 * - `ended`: the controller's thread has ended before its time; said by who watches over it.
 * - `snapshot`: the state was written down, or with `error` could not be.
 * - `reassigning`: replicas of `partitions` are being moved, or the move was called off.
 */
export type ControllerEventKind =
  | 'registered'
  | 'fenced'
  | 'unfenced'
  | 'shuttingDown'
  | 'committed'
  | 'rejected'
  | 'elected'
  | 'reassigning'
  | 'snapshot'
  | 'started'
  | 'ended'

export interface ControllerEvent {
  readonly atMs: number
  readonly kind: ControllerEventKind
  /** Who asked, or whom it befell; 0: no broker. */
  readonly brokerId: BrokerId
  readonly partitions: readonly PartitionIndex[]
  readonly error?: ErrorCode
  /** The numbers that the decision stood on, named with their units. */
  readonly detail: Readonly<Record<string, number>>
}

/** In place of the broker, when it was an administrator or the clock. */
export const nobodyAsked = brokerId(0)

/**
 * The event of the leaders that `changes` move, or none when they move none.
 *
 * @param image as it is before the changes.
 */
export function electedEvents(
  image: MetadataImage,
  changes: readonly PartitionChangeRecord[],
  brokerId: BrokerId,
  atMs: number,
): ControllerEvent[] {
  const partitions: PartitionIndex[] = []
  let leaderless = 0
  let unclean = 0
  for (const change of changes) {
    const before = registrationOf(image, change)
    if (change.leader === undefined || change.leader === before.leader) continue
    partitions.push(before.index)
    if (change.leader === leaderNone) leaderless++
    else if (!hasAllCommitted(before, change.leader)) unclean++
  }
  if (partitions.length === 0) return []
  const detail = { elected: partitions.length - leaderless, leaderless, unclean }
  return [{ atMs, kind: 'elected', brokerId, partitions, detail }]
}

function hasAllCommitted(
  { inSyncReplicas, eligibleLeaderReplicas }: PartitionRegistration,
  broker: BrokerId,
): boolean {
  return inSyncReplicas.includes(broker) || eligibleLeaderReplicas.includes(broker)
}

/** Partitions whose in-sync replicas `changes` alter. */
export function inSyncChanges(
  image: MetadataImage,
  changes: readonly PartitionChangeRecord[],
): PartitionIndex[] {
  return changes
    .filter((change) => change.isr !== undefined)
    .map((change) => registrationOf(image, change).index)
}

function registrationOf(
  image: MetadataImage,
  { topicId, partitionId }: PartitionChangeRecord,
): PartitionRegistration {
  // Decisions only change partitions that they found in the image.
  return image.partitionOf(topicId, partitionId)!
}
