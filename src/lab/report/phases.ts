import type { CatchUpResult, Phase, SeriesRow, TimelineEvent } from '../result.ts'

/** A stretch of the run between two instants. */
export interface PhaseSpan {
  readonly phase: Phase
  readonly startMs: number
  readonly endMs: number
}

/** An event that is drawn across every chart, under the number it has in the timeline. */
export interface Marker {
  readonly number: number
  readonly atMs: number
  readonly label: string
  readonly event: TimelineEvent
}

export const phaseTitles: Record<Phase, string> = {
  'warm-up': 'Warm-up',
  steady: 'Steady',
  fault: 'Fault',
  'awaiting-eviction': 'Awaiting eviction',
  'out-of-sync': 'Out of sync',
  'catching-up': 'Catching up',
  settle: 'Settle',
}

export const phaseMeanings: Record<Phase, string> = {
  'warm-up': 'the load runs in; not counted',
  steady: 'the load alone, to compare with',
  fault: 'the follower is hindered, but keeps up',
  'awaiting-eviction': 'frozen, still in the ISR: acks=all waits for it',
  'out-of-sync': 'out of the ISR, its backlog grows',
  'catching-up': 'copying the backlog while the log end moves on',
  settle: 'caught up; the load alone again',
}

/** Runs of equal phase in the samples; a span ends where the next begins. */
export function phaseSpans(rows: readonly SeriesRow[]): PhaseSpan[] {
  const spans: PhaseSpan[] = []
  let start = 0
  for (let i = 1; i <= rows.length; i++) {
    if (i < rows.length && rows[i]!.phase === rows[start]!.phase) continue
    const end = rows[Math.min(i, rows.length - 1)]!
    spans.push({ phase: rows[start]!.phase, startMs: rows[start]!.atMs, endMs: end.atMs })
    start = i
  }
  return spans
}

/**
 * The events that name a marker, or, when none does, what the harness did, in order of time and
 * numbered from 1.
 */
export function markersOf(result: Pick<CatchUpResult, 'timeline'>): Marker[] {
  const named = result.timeline.filter((event) => event.marker !== undefined)
  const chosen =
    named.length > 0 ? named : result.timeline.filter((event) => event.actor === 'harness')
  return [...chosen]
    .sort((a, b) => a.atMs - b.atMs)
    .map((event, i) => ({
      number: i + 1,
      atMs: event.atMs,
      label: event.marker ?? event.step,
      event,
    }))
}
