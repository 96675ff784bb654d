/** Storms and flapping: what many changes look like from further away. Pure. */
import type { BrokerId } from '../ids.ts'
import type { Flapping, PartitionHistory, Storm } from './timeline-model.ts'

/** So many changes of in-sync replicas or leaders within so long are a storm. */
export const stormChangesMin = 20
export const stormWindowMs = 5_000
/** So many departures of one replica within so long are flapping. */
export const flapDeparturesMin = 3
export const flapWindowMs = 600_000

interface Moment {
  readonly atMs: number
  readonly place: number
  readonly brokers: readonly BrokerId[]
}

/** In order of time; two that overlap are one. */
export function findStorms(partitions: readonly PartitionHistory[]): Storm[] {
  const moments = partitions.flatMap(({ changes }, place): Moment[] =>
    changes
      .filter(({ left, joined, election, reason }) => {
        if (reason === 'created' || reason === 'snapshot') return false
        return left.length + joined.length > 0 || election !== null
      })
      .map(({ atMs, left, joined }) => ({ atMs, place, brokers: [...left, ...joined] })),
  )
  moments.sort((a, b) => a.atMs - b.atMs)
  const storms: Storm[] = []
  let first = 0
  /** Of the storm that goes on: its first moment, and the one after its last. */
  let begun = -1
  let end = -1
  for (let at = 0; at < moments.length; at += 1) {
    while (moments[at]!.atMs - moments[first]!.atMs > stormWindowMs) first += 1
    if (at - first + 1 < stormChangesMin) continue
    if (begun >= 0 && first > end) {
      storms.push(stormOf(moments.slice(begun, end + 1)))
      begun = -1
    }
    if (begun < 0) begun = first
    end = at
  }
  if (begun >= 0) storms.push(stormOf(moments.slice(begun, end + 1)))
  return storms
}

function stormOf(moments: readonly Moment[]): Storm {
  const counts = new Map<BrokerId, number>()
  for (const { brokers } of moments) {
    for (const broker of brokers) counts.set(broker, (counts.get(broker) ?? 0) + 1)
  }
  const brokers = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([broker]) => broker)
  return {
    fromMs: moments[0]!.atMs,
    toMs: moments.at(-1)!.atMs,
    changes: moments.length,
    partitions: new Set(moments.map(({ place }) => place)).size,
    brokers,
  }
}

/** The worst first. */
export function findFlapping(partitions: readonly PartitionHistory[]): Flapping[] {
  const found: Flapping[] = []
  for (const { topic, partition, absences } of partitions) {
    const times = new Map<BrokerId, number[]>()
    for (const { brokerId, leftAtMs } of absences) {
      times.set(brokerId, [...(times.get(brokerId) ?? []), leftAtMs])
    }
    for (const [brokerId, leftAtMs] of times) {
      const worst = densest(leftAtMs.sort((a, b) => a - b))
      if (worst.count < flapDeparturesMin) continue
      const { count: departures, fromMs, toMs } = worst
      found.push({ topic, partition, brokerId, departures, fromMs, toMs })
    }
  }
  return found.sort((a, b) => b.departures - a.departures || a.fromMs - b.fromMs)
}

/** The window with the most of the times, which are ascending and at least one. */
function densest(timesMs: readonly number[]): { count: number; fromMs: number; toMs: number } {
  let best = { count: 0, fromMs: 0, toMs: 0 }
  let first = 0
  for (let at = 0; at < timesMs.length; at += 1) {
    while (timesMs[at]! - timesMs[first]! > flapWindowMs) first += 1
    const count = at - first + 1
    if (count > best.count) best = { count, fromMs: timesMs[first]!, toMs: timesMs[at]! }
  }
  return best
}
