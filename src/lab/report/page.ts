/** The whole report as one text. */
import type { CatchUpResult } from '../result.ts'
import type { PageData } from './browser/page.ts'
import { reportScript } from './browser/script.ts'
import { cardsSection } from './cards-section.ts'
import type { Chart } from './chart.ts'
import { chartsOf } from './charts.ts'
import { chartsSection } from './charts-section.ts'
import { pageDocument } from './document.ts'
import { explanationSection } from './explanation-section.ts'
import { html } from './html.ts'
import { markersOf, phaseSpans, phaseTitles } from './phases.ts'
import { scenarioSection } from './scenario-section.ts'
import { timelineSection } from './timeline-section.ts'
import { verdictSection } from './verdict-section.ts'
import { verdictOf } from './words.ts'

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
  return pageDocument({
    title: `${verdictOf(result).headline} · Tidemark catch-up`,
    kind: 'Catch-up report',
    body,
    footer: `Tidemark catch-up report · seed ${result.scenario.seed} · the same numbers are in result.json and series.csv beside this page`,
    data,
    script: reportScript(),
  })
}

/** Seven digits are more than a chart can show; the whole ones are in result.json. */
function rounded(chart: Chart): Chart {
  const series = chart.series.map((line) => ({
    ...line,
    values: line.values.map((value) => (value === null ? null : Number(value.toPrecision(7)))),
  }))
  return { ...chart, series }
}
