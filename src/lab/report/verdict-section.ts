import type { CatchUpResult } from '../result.ts'
import { type Html, html } from './html.ts'
import { formatDuration, formatSignedPercent, plural } from './quantity.ts'
import { scenarioOf, verdictOf } from './words.ts'

/** The head of the page: what came out, and the three times side by side. */
export function verdictSection(result: CatchUpResult): Html {
  const verdict = verdictOf(result)
  return html`<section class="card verdict ${verdict.tone}" aria-labelledby="headline">
<div><span class="badge">${verdict.badge}</span>
<h1 id="headline">${verdict.headline}</h1>
<p>${verdict.story}</p>
<p class="scenario">${scenarioOf(result.scenario)}</p></div>
${comparison(result, verdict.prediction)}
</section>`
}

function comparison(result: CatchUpResult, sentence: string): Html {
  const { predicted, catchUpMs } = result
  if (predicted === null) return html`<div class="compare"><p class="note">${sentence}</p></div>`
  const bars = [
    { label: 'Measured', ms: catchUpMs, fill: 'var(--series-1)' },
    { label: 'Predicted', ms: predicted.catchUpMs, fill: 'var(--series-2)' },
    { label: 'Naive', ms: predicted.naiveMs, fill: 'var(--muted)' },
  ]
  const longest = Math.max(1, ...bars.map(({ ms }) => ms ?? 0))
  const rows = bars.map(({ label, ms, fill }) => {
    const width = ms === null ? 0 : (ms / longest) * 100
    const bar = ms === null ? html`` : html`<i style="--w:${width.toFixed(1)}%;--fill:${fill}"></i>`
    const value = ms === null ? 'never' : formatDuration(ms)
    return html`<dt>${label}</dt><dd aria-hidden="true">${bar}</dd><dd class="value">${value}</dd>`
  })
  return html`<dl class="compare">${rows}
<dd class="note">${noteOf(result)}</dd></dl>`
}

function noteOf({ predicted, predictionError, repetitions }: CatchUpResult): string {
  const parts: string[] = []
  if (predictionError !== null) {
    parts.push(`Prediction error ${formatSignedPercent(predictionError)}`)
  }
  if (predicted !== null && typeof predicted.fittedFrom !== 'string') {
    const { samples } = predicted.fittedFrom
    parts.push(`fitted from the run's own first ${plural(samples, 'disk read')}`)
  }
  if (repetitions !== undefined) {
    const { low, high, median } = repetitions.catchUpMs
    const interval = `95 % from ${formatDuration(low)} to ${formatDuration(high)}`
    const count = plural(repetitions.count, 'repetition')
    parts.push(`${count}: median ${formatDuration(median)}, ${interval}`)
  }
  return parts.join(' · ')
}
