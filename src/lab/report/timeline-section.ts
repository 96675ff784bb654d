/** Who decided, on what numbers, how it travelled: the run's events as a table. */
import type { Actor, CatchUpResult, TimelineEvent } from '../result.ts'
import { type Html, html } from './html.ts'
import { journey } from './journey.ts'
import type { Marker } from './phases.ts'
import { formatCount } from './quantity.ts'

/** More events than this are folded, with the marked ones in sight. */
const foldAbove = 16
/** More than this would make the page slow; the whole list is in result.json. */
const rowsMax = 2000

export const actorTitles: Record<Actor, string> = {
  leader: 'Leader',
  controller: 'Controller',
  follower: 'Follower',
  harness: 'Harness',
}

/** Shapes, so that the actor isn't told by colour alone. */
export const actorShapes: Record<Actor, string> = {
  leader: '▲',
  controller: '◆',
  follower: '●',
  harness: '■',
}

export function timelineSection(result: CatchUpResult, markers: readonly Marker[]): Html {
  const events = [...result.timeline].sort((a, b) => a.atMs - b.atMs)
  if (events.length === 0) return html``
  const marked = events.filter((event) => markers.some((marker) => marker.event === event))
  const folded = events.length > foldAbove && marked.length > 0
  const shown = folded ? marked : events
  const rest = folded
    ? html`<details class="card"><summary>All ${formatCount(events.length)} steps</summary>${table(events.slice(0, rowsMax), markers)}${cutNote(events.length)}</details>`
    : html``
  return html`<section aria-labelledby="story"><h2 id="story">Who decided, on what numbers, and how it travelled</h2>
${journey(markers)}
<div class="card" style="margin-top:16px">${table(shown, markers)}</div>${rest}</section>`
}

function cutNote(count: number): Html {
  if (count <= rowsMax) return html``
  return html`<p class="prose muted">The first ${formatCount(rowsMax)} are shown; result.json has all.</p>`
}

function table(events: readonly TimelineEvent[], markers: readonly Marker[]): Html {
  return html`<div class="scroll"><table class="steps"><thead><tr><th scope="col" class="num">At</th><th scope="col">Who</th><th scope="col">Step</th><th scope="col" class="num">Partitions</th><th scope="col">On what numbers, and how it travelled</th></tr></thead>
<tbody>${events.map((event) => row(event, markers))}</tbody></table></div>`
}

function row(event: TimelineEvent, markers: readonly Marker[]): Html {
  const marker = markers.find((candidate) => candidate.event === event)
  const number = marker === undefined ? html`` : html`<span class="number">${marker.number}</span>`
  const { actor } = event
  return html`<tr><td class="num">${number}${(event.atMs / 1000).toFixed(3)} s</td>
<td><span class="actor actor-${actor}"><span aria-hidden="true">${actorShapes[actor]}</span>${actorTitles[actor]}</span></td>
<td class="step">${event.step}</td><td class="num partitions">${formatCount(event.partitions)}<span class="unit"> ${event.partitions === 1 ? 'partition' : 'partitions'}</span></td><td class="detail">${event.detail}</td></tr>`
}
