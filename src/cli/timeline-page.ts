/** A metadata log's history as one page: nothing is loaded from anywhere when it is opened. */
import { type Html, html, trusted } from '../lab/report/html.ts'
import { styleSheet } from '../lab/report/style.ts'
import { formatDuration } from '../lab/units.ts'
import type { MetadataTimeline, PartitionHistory } from '../log-tools/timeline-model.ts'
import { lanesMax, timelinePicture } from './timeline-lanes.ts'
import { absenceTexts, changeText, list, timeText } from './timeline-words.ts'

const contentPolicy = "default-src 'none'; style-src 'unsafe-inline'"

/** Rows of all tables together; the text and the JSON have everything. */
const rowsMax = 5_000

const laneStyle = `
.picture{padding:12px 8px;overflow-x:auto}
.lanes{display:block;min-width:900px;width:100%;height:auto;font-size:11px}
.lanes text{fill:var(--text)}
.lanes .name{text-anchor:end;font-weight:600}
.lanes .replica{text-anchor:end;font-size:8px;fill:var(--muted)}
.lanes .axis{text-anchor:middle;fill:var(--muted);font-size:10px}
.lanes .tick{stroke:var(--grid)}
.lanes .break{fill:var(--raised)}
.lanes .cut{fill:var(--muted);font-size:9px}
.lanes .mark{fill:var(--muted);font-size:10px}
.lanes .controller{fill:var(--series-4)}
.lanes .storm{fill:var(--phase-awaiting-eviction)}
.lanes .active{fill:var(--series-3)}
.lanes .fenced{fill:url(#out)}
.lanes .leaving{fill:var(--warn)}
.lanes .gone{fill:none}
.lanes .leads{fill:var(--series-1)}
.lanes .in-sync{fill:var(--series-1);fill-opacity:.38}
.lanes .out-of-sync{fill:url(#out)}
.lanes .offline{fill:var(--bad)}
.out-ground{fill:var(--bad-soft)}.out-stripe{fill:var(--bad);fill-opacity:.55}
.looks{display:flex;flex-wrap:wrap;gap:4px 18px;list-style:none;margin:0 0 12px;padding:0;font-size:.875rem;color:var(--muted)}
.looks svg{width:20px;height:10px;margin-right:6px}
.looks .leads{fill:var(--series-1)}.looks .in-sync{fill:var(--series-1);fill-opacity:.38}
.looks .out-of-sync{fill:url(#out)}.looks .active{fill:var(--series-3)}
.looks .leaving{fill:var(--warn)}.looks .offline{fill:var(--bad)}
.steps td.num{width:1%}
.wrong{padding:14px 20px;margin:0 0 16px;background:var(--bad-soft);border:1px solid var(--bad);border-radius:12px}
`

export function timelinePage(timeline: MetadataTimeline): string {
  const { svg, drawn } = timelinePicture(timeline)
  const changed = timeline.partitions.filter(({ changes }) => changes.length > 1)
  const page = html`<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${contentPolicy}">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Tidemark">
<title>In-sync replicas of ${timeline.directory} · Tidemark</title>
<style>${trusted(styleSheet())}${trusted(laneStyle)}</style></head>
<body><div class="page"><header class="bar"><strong>Tidemark</strong><span>Metadata log timeline</span></header>
<main><h1>Who left, who came back, who led</h1>
<p class="scenario">${headline(timeline)}</p>
${faultsOf(timeline)}
<section aria-label="Picture"><h2>${drawn} of ${timeline.partitions.length} partitions, ${timeline.brokers.length} brokers</h2>
${looks}${cutNote(changed.length, drawn)}<figure class="picture">${svg}</figure></section>
${stormsSection(timeline)}${notesSection(timeline)}
<section><h2>Change by change</h2>${tables(changed)}</section></main>
<footer>Times in UTC. Point at a bar to read what it stands for.</footer></div></body></html>`
  return `<!doctype html>\n${page}\n`
}

function headline({ directory, records, fromMs, toMs }: MetadataTimeline): string {
  if (fromMs === null || toMs === null) return `${directory}: no records`
  const span = `${timeText(fromMs)} to ${timeText(toMs)}`
  return `${directory}: ${records} records, ${span}, ${formatDuration(toMs - fromMs)}`
}

function look(name: string, words: string): Html {
  return html`<li><svg viewBox="0 0 20 10" aria-hidden="true"><rect width="20" height="10" class="${name}"/></svg>${words}</li>`
}

const looks = html`<ul class="looks">${look('leads', 'leads')}${look('in-sync', 'in sync')}${look('out-of-sync', 'out of sync, or a fenced broker')}${look('active', 'broker active')}${look('leaving', 'broker shutting down')}${look('offline', 'nobody leads')}</ul>`

function cutNote(changed: number, drawn: number): Html {
  if (changed <= drawn) return html``
  return html`<p class="muted">${changed} partitions changed; the ${lanesMax} of most changes are drawn.</p>`
}

function faultsOf({ faults }: MetadataTimeline): Html {
  return html`${faults.map(({ file, position, expected, found }) => {
    return html`<p class="wrong">Not whole: ${file} at position ${position}: expected ${expected}, found ${found}. The history ends there.</p>`
  })}`
}

function stormsSection({ storms, flapping }: MetadataTimeline): Html {
  if (storms.length + flapping.length === 0) return html``
  const rows = [
    ...storms.map(({ fromMs, toMs, changes, partitions, brokers }) => {
      const took = formatDuration(toMs - fromMs)
      const text = `${changes} changes of ${partitions} partitions in ${took}, brokers ${list(brokers)}`
      return row(fromMs, 'storm', text)
    }),
    ...flapping.map(({ topic, partition, brokerId, departures, fromMs, toMs }) => {
      const text = `broker ${brokerId} left ${departures} times in ${formatDuration(toMs - fromMs)}`
      return row(fromMs, `flapping: ${topic}-${partition}`, text)
    }),
  ].slice(0, rowsMax)
  return html`<section><h2>Storms and flapping</h2><div class="card">${table(rows)}</div></section>`
}

function notesSection({ notes }: MetadataTimeline): Html {
  if (notes.length === 0) return html``
  const items = notes.slice(0, rowsMax).map(({ offset, text }) => {
    return html`<p>${offset === null ? '' : `Offset ${offset}: `}${text}</p>`
  })
  return html`<section><h2>Notes</h2><div class="card prose">${items}</div></section>`
}

function tables(changed: readonly PartitionHistory[]): Html {
  let rows = 0
  const shown = changed.filter(({ changes }) => {
    rows += changes.length
    return rows <= rowsMax
  })
  const cut =
    shown.length === changed.length
      ? html``
      : html`<p class="muted">The first ${shown.length} of ${changed.length} partitions; the text and the JSON have all.</p>`
  return html`${shown.map(partitionDetails)}${cut}`
}

function partitionDetails(history: PartitionHistory): Html {
  const { topic, partition, changes } = history
  const rows = changes.map((change) => {
    const { atMs, leader, inSyncReplicas, leaderEpoch, partitionEpoch } = change
    const who = leader < 0 ? 'no leader' : `leader ${leader}`
    const state = `${who}, in sync ${list(inSyncReplicas)}; leader epoch ${leaderEpoch}, partition epoch ${partitionEpoch}`
    return row(atMs, changeText(change, history), state)
  })
  const out = absenceTexts(history).join('; ')
  return html`<details class="card"><summary>${topic}-${partition}: ${changes.length - 1} changes${out === '' ? '' : ` · ${out}`}</summary>${table(rows)}</details>`
}

function table(rows: readonly Html[]): Html {
  return html`<div class="scroll"><table class="steps"><tbody>${rows}</tbody></table></div>`
}

function row(atMs: number, what: string, detail: string): Html {
  return html`<tr><td class="num">${timeText(atMs)}</td><td class="step">${what}</td><td class="detail">${detail}</td></tr>`
}
