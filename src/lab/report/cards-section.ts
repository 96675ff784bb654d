/** The numbers of a run at a glance, one card a question. */
import type { CatchUpResult, ForegroundWindow } from '../result.ts'
import { type Html, html, trusted } from './html.ts'
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatRate,
  formatShortCount,
  formatSignedPercent,
  plural,
  quantityOf,
} from './quantity.ts'
import { faultsOf } from './words.ts'

export function cardsSection(result: CatchUpResult): Html {
  return html`<section aria-labelledby="numbers"><h2 id="numbers">The run in numbers</h2>
<div class="cards">${[
    evictionCard(result),
    backlogCard(result),
    catchUpCard(result),
    admissionCard(result),
    latencyCard(result),
    recordsCard(result),
    promisesCard(result),
  ]}</div></section>`
}

interface CardParts {
  readonly title: string
  readonly value: string
  readonly sub: readonly string[]
  readonly foot?: Html
}

function card({ title, value, sub, foot }: CardParts): Html {
  const { number, unit } = quantityOf(value)
  const small = unit === '' ? html`` : html`<small>${unit}</small>`
  return html`<div class="card"><h3>${title}</h3><p class="big">${number}${small}</p>
${sub.map((text) => html`<p class="sub">${text}</p>`)}${foot === undefined ? html`` : html`<div class="foot">${foot}</div>`}</div>`
}

function evictionCard(result: CatchUpResult): Html {
  const spread = result.evictedAfterMs
  const limitMs = result.scenario.replicaLagTimeMaxMs
  const title = 'Left the in-sync replicas after'
  if (spread === null) {
    return card({ title, value: 'never', sub: ['It kept up, or the outage was too short.'] })
  }
  const range = `median; ${formatDuration(spread.min)} to ${formatDuration(spread.max)} over partitions`
  return card({
    title,
    value: formatDuration(spread.median),
    sub: [range],
    foot: gauge(spread, limitMs),
  })
}

/** The window in which the rule allows it, 1.0 to 1.5 times the limit, with what was seen. */
function gauge(spread: { min: number; median: number; max: number }, limitMs: number): Html {
  const high = Math.max(1.75, (spread.max / limitMs) * 1.05)
  const low = Math.min(0.75, (spread.min / limitMs) * 0.95)
  const x = (ratio: number) => ((ratio - low) / (high - low)) * 240
  const at = (ms: number) => x(ms / limitMs).toFixed(1)
  const says = `Allowed from 1.0 to 1.5 times the limit of ${formatDuration(limitMs)}; seen from ${(spread.min / limitMs).toFixed(2)} to ${(spread.max / limitMs).toFixed(2)} times.`
  const seenWidth = Math.max(2, x(spread.max / limitMs) - x(spread.min / limitMs)).toFixed(1)
  return html`<svg class="gauge" viewBox="0 0 240 38" role="img" aria-label="${says}">
<rect x="0" y="8" width="240" height="8" rx="4" fill="var(--raised)"/>
<rect x="${x(1).toFixed(1)}" y="8" width="${(x(1.5) - x(1)).toFixed(1)}" height="8" fill="var(--good)" opacity=".28"/>
<rect x="${at(spread.min)}" y="6" width="${seenWidth}" height="12" rx="3" fill="var(--series-1)"/>
<rect x="${at(spread.median)}" y="3" width="2" height="18" fill="var(--text)"/>
<g font-size="11" fill="var(--muted)" text-anchor="middle"><text x="${x(1).toFixed(1)}" y="34">1.0×</text>
<text x="${x(1.5).toFixed(1)}" y="34">1.5× limit</text></g></svg>`
}

function backlogCard(result: CatchUpResult): Html {
  const { backlogBytes, backlogRecords, diskReadBytes, ringBytes, copiedBytes } = result
  const total = diskReadBytes + ringBytes
  const share = total === 0 ? 0 : (diskReadBytes / total) * 100
  const says = `${formatBytes(diskReadBytes)} read from the leader's segment files, ${formatBytes(ringBytes)} out of shared memory.`
  const foot = html`<svg class="split" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="${says}">
<rect width="100" height="10" fill="var(--series-3)" opacity=".55"/><rect width="${share.toFixed(2)}" height="10" fill="var(--series-1)"/></svg>
<div class="key"><span><i style="background:var(--series-1)"></i>disk ${formatBytes(diskReadBytes)}</span><span><i style="background:var(--series-3);opacity:.55"></i>ring ${formatBytes(ringBytes)}</span></div>`
  return card({
    title: 'Backlog at the resume',
    value: formatBytes(backlogBytes),
    sub: [`${formatCount(backlogRecords)} records; ${formatBytes(copiedBytes)} copied in the end`],
    foot,
  })
}

function catchUpCard(result: CatchUpResult): Html {
  const { catchUpMs, predicted, predictionError, copiedBytes } = result
  const sub: string[] = []
  if (catchUpMs !== null && catchUpMs > 0) {
    sub.push(`${formatRate((copiedBytes / catchUpMs) * 1000)} while the log end moved on`)
  }
  if (predicted !== null) {
    sub.push(
      `predicted ${predicted.catchUpMs === null ? 'never' : formatDuration(predicted.catchUpMs)}, error ${formatSignedPercent(predictionError)}`,
      `fitted: ${formatDuration(predicted.setupMsPerRead)} a read + ${formatRate(predicted.copyBytesPerSec)}`,
    )
  }
  const value = catchUpMs === null ? 'not reached' : formatDuration(catchUpMs)
  return card({ title: 'Caught up after', value, sub })
}

function admissionCard({ admissionMs, isr }: CatchUpResult): Html {
  const title = 'From the log end into the ISR'
  const changes = `${formatCount(isr.shrinks)} shrinks, ${formatCount(isr.expands)} expands, ${formatCount(isr.rejected)} rejected, ${formatCount(isr.flaps)} flaps`
  if (admissionMs === null) return card({ title, value: 'not reached', sub: [changes] })
  const tail = `median; p99 ${formatDuration(admissionMs.p99)}, max ${formatDuration(admissionMs.max)}`
  return card({ title, value: formatDuration(admissionMs.median), sub: [tail, changes] })
}

function latencyCard({ foreground, scenario }: CatchUpResult): Html {
  const windows: readonly (readonly [string, ForegroundWindow | null])[] = [
    ['before', foreground.before],
    ['until evicted', foreground.awaitingEviction],
    ['out of sync', foreground.outOfSync],
    ['after', foreground.after],
  ]
  const row = (label: string, pick: (window: ForegroundWindow) => string, strong = false) =>
    html`<tr class="${strong ? 'strong' : ''}"><th scope="row">${label}</th>${windows.map(
      ([, window]) => html`<td>${window === null ? '–' : pick(window)}</td>`,
    )}</tr>`
  return html`<div class="card wide"><h3>What the producers noticed (acks=${String(scenario.acks)})</h3>
<table class="figures"><thead><tr><td></td>${windows.map(
    ([name]) => html`<th scope="col">${name}</th>`,
  )}</tr></thead><tbody>
${row('ack p50', ({ ackMs }) => formatDuration(ackMs.p50))}
${row('ack p99', ({ ackMs }) => formatDuration(ackMs.p99), true)}
${row('ack max', ({ ackMs }) => formatDuration(ackMs.max))}
${row('records/s', (window) => formatShortCount(window.recordsPerSec))}
</tbody></table></div>`
}

function recordsCard({ records }: CatchUpResult): Html {
  const { verified, acknowledged, lost, duplicated, produced } = records
  return card({
    title: 'Records read back and compared',
    value: formatCount(verified),
    sub: [
      `of ${formatCount(acknowledged)} acknowledged, ${formatCount(produced)} produced`,
      `${formatCount(lost)} lost, ${formatCount(duplicated)} duplicated`,
    ],
    foot: check(lost + duplicated === 0 && verified >= acknowledged),
  })
}

function promisesCard(result: CatchUpResult): Html {
  const { invariants, highWatermark } = result
  return card({
    title: 'Invariants violated',
    value: formatCount(invariants.violations),
    sub: [
      `${plural(invariants.checked, 'check')}`,
      `high watermark: ${formatShortCount(highWatermark.advances)} advances, went back ${plural(highWatermark.wentBack, 'time')}, stalled ${formatDuration(highWatermark.stalledMs)}`,
    ],
    foot: check(faultsOf(result).length === 0),
  })
}

function check(kept: boolean): Html {
  const text = kept ? 'as promised' : 'not as promised'
  const mark = trusted(kept ? '&#10003;' : '&#10007;')
  return html`<span class="badge ${kept ? 'good' : 'bad'}"><span aria-hidden="true">${mark}</span> ${text}</span>`
}
