/**
 * EventGroups: a timeline in which like events close together are one line, with the spread of the
 * numbers they stood on. Who decided, on what, how it travelled.
 */
import type { ClusterEvent } from '../cluster-events.ts'
import type { BrokerId } from '../ids.ts'
import { type ControllerEvent, nobodyAsked } from '../replication/controller/controller-events.ts'
import type { LagCause } from '../replication/isr-cause.ts'
import type { ReplicationEvent } from '../replication/replication-event.ts'
import type { CatchUpNote, CatchUpRead } from '../workers/catch-up.ts'
import type { RetentionNote } from '../workers/retention-sweep.ts'
import type { Actor, TimelineEvent } from './result.ts'
import { formatBytes, formatCount } from './units.ts'

/** Events of a kind that are no further apart are one line. */
const gapMsMax = 250

type EventOf<Type extends ReplicationEvent['type']> = Extract<ReplicationEvent, { type: Type }>

export const causeWords: Readonly<Record<LagCause, string>> = {
  disk: 'its disk is slow or failed',
  shutDown: 'shutting down',
  dead: 'dead or fenced',
  frozen: 'frozen',
  throttled: 'throttled',
  notConverging: 'catching up, not converging',
  slow: 'too slow',
  unassigned: 'no replica any more',
}

interface Group {
  readonly atMs: number
  lastMs: number
  readonly actor: Actor
  readonly step: string
  partitions: number
  readonly text: (numbers: ReadonlyMap<string, Range>) => string
  readonly numbers: Map<string, Range>
}

interface Range {
  min: number
  max: number
  sum: number
}

export class EventGroups {
  readonly #closed: TimelineEvent[] = []
  readonly #open = new Map<string, Group>()

  addOne(event: TimelineEvent): void {
    this.#closed.push(event)
  }

  add(event: ReplicationEvent): void {
    switch (event.type) {
      case 'shrinkProposed':
        this.#addShrinkProposal(event)
        break
      case 'expandProposed':
        this.#addExpandProposal(event)
        break
      case 'reachedLogEnd':
        this.#addReached(event)
        break
      case 'shrinkCommitted':
      case 'expandCommitted':
        this.#addCommitted(event)
        break
      case 'rejected':
        this.#addRejected(event)
        break
      default:
        event satisfies never
    }
  }

  #addShrinkProposal(event: EventOf<'shrinkProposed'>): void {
    const { atMs, leader, lagging, replicaLagTimeMaxMs } = event
    const who = lagging
      .map(({ brokerId, cause }) => `${brokerId} (${causeWords[cause]})`)
      .join(', ')
    const limit = formatCount(replicaLagTimeMaxMs)
    const numbers = lagNumbers(event)
    this.#join('leader', 'proposed to shrink', `${leader} ${who}`, atMs, 1, numbers, (all) => {
      const lag = span(all, 'lagRecords')
      const since = span(all, 'lagMs')
      const silent = span(all, 'silentMs')
      const rates = `${span(all, 'followerPerSec')} records/s against the leader's ${span(all, 'leaderPerSec')}`
      return `leader ${leader} found ${who} ${lag} records behind, not caught up for ${since} ms, the limit is ${limit} ms; silent for ${silent} ms, ${rates}`
    })
  }

  #addExpandProposal(event: EventOf<'expandProposed'>): void {
    const { atMs, leader, brokerId } = event
    const numbers = { behind: event.logEndOffset - event.followerLogEndOffset }
    this.#join('leader', 'proposed to expand', `broker ${leader}`, atMs, 1, numbers, (all) => {
      const behind = span(all, 'behind')
      return `follower ${brokerId} polled at the log end (${behind} records short of it by then), past the start of the leader's epoch`
    })
  }

  #addReached({ atMs, leader, brokerId }: EventOf<'reachedLogEnd'>): void {
    this.#join('follower', 'reached the log end', `broker ${brokerId}`, atMs, 1, {}, () => {
      return `follower ${brokerId} had all that leader ${leader} had at a poll`
    })
  }

  #addCommitted(event: EventOf<'shrinkCommitted' | 'expandCommitted'>): void {
    const { atMs, leader, type, cause, left } = event
    const word = type === 'shrinkCommitted' ? 'shrunk' : 'expanded'
    const numbers = { epoch: event.partitionEpoch, isr: event.inSyncReplicas.length }
    const who = left.map((each) => `${each.brokerId} (${causeWords[each.cause]})`).join(', ')
    const key = `${leader} ${cause} ${who}`
    this.#join('leader', `in-sync replicas ${word}`, key, atMs, 1, numbers, (all) => {
      const decided = cause === 'proposal' ? 'as proposed' : 'decided by the controller'
      const how = who === '' ? decided : `without ${who}, ${decided}`
      return `${how}; ${span(all, 'isr')} in sync now, partition epoch ${span(all, 'epoch')}; high watermark recomputed`
    })
  }

  #addRejected(event: EventOf<'rejected'>): void {
    const { atMs, leader, leaderEpoch, error, proposal, outcome } = event
    this.#join('controller', 'refused a proposal', error, atMs, 1, {}, () => {
      return `${error}: ${proposal} proposed by leader ${leader} in epoch ${leaderEpoch}; ${outcome}`
    })
  }

  addController(event: ControllerEvent): void {
    const { atMs, kind, brokerId, partitions, error } = event
    const detail = Object.fromEntries(
      Object.entries(event.detail).filter(([, value]) => value !== undefined),
    )
    this.#join(
      'controller',
      kind,
      `${brokerId}:${error ?? ''}`,
      atMs,
      partitions.length,
      detail,
      (numbers) => {
        const named = [...numbers.keys()].map((name) => `${words(name)} ${span(numbers, name)}`)
        const who = brokerId === nobodyAsked ? [] : [`broker ${brokerId}`]
        return [...who, ...(error === undefined ? [] : [error]), ...named].join(', ')
      },
    )
  }

  addReads(broker: BrokerId, reads: readonly CatchUpRead[]): void {
    for (const { atMs, bytes, tookMs } of reads) {
      this.#join(
        'follower',
        "read the leader's files",
        `${broker}`,
        atMs,
        0,
        { bytes, tookMs, reads: 1 },
        (all) => {
          const total = all.get('bytes')!.sum
          const count = all.get('reads')!.sum
          const ms = all.get('tookMs')!.sum
          return `${formatCount(count)} reads, ${formatBytes(total)}, ${(ms / count).toFixed(2)} ms a read`
        },
      )
    }
  }

  addNote(broker: BrokerId, { atMs, kind, leader, message }: CatchUpNote): void {
    const step = kind === 'backedOff' ? 'could not read the leader' : 'started its log over'
    this.#join('follower', step, `${broker}`, atMs, 1, {}, () => {
      return `broker ${broker} from leader ${leader}: ${message}`
    })
  }

  addRetention(leader: BrokerId, { atMs, kind, follower }: RetentionNote): void {
    const step = {
      near: 'retention comes near a follower',
      held: 'holds back what has expired',
      overtaken: 'retention overtook a follower',
    }[kind]
    this.#join('leader', step, `${leader} ${follower}`, atMs, 1, {}, () => {
      return `broker ${follower} has yet to copy what expires at leader ${leader}`
    })
  }

  addTruncation(event: Extract<ClusterEvent, { type: 'truncated' }>): void {
    const { atMs, brokerId, fromOffset, toOffset } = event
    const numbers = { records: fromOffset - toOffset }
    this.#join('follower', 'cut what diverged', `${brokerId}`, atMs, 1, numbers, (all) => {
      return `broker ${brokerId} cut ${span(all, 'records')} records that its leader doesn't have`
    })
  }

  timeline(originMs: number): TimelineEvent[] {
    for (const key of [...this.#open.keys()]) this.#close(key)
    return (
      this.#closed
        .map((event) => ({ ...event, atMs: event.atMs - originMs }))
        // What came before, start-up and calibration, is not what was asked for.
        .filter(({ atMs }) => atMs >= 0)
        .sort((a, b) => a.atMs - b.atMs)
    )
  }

  #join(
    actor: Actor,
    step: string,
    who: string,
    atMs: number,
    partitions: number,
    numbers: Readonly<Record<string, number>>,
    text: Group['text'],
  ): void {
    const key = `${step}|${who}`
    let group = this.#open.get(key)
    if (group !== undefined && atMs - group.lastMs > gapMsMax) {
      this.#close(key)
      group = undefined
    }
    if (group === undefined) {
      group = { atMs, lastMs: atMs, actor, step, partitions: 0, text, numbers: new Map() }
      this.#open.set(key, group)
    }
    group.lastMs = Math.max(group.lastMs, atMs)
    group.partitions += partitions
    for (const [name, value] of Object.entries(numbers)) widen(group.numbers, name, value)
  }

  #close(key: string): void {
    const group = this.#open.get(key)
    if (group === undefined) return
    this.#open.delete(key)
    const { atMs, lastMs, actor, step, partitions, text, numbers } = group
    const took = lastMs - atMs >= 1 ? ` (over ${Math.round(lastMs - atMs)} ms)` : ''
    this.#closed.push({ atMs, actor, step, partitions, detail: `${text(numbers)}${took}` })
  }
}

function lagNumbers(event: EventOf<'shrinkProposed'>) {
  const [first] = event.lagging
  if (first === undefined) return {}
  const { lagRecords, lagMs, signs } = first
  const { silentMs, leaderRecordsPerSec, followerRecordsPerSec } = signs
  return {
    lagRecords,
    lagMs,
    silentMs,
    leaderPerSec: leaderRecordsPerSec,
    followerPerSec: followerRecordsPerSec,
  }
}

function widen(numbers: Map<string, Range>, name: string, value: number): void {
  const range = numbers.get(name)
  if (range === undefined) numbers.set(name, { min: value, max: value, sum: value })
  else {
    range.min = Math.min(range.min, value)
    range.max = Math.max(range.max, value)
    range.sum += value
  }
}

function span(numbers: ReadonlyMap<string, Range>, name: string): string {
  const range = numbers.get(name)
  if (range === undefined) return '?'
  const low = formatCount(Math.round(range.min))
  const high = formatCount(Math.round(range.max))
  return low === high ? low : `${low} to ${high}`
}

/** `silentMs` → `silent ms`. */
function words(name: string): string {
  return name.replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`)
}
