/**
 * The fence of AlterPartition and what an accepted proposal changes (Kafka:
 * ReplicationControlManager.validateAlterPartitionData; KIP-497, KIP-841, KIP-903). Pure.
 */
import type { ErrorCode } from '../../errors.ts'
import type { BrokerId, PartitionIndex } from '../../ids.ts'
import type {
  AlterPartitionItem,
  AlterPartitionItemResult,
  AlterPartitionRequest,
  AlterPartitionResponse,
} from '../messages.ts'
import { leaderNone, type PartitionRegistration } from '../registration.ts'
import { type ControllerEvent, electedEvents } from './controller-events.ts'
import type { Decision } from './decision.ts'
import { changeOf } from './election-rules.ts'
import { mergePartitionChange } from './merge-partition-change.ts'
import type { MetadataImage } from './metadata-image.ts'
import type { PartitionChangeRecord } from './metadata-records.ts'

/** What a rejection looks at: the proposal beside what the controller holds. */
export interface ProposalInQuestion {
  readonly item: AlterPartitionItem
  readonly registration: PartitionRegistration
  readonly sender: BrokerId
  readonly image: MetadataImage
}

export interface ProposalRejection {
  readonly error: ErrorCode
  readonly applies: (proposal: ProposalInQuestion) => boolean
}

/**
 * The reasons to refuse a proposal for a partition that exists, in order: the first that applies
 * is the answer. Epochs ahead of ours come first, for then it is we who are behind (KAFKA-14154).
 */
export const proposalRejections: readonly ProposalRejection[] = [
  {
    error: 'NOT_CONTROLLER',
    applies: ({ item, registration }) => item.leaderEpoch > registration.leaderEpoch,
  },
  {
    error: 'NOT_CONTROLLER',
    applies: ({ item, registration }) => item.partitionEpoch > registration.partitionEpoch,
  },
  {
    error: 'FENCED_LEADER_EPOCH',
    applies: ({ item, registration }) => item.leaderEpoch < registration.leaderEpoch,
  },
  {
    error: 'INVALID_REQUEST',
    applies: ({ registration, sender }) => sender !== registration.leader,
  },
  {
    error: 'INVALID_UPDATE_VERSION',
    applies: ({ item, registration }) => item.partitionEpoch < registration.partitionEpoch,
  },
  { error: 'INVALID_REQUEST', applies: isNotAnIsrOf },
  {
    error: 'INVALID_REQUEST',
    applies: ({ item, registration }) => !contains(item, registration.leader),
  },
  {
    error: 'INVALID_REQUEST',
    applies: ({ item }) =>
      item.leaderRecoveryState === 'recovering' && item.newInSyncReplicas.length > 1,
  },
  {
    error: 'INVALID_REQUEST',
    applies: ({ item, registration }) =>
      item.leaderRecoveryState === 'recovering' && registration.leaderRecoveryState === 'recovered',
  },
  { error: 'INELIGIBLE_REPLICA', applies: hasIneligibleMember },
]

/** A duplicate, a negative id, or one outside the assignment. */
function isNotAnIsrOf({ item, registration }: ProposalInQuestion): boolean {
  const members = item.newInSyncReplicas
  for (let i = 0; i < members.length; i++) {
    const { brokerId } = members[i]
    if (brokerId < 0 || !registration.replicas.includes(brokerId)) return true
    for (let j = 0; j < i; j++) if (members[j].brokerId === brokerId) return true
  }
  return false
}

function contains({ newInSyncReplicas }: AlterPartitionItem, broker: BrokerId): boolean {
  return newInSyncReplicas.some(({ brokerId }) => brokerId === broker)
}

/** Asked of every member, old ones and the leader included: a fenced leader cannot even shrink. */
function hasIneligibleMember({ item, image }: ProposalInQuestion): boolean {
  return item.newInSyncReplicas.some(({ brokerId, brokerEpoch }) => {
    if (!image.isActive(brokerId)) return true
    return brokerEpoch !== -1 && brokerEpoch !== image.broker(brokerId)?.brokerEpoch
  })
}

interface ItemOutcome {
  readonly error: ErrorCode | 'NONE'
  readonly change?: PartitionChangeRecord
  readonly registration?: PartitionRegistration
}

export function decideAlterPartition(
  image: MetadataImage,
  request: AlterPartitionRequest,
  nowMs: number,
): Decision<AlterPartitionResponse> {
  const { brokerId: sender, brokerEpoch, correlationId } = request
  const registered = image.broker(sender)?.brokerEpoch
  if (registered !== brokerEpoch) return rejectWhole(request, registered ?? -1, nowMs)

  const changes: PartitionChangeRecord[] = []
  const committed: PartitionIndex[] = []
  const items: AlterPartitionItemResult[] = []
  const seen = new Set<PartitionIndex>()
  for (const item of request.items) {
    // A second proposal for a partition carries the epoch that the first one has just ended.
    const outcome: ItemOutcome = seen.has(item.partition)
      ? { error: 'INVALID_UPDATE_VERSION' }
      : decideItem(image, item, sender)
    if (outcome.change !== undefined) {
      changes.push(outcome.change)
      committed.push(item.partition)
      seen.add(item.partition)
    }
    items.push(resultOf(item.partition, outcome))
  }
  return {
    records: changes,
    response: { type: 'alterPartitionResponse', correlationId, error: 'NONE', items },
    events: [
      ...committedEvents(image, sender, committed, nowMs),
      ...electedEvents(image, changes, sender, nowMs),
      ...rejectedEvents(image, request, items, nowMs),
    ],
  }
}

function decideItem(image: MetadataImage, item: AlterPartitionItem, sender: BrokerId): ItemOutcome {
  const registration = image.partition(item.partition)
  if (registration === undefined) {
    // An index that was given out and is empty belonged to a topic that is gone.
    const wasThere = item.partition >= 0 && item.partition < image.partitionIndexesEnd
    return { error: wasThere ? 'UNKNOWN_TOPIC_ID' : 'UNKNOWN_TOPIC_OR_PARTITION' }
  }
  const proposal: ProposalInQuestion = { item, registration, sender, image }
  for (const { error, applies } of proposalRejections) if (applies(proposal)) return { error }

  const change = changeOf(image, registration, {
    inSyncReplicas: item.newInSyncReplicas.map(({ brokerId }) => brokerId),
    leaderRecoveryState: item.leaderRecoveryState,
  })
  if (change === undefined) return { error: 'NONE', registration }
  const merged = mergePartitionChange(registration, change)
  const moved = merged.leader !== sender
  return { error: moved ? 'NEW_LEADER_ELECTED' : 'NONE', change, registration: merged }
}

function resultOf(partition: PartitionIndex, outcome: ItemOutcome): AlterPartitionItemResult {
  const { error, registration } = outcome
  return {
    partition,
    error,
    leader: registration?.leader ?? leaderNone,
    leaderEpoch: registration?.leaderEpoch ?? -1,
    partitionEpoch: registration?.partitionEpoch ?? -1,
    inSyncReplicas: registration?.inSyncReplicas ?? [],
    leaderRecoveryState: registration?.leaderRecoveryState ?? 'recovered',
  }
}

function rejectWhole(
  { brokerId, brokerEpoch, correlationId, items }: AlterPartitionRequest,
  registeredEpoch: number,
  atMs: number,
): Decision<AlterPartitionResponse> {
  const error = 'STALE_BROKER_EPOCH'
  const partitions = items.map(({ partition }) => partition)
  const detail = { brokerEpoch, registeredEpoch }
  return {
    records: [],
    response: { type: 'alterPartitionResponse', correlationId, error, items: [] },
    events: [{ atMs, kind: 'rejected', brokerId, partitions, error, detail }],
  }
}

function committedEvents(
  image: MetadataImage,
  brokerId: BrokerId,
  partitions: PartitionIndex[],
  atMs: number,
): ControllerEvent[] {
  if (partitions.length === 0) return []
  const detail = { metadataOffset: image.endOffset }
  return [{ atMs, kind: 'committed', brokerId, partitions, detail }]
}

/** One event an error, with the numbers of the first proposal that got it. */
function rejectedEvents(
  image: MetadataImage,
  { brokerId, items }: AlterPartitionRequest,
  results: readonly AlterPartitionItemResult[],
  atMs: number,
): ControllerEvent[] {
  const byError = new Map<ErrorCode, number[]>()
  for (let i = 0; i < results.length; i++) {
    const { error } = results[i]
    if (error === 'NONE' || error === 'NEW_LEADER_ELECTED') continue
    const places = byError.get(error)
    if (places === undefined) byError.set(error, [i])
    else places.push(i)
  }
  return Array.from(byError, ([error, places]) => {
    const first = items[places[0]]
    const registration = image.partition(first.partition)
    const detail = {
      proposedLeaderEpoch: first.leaderEpoch,
      leaderEpoch: registration?.leaderEpoch ?? -1,
      proposedPartitionEpoch: first.partitionEpoch,
      partitionEpoch: registration?.partitionEpoch ?? -1,
    }
    const partitions = places.map((place) => items[place].partition)
    return { atMs, kind: 'rejected', brokerId, partitions, error, detail }
  })
}
