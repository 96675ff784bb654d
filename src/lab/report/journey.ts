/** The marked events on one lane an actor, joined in the order in which they caused each other. */
import type { Actor } from '../result.ts'
import { type Html, html, trusted } from './html.ts'
import type { Marker } from './phases.ts'
import { formatDuration } from './quantity.ts'

const lanes: readonly Actor[] = ['harness', 'follower', 'leader', 'controller']
const laneTitles: Record<Actor, string> = {
  harness: 'Harness',
  follower: 'Follower',
  leader: 'Leader',
  controller: 'Controller',
}
const laneColors: Record<Actor, string> = {
  harness: 'muted',
  follower: 'series-2',
  leader: 'series-1',
  controller: 'series-4',
}
const width = 1200
const laneHeight = 58
const firstX = 150
/** Keeps a label readable where an arrow passes behind it. */
const halo = trusted(
  'stroke="var(--surface)" stroke-width="4" stroke-linejoin="round" paint-order="stroke"',
)
/** More would not be readable side by side. */
const markersMax = 12

/**
 * Order, not time, goes to the right: what takes a millisecond here decides as much as a second.
 */
export function journey(markers: readonly Marker[]): Html {
  const shown = markers.slice(0, markersMax)
  if (shown.length < 2) return html``
  const step = (width - firstX - 70) / (shown.length - 1)
  const points = shown.map((marker, i) => ({
    marker,
    x: firstX + i * step,
    y: 30 + lanes.indexOf(marker.event.actor) * laneHeight,
  }))
  const height = 30 + lanes.length * laneHeight
  return html`<div class="card journey" tabindex="0" role="group" aria-label="The path of the decisions, in order; the table below tells the same">
<svg viewBox="0 0 ${width} ${height}" aria-hidden="true" font-size="14">
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="var(--marker)"/></marker></defs>
${lanes.map(lane)}
${points.slice(1).map((point, i) => arrow(points[i]!, point))}
${points.map((point) => stop(point, step))}</svg></div>`
}

interface Point {
  readonly marker: Marker
  readonly x: number
  readonly y: number
}

function lane(actor: Actor, i: number): Html {
  const y = 30 + i * laneHeight
  return html`<line x1="${firstX - 30}" x2="${width - 10}" y1="${y}" y2="${y}" stroke="var(--line)"/>
<text x="0" y="${y + 5}" font-weight="600" fill="var(--${laneColors[actor]})">${laneTitles[actor]}</text>`
}

function arrow(from: Point, to: Point): Html {
  const dx = to.x - from.x
  const dy = to.y - from.y
  const length = Math.hypot(dx, dy)
  const trim = 15 / length
  const x1 = (from.x + dx * trim).toFixed(1)
  const y1 = (from.y + dy * trim).toFixed(1)
  const x2 = (to.x - dx * trim).toFixed(1)
  const y2 = (to.y - dy * trim).toFixed(1)
  // What the harness does follows from its schedule, not from the step before.
  const look = to.marker.event.actor === 'harness' ? '2 5' : 'none'
  return html`<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="var(--marker)" stroke-width="1.5" stroke-dasharray="${look}" marker-end="url(#arrow)"/>`
}

function stop({ marker, x, y }: Point, step: number): Html {
  const color = laneColors[marker.event.actor]
  const room = Math.max(4, Math.floor((step + 10) / 7))
  const label = marker.label.length > room ? `${marker.label.slice(0, room - 1)}…` : marker.label
  return html`<circle cx="${x.toFixed(1)}" cy="${y}" r="12" fill="var(--${color})" stroke="var(--surface)" stroke-width="2"/>
<text x="${x.toFixed(1)}" y="${y + 4.5}" text-anchor="middle" font-size="12" font-weight="700" fill="var(--surface)">${marker.number}</text>
<text x="${x.toFixed(1)}" y="${y + 28}" text-anchor="middle" font-size="12.5" fill="var(--text)" ${halo}>${label}</text>
<text x="${x.toFixed(1)}" y="${y - 18}" text-anchor="middle" font-size="11" fill="var(--muted)" ${halo}>${formatDuration(marker.atMs)}</text>`
}
