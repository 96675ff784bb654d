import type { Chart, ChartSeries } from './chart.ts'
import { type Html, html } from './html.ts'
import { type Marker, type PhaseSpan, phaseMeanings, phaseTitles } from './phases.ts'
import { formatDuration } from './quantity.ts'

export interface ChartsParts {
  readonly charts: readonly Chart[]
  readonly phases: readonly PhaseSpan[]
  readonly markers: readonly Marker[]
}

export function chartsSection(parts: ChartsParts): Html {
  const figures = parts.charts.map((chart, i) => figure(chart, i === 0))
  return html`<section aria-labelledby="over-time"><h2 id="over-time">Over time</h2>
<ol class="ribbon" aria-label="Phases of the run">${parts.phases.map(phaseItem)}</ol>
<ol class="markers" aria-label="Events marked in the charts">${parts.markers.map(markerItem)}</ol>
<div class="hint"><span>One cursor for all charts. Drag to zoom; focus a chart and use the arrow keys to read it.</span>
<button type="button" id="zoom-reset" hidden>Whole run</button></div>
<p class="unseen" id="spoken" aria-live="polite"></p>
<noscript><p>The charts need JavaScript. Their numbers are in series.csv beside this page.</p></noscript>
<div class="charts">${figures}</div></section>`
}

function phaseItem({ phase, startMs, endMs }: PhaseSpan): Html {
  const grow = Math.max(1, Math.round((endMs - startMs) / 100))
  return html`<li style="--grow:${grow};--fill:var(--phase-${phase})"><b>${phaseTitles[phase]} · ${formatDuration(endMs - startMs)}</b>
<span>${phaseMeanings[phase]}</span></li>`
}

function markerItem({ number, label, atMs }: Marker): Html {
  return html`<li><span class="number">${number}</span>${label} <span class="muted">${formatDuration(atMs)}</span></li>`
}

function figure(chart: Chart, tall: boolean): Html {
  return html`<figure id="figure-${chart.id}" class="${tall ? 'tall' : ''}">
<figcaption><div class="top"><h3 id="title-${chart.id}">${chart.title}</h3><span data-when></span></div>
<p>${chart.question}</p>
<div class="legend">${chart.series.map(legendItem)}</div></figcaption>
<div class="plot" id="chart-${chart.id}" ${tall ? html`data-tall` : html``} tabindex="0" role="img" aria-labelledby="title-${chart.id}" aria-description="${chart.description}"></div>
</figure>`
}

/** A switch for a line; plain text for what is only read. */
function legendItem(series: ChartSeries): Html {
  const value = html`<output data-value>${series.rest}</output>`
  if (series.hidden) {
    return html`<span class="item muted" data-series>${series.label}${value}</span>`
  }
  const dash = (series.dash ?? []).join(' ')
  return html`<button type="button" data-series aria-pressed="true" title="Show or hide"><svg viewBox="0 0 22 8" aria-hidden="true"><line x1="0" y1="4" x2="22" y2="4" stroke="var(--series-${series.color})" stroke-width="2.5" stroke-dasharray="${dash}"/></svg>${series.label}${value}</button>`
}
