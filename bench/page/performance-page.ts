/** A file of results as a page: how near to the limit, cost as work grows, every figure. */
import { pageDocument } from '../../src/lab/report/document.ts'
import { type Html, html } from '../../src/lab/report/html.ts'
import { formatNumber, machineText } from '../finding-lines.ts'
import type { SuiteRun } from '../results-file.ts'
import { type Finding, isRate } from '../trial.ts'
import { type CurvesData, performanceScript } from './browser.ts'
import { type Curve, curvesOf } from './curves.ts'

const style = `
.ratios{display:grid;grid-template-columns:minmax(12em,auto) 1fr auto;gap:10px 16px;align-items:center;padding:20px 24px}
.ratios dt{font-size:.9375rem}
.ratios dd{margin:0}
.ratios .rail{position:relative;height:14px;border-radius:7px;background:var(--raised)}
.ratios .rail i{position:absolute;inset:0 auto 0 0;width:var(--w);border-radius:7px;background:var(--series-1)}
.ratios .rail b{position:absolute;top:5px;height:4px;left:var(--from);width:var(--wide);background:var(--text);border-radius:2px;opacity:.7}
.ratios .value{text-align:right;white-space:nowrap;font-weight:600}
.ratios .value small{font-weight:400;color:var(--muted);margin-left:8px}
.curves{display:grid;gap:16px;grid-template-columns:repeat(auto-fit,minmax(min(100%,360px),1fr))}
.curves .plot{min-height:240px;margin-top:8px}
.all{padding:8px 24px 20px;overflow-x:auto}
.all h3{margin:20px 0 4px}
.all .figures{table-layout:fixed;min-width:900px}
.all .figures th:nth-child(n+2){width:11em}
.all .figures th:nth-child(4){width:5em}
.all .figures th:last-child{width:32%;padding-left:24px}
.all .figures td:last-child{padding-left:24px}
.all .figures td:last-child,.all .figures th:last-child{text-align:left;white-space:normal}
.all .figures tbody th{text-align:left;color:var(--text);font-size:.9375rem}
`

export function performancePage(runs: readonly SuiteRun[]): string {
  const curve = runs.find(({ suite }) => suite === 'cluster/partitions-curve')
  const curves = curve === undefined ? [] : curvesOf(curve.findings)
  const data: CurvesData = { curves }
  const machines = [...new Set(runs.map(({ machine }) => machineText(machine)))]
  const body = [ratiosSection(runs), curvesSection(curves), allSection(runs)]
  return pageDocument({
    ...{ title: 'Tidemark performance', kind: 'Performance', style, data, body },
    footer: `${machines.join('; ')} · medians, with quartiles where a range stands`,
    script: performanceScript(),
  })
}

/** What was measured in turn with the limit, in the same run. */
function ratiosSection(runs: readonly SuiteRun[]): Html {
  const ratios = runs
    .flatMap(({ findings }) => findings)
    .filter(({ unit, ratio }) => isRate(unit) && ratio?.to.endsWith(', limit'))
  if (ratios.length === 0) return html``
  return html`<section aria-labelledby="limit"><h2 id="limit">Throughput, as part of what the machine can do at all</h2>
<dl class="card ratios">${ratios.map(ratioRow)}</dl></section>`
}

function ratioRow({ name, unit, median, ratio }: Finding): Html {
  const { median: share, spread } = ratio!
  const percent = (part: number): string => `${(100 * Math.min(1, part)).toFixed(1)}%`
  const wide = percent(Math.min(1, spread[1]) - Math.min(1, spread[0]))
  return html`<dt>${name}</dt><dd class="rail" style="--w:${percent(share)};--from:${percent(spread[0])};--wide:${wide}"><i></i><b></b></dd>
<dd class="value">${formatNumber(share)}<small>${formatNumber(median)} ${unit}</small></dd>`
}

function curvesSection(curves: readonly Curve[]): Html {
  if (curves.length === 0) return html``
  const figures = curves.map(
    ({
      id,
      title,
      question,
      description,
    }) => html`<figure><figcaption><h3 id="title-${id}">${title}</h3>
<p>${question}</p></figcaption>
<div class="plot" id="chart-${id}" role="img" aria-labelledby="title-${id}" aria-description="${description}"></div></figure>`,
  )
  return html`<section aria-labelledby="curves"><h2 id="curves">Cost as work grows: over 1 to 10,000 partitions</h2>
<noscript><p>The curves need JavaScript. Their numbers are in the tables.</p></noscript>
<div class="curves">${figures}</div></section>`
}

function allSection(runs: readonly SuiteRun[]): Html {
  const suites = runs.map(
    ({ suite, date, commit, full, findings }) => html`<h3>${suite}</h3>
<p class="muted">${date.slice(0, 10)}, commit ${commit}${full ? '' : ', short run'}</p>
<table class="figures"><thead><tr><th>what</th><th>median</th><th>quartiles</th><th>samples</th><th>beside</th></tr></thead>
<tbody>${findings.map(findingRow)}</tbody></table>`,
  )
  return html`<section aria-labelledby="all"><h2 id="all">Every figure</h2><div class="card all">${suites}</div></section>`
}

function findingRow({ name, unit, median, p25, p75, samples, ratio, note }: Finding): Html {
  const beside = [ratio && `${formatNumber(ratio.median)} of ${ratio.to}`, note].filter(
    (text) => text !== undefined,
  )
  return html`<tr><th scope="row">${name}</th><td>${formatNumber(median)} ${unit}</td>
<td>${formatNumber(p25)} to ${formatNumber(p75)}</td><td>${samples}</td><td class="muted">${beside.join(' · ')}</td></tr>`
}
