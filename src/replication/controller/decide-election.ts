/**
 * Elections that no broker's change causes: by request (Kafka: ReplicationControlManager
 * .electLeaders, KIP-460) and by the clock (maybeBalancePartitionLeaders,
 * maybeTriggerUncleanLeaderElection). Pure.
 */
import type { BrokerId } from '../../ids.ts'
import type {
  AdminResponse,
  ElectLeadersRequest,
  PartitionResult,
  TopicPartition,
} from '../messages.ts'
import { leaderNone, type PartitionRegistration } from '../registration.ts'
import { done } from './admin-response.ts'
import { type ControllerEvent, electedEvents, nobodyAsked } from './controller-events.ts'
import type { Decision } from './decision.ts'
import { changeOf, electionRules } from './election-rules.ts'
import type { MetadataImage } from './metadata-image.ts'
import type { PartitionChangeRecord } from './metadata-records.ts'

type Election = ElectLeadersRequest['election']

/** Elections that a request asks for; unclean ones whatever the topic's settings say. */
export function decideElectLeaders(
  image: MetadataImage,
  request: ElectLeadersRequest,
  nowMs: number,
): Decision<AdminResponse> {
  const { election, partitions } = request
  const changes: PartitionChangeRecord[] = []
  const results: PartitionResult[] = []
  const seen = new Set<PartitionRegistration>()
  for (const named of partitions ?? needing(image, election)) {
    const { topic, partition } = named
    const topicId = image.topicNamed(topic)?.topicId
    const registration = topicId === undefined ? undefined : image.partitionOf(topicId, partition)
    if (registration === undefined) {
      const detail = `no partition ${topic}-${partition}`
      results.push({ topic, partition, error: 'UNKNOWN_TOPIC_OR_PARTITION', detail })
      continue
    }
    const { change, ...outcome } = elect(image, registration, election)
    // Asked for twice in one request, it is elected once.
    if (change !== undefined && !seen.has(registration)) changes.push(change)
    seen.add(registration)
    results.push({ topic, partition, ...outcome })
  }
  return done(request, changes, electedEvents(image, changes, nobodyAsked, nowMs), results)
}

function needing(image: MetadataImage, election: Election): TopicPartition[] {
  const found: TopicPartition[] = []
  image.forEachPartition((registration) => {
    const { topic, partition } = registration
    if (isNeeded(registration, election)) found.push({ topic, partition })
  })
  return found
}

function isNeeded({ leader, replicas }: PartitionRegistration, election: Election): boolean {
  return election === 'preferred' ? leader !== replicas[0] : leader === leaderNone
}

function elect(
  image: MetadataImage,
  registration: PartitionRegistration,
  election: Election,
): Pick<PartitionResult, 'error' | 'detail'> & { readonly change?: PartitionChangeRecord } {
  const { topic, partition, leader, replicas, inSyncReplicas } = registration
  const detail = `${topic}-${partition}: leader ${leader}, replicas [${replicas}], in sync [${inSyncReplicas}]`
  if (!isNeeded(registration, election)) return { error: 'ELECTION_NOT_NEEDED', detail }
  const change = changeOf(image, registration, { election })
  if (change !== undefined) return { error: 'NONE', detail: '', change }
  if (election === 'preferred') return { error: 'PREFERRED_LEADER_NOT_AVAILABLE', detail }
  return { error: 'ELIGIBLE_LEADERS_NOT_AVAILABLE', detail }
}

export interface ClockElections {
  readonly records: readonly PartitionChangeRecord[]
  readonly events: readonly ControllerEvent[]
  /** The limit was reached: there is more to do soon. */
  readonly hasMore: boolean
}

export interface BalanceLimits {
  readonly electionsMax: number
  /** Partitions in a hundred of a broker's preferred ones that may be led by others. */
  readonly imbalancePercentMax: number
  readonly nowMs: number
}

/**
 * Gives leaderships back to preferred leaders that are in sync again. A broker is left alone while
 * others lead no more of its partitions than the limit says (Kafka's rule with ZooKeeper, whose
 * setting the KRaft controller takes and doesn't look at).
 */
export function decideBalance(image: MetadataImage, limits: BalanceLimits): ClockElections {
  const { electionsMax, imbalancePercentMax, nowMs } = limits
  const unbalanced = brokersOver(image, imbalancePercentMax)
  return electEach(image, { electionsMax, nowMs }, (registration) => {
    const { leader, replicas, inSyncReplicas } = registration
    const [preferred] = replicas
    if (leader === preferred || leader === leaderNone || !unbalanced.has(preferred))
      return undefined
    if (!inSyncReplicas.includes(preferred) || !image.isActive(preferred)) return undefined
    return changeOf(image, registration, { election: 'preferred' })
  })
}

function brokersOver(image: MetadataImage, imbalancePercentMax: number): Set<BrokerId> {
  const preferred = new Map<BrokerId, number>()
  const away = new Map<BrokerId, number>()
  image.forEachPartition(({ replicas, leader }) => {
    const [broker] = replicas
    preferred.set(broker, (preferred.get(broker) ?? 0) + 1)
    if (leader !== broker) away.set(broker, (away.get(broker) ?? 0) + 1)
  })
  const over = new Set<BrokerId>()
  for (const [broker, count] of away) {
    if (count * 100 > imbalancePercentMax * preferred.get(broker)!) over.add(broker)
  }
  return over
}

/** Partitions without leader whose topics allow unclean elections. */
export function decideUncleanElections(
  image: MetadataImage,
  limits: Pick<BalanceLimits, 'electionsMax' | 'nowMs'>,
): ClockElections {
  return electEach(image, limits, (registration) => {
    if (registration.leader !== leaderNone) return undefined
    if (electionRules(image, registration.topic).election !== 'unclean') return undefined
    return changeOf(image, registration, {})
  })
}

function electEach(
  image: MetadataImage,
  { electionsMax, nowMs }: Pick<BalanceLimits, 'electionsMax' | 'nowMs'>,
  electionOf: (registration: PartitionRegistration) => PartitionChangeRecord | undefined,
): ClockElections {
  const records: PartitionChangeRecord[] = []
  let hasMore = false
  image.forEachPartition((registration) => {
    if (hasMore) return
    const change = electionOf(registration)
    if (change === undefined) return
    if (records.length === electionsMax) hasMore = true
    else records.push(change)
  })
  return { records, events: electedEvents(image, records, nobodyAsked, nowMs), hasMore }
}
