/**
 * CatchUpEvents: what leaders and controller reported during a run, kept two ways: when each
 * partition left, reached the log end and came back; and a timeline in which a thousand like events
 * are one line.
 */
import type { ClusterEvent } from '../cluster-events.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import type { ControllerEvent } from '../replication/controller/controller-events.ts'
import type { ReplicationEvent } from '../replication/replication-event.ts'
import type { CatchUpRead } from '../workers/catch-up.ts'
import { EventGroups } from './catch-up-timeline.ts'
import { failureIn } from './cluster-failure.ts'
import type { Actor, TimelineEvent } from './result.ts'
import { formatCount } from './units.ts'

/** When the follower under study passed each point, ms since 1970, by partition. */
export interface PartitionTimes {
  readonly evictedAtMs: Map<PartitionIndex, number>
  readonly reachedAtMs: Map<PartitionIndex, number>
  readonly admittedAtMs: Map<PartitionIndex, number>
}

export class CatchUpEvents {
  readonly times: PartitionTimes = {
    evictedAtMs: new Map(),
    reachedAtMs: new Map(),
    admittedAtMs: new Map(),
  }
  /** When the controller first elected another leader than the broker under study. */
  readonly electedAtMs = new Map<PartitionIndex, number>()
  readonly reads: CatchUpRead[] = []
  shrinks = 0
  expands = 0
  rejected = 0
  /** When a controller's thread last said that it had replayed its log. */
  controllerStartedAtMs = 0
  /** Partitions that left more than once. */
  flaps = 0
  /** A thread that ended by itself, or a log that failed. */
  failure: Error | undefined
  readonly #follower: BrokerId
  readonly #groups = new EventGroups()
  #sinceMs = Number.POSITIVE_INFINITY

  constructor(follower: BrokerId) {
    this.#follower = follower
  }

  /** Times of partitions and counts begin here, at the fault. What happened before is start-up. */
  begin(atMs: number): void {
    this.#sinceMs = atMs
    this.shrinks = 0
    this.expands = 0
    this.rejected = 0
  }

  readonly take = (event: ClusterEvent): void => {
    switch (event.type) {
      case 'replication':
        this.#takeReplication(event.event)
        break
      case 'controller':
        this.#takeController(event.event)
        break
      case 'catchUpReads':
        this.#takeReads(event.brokerId, event.reads)
        break
      case 'retention':
        this.#groups.addRetention(event.brokerId, event.note)
        break
      case 'catchUpNote':
        this.#groups.addNote(event.brokerId, event.note)
        break
      case 'truncated':
        this.#groups.addTruncation(event)
        break
      case 'failed':
      case 'partitionFailed':
      case 'invariantViolated':
        this.failure ??= failureIn(event)
        break
      case 'recovery':
        if (event.done === event.total) this.#noteRecovery(event.brokerId, event.total)
        break
      default:
        event satisfies never
    }
  }

  note(
    atMs: number,
    actor: Actor,
    step: string,
    detail: string,
    partitions = 0,
    marker?: string,
  ): void {
    this.#groups.addOne({
      atMs,
      actor,
      step,
      partitions,
      detail,
      ...(marker === undefined ? {} : { marker }),
    })
  }

  /** In order of time, times relative to `originMs`. */
  timeline(originMs: number): TimelineEvent[] {
    return this.#groups.timeline(originMs)
  }

  #takeReplication(event: ReplicationEvent): void {
    this.#groups.add(event)
    if (event.type === 'rejected') this.rejected++
    if (event.type === 'shrinkCommitted') this.#committed(event, 'shrink')
    if (event.type === 'expandCommitted') this.#committed(event, 'expand')
    if (event.type !== 'reachedLogEnd' || event.brokerId !== this.#follower) return
    const { reachedAtMs } = this.times
    if (event.atMs >= this.#sinceMs && !reachedAtMs.has(event.partition)) {
      reachedAtMs.set(event.partition, event.atMs)
    }
  }

  #committed(
    event: Extract<ReplicationEvent, { type: 'shrinkCommitted' | 'expandCommitted' }>,
    kind: 'shrink' | 'expand',
  ): void {
    const { partition, previous, inSyncReplicas, atMs } = event
    const had = previous.includes(this.#follower)
    const has = inSyncReplicas.includes(this.#follower)
    if (kind === 'shrink') this.shrinks++
    else this.expands++
    if (atMs < this.#sinceMs || had === has) return
    const { evictedAtMs, reachedAtMs, admittedAtMs } = this.times
    if (has) {
      admittedAtMs.set(partition, atMs)
      return
    }
    if (admittedAtMs.delete(partition)) this.flaps++
    reachedAtMs.delete(partition)
    if (!evictedAtMs.has(partition)) evictedAtMs.set(partition, atMs)
  }

  /** Of partitions that the broker led nobody else tells that it left. */
  #takeController(event: ControllerEvent): void {
    this.#groups.addController(event)
    const { kind, brokerId, partitions, atMs } = event
    if (kind === 'started') this.controllerStartedAtMs = atMs
    if (brokerId !== this.#follower || atMs < this.#sinceMs) return
    const { evictedAtMs } = this.times
    for (const partition of partitions) {
      const isLed = kind === 'elected' && event.detail.leaderless === 0
      if (isLed && !this.electedAtMs.has(partition)) this.electedAtMs.set(partition, atMs)
      const left = kind === 'fenced' || kind === 'registered' || kind === 'shuttingDown'
      if (left && !evictedAtMs.has(partition)) evictedAtMs.set(partition, atMs)
    }
  }

  #takeReads(broker: BrokerId, reads: readonly CatchUpRead[]): void {
    if (broker !== this.#follower) return
    for (const read of reads) if (read.atMs >= this.#sinceMs) this.reads.push(read)
    this.#groups.addReads(broker, reads)
  }

  #noteRecovery(broker: BrokerId, total: number): void {
    const atMs = performance.timeOrigin + performance.now()
    this.note(
      atMs,
      'follower',
      'recovered its logs',
      `broker ${broker}: ${formatCount(total)} logs checked`,
      total,
    )
  }
}
