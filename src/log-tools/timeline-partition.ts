/** The history of one partition, built change by change. */
import type { BrokerId } from '../ids.ts'
import { leaderNone, type PartitionRegistration } from '../replication/registration.ts'
import type {
  Absence,
  BrokerEventKind,
  ChangeReason,
  Election,
  OfflineSpan,
  PartitionChange,
  PartitionHistory,
} from './timeline-model.ts'

/** A broker's fate told in the same batch as the change. */
export interface BrokerFate {
  readonly brokerId: BrokerId
  readonly kind: BrokerEventKind
}

export interface ChangePlace {
  readonly offset: number
  readonly atMs: number
  readonly isSnapshot: boolean
  readonly fates: readonly BrokerFate[]
}

interface OpenAbsence {
  readonly leftAtMs: number
  readonly reason: ChangeReason
}

export class PartitionTrack {
  registration: PartitionRegistration
  readonly #changes: PartitionChange[] = []
  readonly #absences: Absence[] = []
  readonly #offline: OfflineSpan[] = []
  readonly #out = new Map<BrokerId, OpenAbsence>()
  /** Replicas that have left at least once. */
  readonly #returned = new Set<BrokerId>()
  readonly #createdAtMs: number | null
  #removedAtMs: number | null = null
  #offlineFromMs: number | undefined
  #shrinks = 0
  #expands = 0
  #leaderChanges = 0
  #flaps = 0

  constructor(registration: PartitionRegistration, place: ChangePlace) {
    this.registration = registration
    this.#createdAtMs = place.isSnapshot ? null : place.atMs
    const reason = place.isSnapshot ? 'snapshot' : 'created'
    this.#note(registration, place, { reason, by: null, election: 'created' })
    for (const broker of registration.replicas) {
      if (!registration.inSyncReplicas.includes(broker)) this.#leaves(broker, place.atMs, reason)
    }
    this.#followLeader(registration, place.atMs)
  }

  get changes(): readonly PartitionChange[] {
    return this.#changes
  }

  apply(after: PartitionRegistration, place: ChangePlace): void {
    const before = this.registration
    this.registration = after
    const election = electionOf(before, after)
    const { reason, by } = reasonOf(before, after, election, place.fates)
    this.#note(after, place, { reason, by, election }, before)
    if (election !== null && after.leader !== before.leader) this.#leaderChanges += 1
    for (const broker of after.replicas) {
      const isIn = after.inSyncReplicas.includes(broker)
      const wasIn = before.inSyncReplicas.includes(broker)
      if (isIn && this.#out.has(broker)) this.#ends(broker, place.atMs, 'rejoined')
      if (isIn) continue
      if (wasIn || !before.replicas.includes(broker)) this.#leaves(broker, place.atMs, reason)
    }
    for (const broker of [...this.#out.keys()]) {
      if (!after.replicas.includes(broker)) this.#ends(broker, place.atMs, 'unassigned')
    }
    this.#followLeader(after, place.atMs)
  }

  /** Its topic was removed. */
  remove(atMs: number): void {
    this.#removedAtMs = atMs
    this.#close(atMs, 'removed')
  }

  /** @param endMs time of the log's last record: how long what lasts has lasted */
  history(endMs: number): PartitionHistory {
    this.#close(endMs, 'still out')
    const { topic, topicId, partition } = this.registration
    return {
      topic,
      topicId,
      partition,
      createdAtMs: this.#createdAtMs,
      removedAtMs: this.#removedAtMs,
      changes: this.#changes,
      absences: this.#absences.sort((a, b) => a.leftAtMs - b.leftAtMs || a.brokerId - b.brokerId),
      offline: this.#offline,
      shrinks: this.#shrinks,
      expands: this.#expands,
      leaderChanges: this.#leaderChanges,
      flaps: this.#flaps,
    }
  }

  #note(
    { leader, leaderEpoch, partitionEpoch, ...state }: PartitionRegistration,
    { offset, atMs }: ChangePlace,
    why: Pick<PartitionChange, 'reason' | 'by' | 'election'>,
    before?: PartitionRegistration,
  ): void {
    const { replicas, inSyncReplicas, eligibleLeaderReplicas } = state
    const old = before?.inSyncReplicas ?? inSyncReplicas
    const left = old.filter((broker) => !inSyncReplicas.includes(broker))
    const joined = inSyncReplicas.filter((broker) => !old.includes(broker))
    if (left.length > 0) this.#shrinks += 1
    if (joined.length > 0) this.#expands += 1
    this.#changes.push({
      offset,
      atMs,
      ...why,
      leader,
      leaderEpoch,
      partitionEpoch,
      replicas,
      inSyncReplicas,
      eligibleLeaderReplicas,
      left,
      joined,
    })
  }

  #leaves(broker: BrokerId, atMs: number, reason: ChangeReason): void {
    if (this.#out.has(broker)) return
    this.#out.set(broker, { leftAtMs: atMs, reason })
    if (this.#returned.has(broker)) this.#flaps += 1
  }

  #ends(broker: BrokerId, atMs: number, end: Absence['end']): void {
    const open = this.#out.get(broker)
    if (open === undefined) return
    this.#out.delete(broker)
    const isBack = end === 'rejoined'
    if (isBack) this.#returned.add(broker)
    const { leftAtMs, reason } = open
    const outMs = atMs - leftAtMs
    const rejoinedAtMs = isBack ? atMs : null
    this.#absences.push({ brokerId: broker, leftAtMs, rejoinedAtMs, outMs, end, reason })
  }

  #followLeader({ leader }: PartitionRegistration, atMs: number): void {
    if (leader === leaderNone) {
      this.#offlineFromMs ??= atMs
      return
    }
    if (this.#offlineFromMs === undefined) return
    const fromMs = this.#offlineFromMs
    this.#offline.push({ fromMs, toMs: atMs, ms: atMs - fromMs })
    this.#offlineFromMs = undefined
  }

  #close(endMs: number, end: Absence['end']): void {
    for (const broker of [...this.#out.keys()]) this.#ends(broker, endMs, end)
    if (this.#offlineFromMs === undefined) return
    const fromMs = this.#offlineFromMs
    const toMs = end === 'removed' ? endMs : null
    this.#offline.push({ fromMs, toMs, ms: endMs - fromMs })
    this.#offlineFromMs = undefined
  }
}

function electionOf(before: PartitionRegistration, after: PartitionRegistration): Election | null {
  if (after.leaderEpoch === before.leaderEpoch && after.leader === before.leader) return null
  const { leader } = after
  if (leader === leaderNone) return 'none'
  if (leader === before.leader) return 'same'
  if (before.inSyncReplicas.includes(leader)) return 'clean'
  return before.eligibleLeaderReplicas.includes(leader) ? 'eligible' : 'unclean'
}

/** The fate counts only of a broker that the change concerns. */
function reasonOf(
  before: PartitionRegistration,
  after: PartitionRegistration,
  election: Election | null,
  fates: readonly BrokerFate[],
): { readonly reason: ChangeReason; readonly by: BrokerId | null } {
  const isIn = (set: readonly BrokerId[], broker: BrokerId) => set.includes(broker)
  const fate = fates.find(({ brokerId }) => {
    const changed =
      isIn(before.inSyncReplicas, brokerId) !== isIn(after.inSyncReplicas, brokerId) ||
      isIn(before.eligibleLeaderReplicas, brokerId) !== isIn(after.eligibleLeaderReplicas, brokerId)
    const led = before.leader === brokerId || after.leader === brokerId
    return changed || (election !== null && led)
  })
  if (fate !== undefined) return { reason: fate.kind, by: fate.brokerId }
  const isAssigned =
    !isSameList(before.replicas, after.replicas) ||
    !isSameList(before.addingReplicas, after.addingReplicas) ||
    !isSameList(before.removingReplicas, after.removingReplicas)
  if (isAssigned) return { reason: 'reassigned', by: null }
  return { reason: election === null ? 'proposed' : 'elected', by: null }
}

function isSameList(a: readonly BrokerId[], b: readonly BrokerId[]): boolean {
  return a.length === b.length && a.every((broker, at) => broker === b[at])
}
