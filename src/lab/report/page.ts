/** The whole report as one text: nothing is loaded from anywhere when it is opened. */
import fs from 'node:fs'
import { createRequire } from 'node:module'
import type { CatchUpResult } from '../result.ts'
import type { PageData } from './browser/page.ts'
import { reportScript } from './browser/script.ts'
import { cardsSection } from './cards-section.ts'
import type { Chart } from './chart.ts'
import { chartsOf } from './charts.ts'
import { chartsSection } from './charts-section.ts'
import { explanationSection } from './explanation-section.ts'
import { type Html, html, jsonForScript, trusted } from './html.ts'
import { markersOf, phaseSpans, phaseTitles } from './phases.ts'
import { scenarioSection } from './scenario-section.ts'
import { styleSheet } from './style.ts'
import { timelineSection } from './timeline-section.ts'
import { verdictSection } from './verdict-section.ts'
import { verdictOf } from './words.ts'

/** Nothing but what the page itself holds may run or be shown. */
const contentPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

const require = createRequire(import.meta.url)

export function reportPage(result: CatchUpResult): string {
  const charts = result.series.length > 1 ? chartsOf(result) : []
  const phases = phaseSpans(result.series)
  const markers = markersOf(result)
  const data: PageData = {
    seconds: result.series.map((row) => row.atMs / 1000),
    charts: charts.map(rounded),
    phases,
    phaseTitles,
    markers,
  }
  const body = [
    verdictSection(result),
    cardsSection(result),
    charts.length > 0 ? chartsSection({ charts, phases, markers }) : html``,
    timelineSection(result, markers),
    explanationSection(),
    html`<section aria-labelledby="again"><h2 id="again">To run it again</h2>${scenarioSection(result)}</section>`,
  ]
  return `<!doctype html>\n${frame(result, body, data)}\n`
}

/** Seven digits are more than a chart can show; the whole ones are in result.json. */
function rounded(chart: Chart): Chart {
  const series = chart.series.map((line) => ({
    ...line,
    values: line.values.map((value) => (value === null ? null : Number(value.toPrecision(7)))),
  }))
  return { ...chart, series }
}

function frame(result: CatchUpResult, body: readonly Html[], data: PageData): Html {
  return html`<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${contentPolicy}">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Tidemark">
<title>${verdictOf(result).headline} · Tidemark catch-up</title>
<style>${trusted(inlined('uPlot.min.css'))}
${trusted(styleSheet())}</style></head>
<body><a class="skip" href="#main">Skip to the report</a>
<div class="page"><header class="bar">${logo}<strong>Tidemark</strong><span>Catch-up report</span>
<button type="button" id="theme" aria-label="Switch between light and dark">◐</button></header>
<main id="main">${body}</main>
<footer>Tidemark catch-up report · seed ${result.scenario.seed} · the same numbers are in result.json and series.csv beside this page</footer></div>
<script type="application/json" id="run-data">${jsonForScript(data)}</script>
<script>${trusted(inlined('uPlot.iife.min.js'))}</script>
<script>${trusted(reportScript())}</script></body></html>`
}

const logo = trusted(
  '<svg width="22" height="22" viewBox="0 0 22 22" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" aria-hidden="true"><path d="M2 6h18" opacity=".45"/><path d="M2 12c3-3 6-3 9 0s6 3 9 0"/><path d="M2 18c3-3 6-3 9 0s6 3 9 0"/></svg>',
)

function inlined(name: string): string {
  return fs.readFileSync(require.resolve(`uplot/dist/${name}`), 'utf8')
}
