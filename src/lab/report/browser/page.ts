/**
 * The half of the report's script that builds the charts and answers the reader: one cursor and one
 * zoom over all charts, keys, legend switches, themes, print. Handed over like `draw.ts`.
 */
import type { Chart, ChartSeries } from '../chart.ts'
import type { Marker, PhaseSpan } from '../phases.ts'
import type { KeyEvent, Node, Plot } from './dom.ts'
import type * as Draw from './draw.ts'

interface BrowserDocument extends Node {
  readonly documentElement: Node
  getElementById(id: string): Node | null
}
interface PlotConstructor {
  new (options: object, data: readonly (readonly (number | null)[])[], target: Node): Plot
  readonly paths: { stepped(options: object): unknown }
}
// Handed over beside this file; an import would be renamed on the way.
declare const colorOf: typeof Draw.colorOf
declare const drawMarkers: typeof Draw.drawMarkers
declare const drawPhases: typeof Draw.drawPhases
declare const drawThreshold: typeof Draw.drawThreshold
declare const phaseAt: typeof Draw.phaseAt
declare const valueText: typeof Draw.valueText
declare const document: BrowserDocument
declare const location: { readonly search: string }
declare const uPlot: PlotConstructor
declare const ResizeObserver: new (listener: () => void) => { observe(node: Node): void }
declare function matchMedia(query: string): Node & { readonly matches: boolean }
declare function addEventListener(name: string, listener: () => void): void

/** The document the page embeds. */
export interface PageData {
  readonly seconds: readonly number[]
  readonly charts: readonly Chart[]
  readonly phases: readonly PhaseSpan[]
  readonly phaseTitles: Record<string, string>
  readonly markers: readonly Marker[]
}

export interface Drawn {
  readonly chart: Chart
  readonly host: Node
  readonly figure: Node
  readonly plot: Plot
}

export interface Page {
  readonly data: PageData
  readonly drawn: Drawn[]
  /** Place of the keyboard's cursor in the samples. */
  index: number
  zooming: boolean
}

export function startPage(): void {
  const data = JSON.parse(document.getElementById('run-data')!.textContent!) as PageData
  const page: Page = { data, drawn: [], index: 0, zooming: false }
  followTheme(page.drawn)
  if (data.charts.length === 0) return
  for (const chart of data.charts) page.drawn.push(drawChart(page, chart))
  const resize = () => {
    for (const { plot, host } of page.drawn) {
      if (host.clientWidth > 0) plot.setSize({ width: host.clientWidth, height: heightOf(host) })
    }
  }
  for (const { host } of page.drawn) new ResizeObserver(resize).observe(host)
  document.getElementById('zoom-reset')!.addEventListener('click', () => zoomTo(page, null))
}

export function heightOf(host: Node): number {
  const tall = host.dataset.tall !== undefined
  if (host.clientWidth < 480) return tall ? 260 : 220
  return tall ? 340 : 250
}

export function drawChart(page: Page, chart: Chart): Drawn {
  const host = document.getElementById(`chart-${chart.id}`)!
  const figure = document.getElementById(`figure-${chart.id}`)!
  const values = chart.series.map((series) => series.values)
  const plot = new uPlot(optionsOf(page, chart, host, figure), [page.data.seconds, ...values], host)
  host.addEventListener('keydown', (event) => onKey(page, chart, event))
  let row = 0
  for (const button of figure.querySelectorAll('[data-series]')) {
    const index = ++row
    if (chart.series[index - 1]!.hidden) continue
    button.addEventListener('click', () => {
      const show = button.getAttribute('aria-pressed') !== 'true'
      button.setAttribute('aria-pressed', String(show))
      plot.setSeries(index, { show })
    })
  }
  return { chart, host, figure, plot }
}

export function optionsOf(page: Page, chart: Chart, host: Node, figure: Node): object {
  const narrow = host.clientWidth < 480
  const axis = { stroke: () => colorOf('muted'), font: '12px system-ui, sans-serif' }
  const grid = gridOf(null)
  const text = (_: Plot, ticks: readonly (number | null)[]) =>
    ticks.map((tick) => (tick === null ? '' : valueText(tick, chart.format)))
  return {
    width: host.clientWidth,
    height: heightOf(host),
    padding: [24, 12, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: 'run', setSeries: false }, y: false, drag: { x: true, y: false } },
    scales: {
      x: { time: false },
      y: chart.scale === 'log' ? { distr: 3 } : { range: rangeOf(chart) },
    },
    axes: [
      {
        ...axis,
        grid,
        ticks: grid,
        size: 36,
        space: narrow ? 50 : 70,
        values: (_: Plot, ticks: readonly number[]) => ticks.map((tick) => `${tick} s`),
      },
      { ...axis, grid: gridOf(chart), ticks: gridOf(chart), size: 68, values: text },
    ],
    series: [{}, ...chart.series.map(seriesOf)],
    hooks: {
      drawClear: [(plot: Plot) => drawPhases(plot, page.data.phases)],
      draw: [
        (plot: Plot) => {
          if (chart.threshold) drawThreshold(plot, chart.threshold)
          drawMarkers(plot, page.data.markers)
        },
      ],
      setCursor: [(plot: Plot) => readOut(page, chart, figure, plot)],
      setScale: [(plot: Plot, scale: string) => scale === 'x' && onZoom(page, plot)],
    },
  }
}

/** Of a logarithmic axis only the powers of ten are drawn. */
export function gridOf(chart: Chart | null): object {
  const grid = { stroke: () => colorOf('grid'), width: 1 }
  if (chart?.scale !== 'log') return grid
  const isPower = (value: number) => {
    const power = Math.log10(value)
    return Math.abs(power - Math.round(power)) < 1e-6
  }
  const filter = (_: Plot, ticks: readonly number[]) =>
    ticks.map((tick) => (isPower(tick) ? tick : null))
  return { ...grid, filter }
}

export function seriesOf(series: ChartSeries): object {
  if (series.hidden) return { show: false }
  const stroke = () => colorOf(`series-${series.color}`)
  return {
    stroke,
    width: series.width ?? 1.5,
    ...(series.dash ? { dash: series.dash } : {}),
    ...(series.fill ? { fill: () => colorOf(`fill-${series.color}`) } : {}),
    ...(series.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
    points: { show: false },
  }
}

export function rangeOf(chart: Chart) {
  return (_: Plot, low: number, high: number): [number, number] => {
    const top = Math.max(high, chart.top ?? Number.NEGATIVE_INFINITY)
    if (!Number.isFinite(top)) return [0, 1]
    const bottom = chart.fromZero ? 0 : low
    const room = chart.top === top ? 0 : (top - bottom) * 0.06
    return top > bottom ? [bottom, top + room] : [bottom, bottom + 1]
  }
}

/** Writes the values under the cursor into the legend, or what it says at rest. */
export function readOut(page: Page, chart: Chart, figure: Node, plot: Plot): void {
  const index = plot.cursor.idx
  const on = typeof index === 'number' && (plot.cursor.left ?? -1) >= 0
  let row = 0
  for (const output of figure.querySelectorAll('[data-value]')) {
    const series = chart.series[row++]!
    output.textContent = on ? valueText(series.values[index], series.format) : series.rest
  }
  const when = figure.querySelector('[data-when]')!
  if (!on) {
    when.textContent = ''
    return
  }
  const second = page.data.seconds[index]!
  const phase = page.data.phaseTitles[phaseAt(page.data.phases, second * 1000)] ?? ''
  when.textContent = `${second.toFixed(2)} s · ${phase}`
}

export function onZoom(page: Page, source: Plot): void {
  const { min, max } = source.scales.x!
  if (page.zooming || min === undefined || max === undefined || page.drawn.length === 0) return
  zoomTo(page, { min, max })
}

export function zoomTo(page: Page, range: { min: number; max: number } | null): void {
  const { seconds } = page.data
  const whole = { min: seconds[0]!, max: seconds[seconds.length - 1]! }
  const wanted = range ?? whole
  page.zooming = true
  for (const { plot } of page.drawn) {
    const { min, max } = plot.scales.x!
    if (min !== wanted.min || max !== wanted.max) plot.setScale('x', wanted)
  }
  page.zooming = false
  document.getElementById('zoom-reset')!.hidden = wanted.min <= whole.min && wanted.max >= whole.max
}

export function onKey(page: Page, chart: Chart, event: KeyEvent): void {
  if (event.key === 'Escape') zoomTo(page, null)
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  const moved = page.index + step * (event.shiftKey ? 10 : 1)
  page.index = Math.min(page.data.seconds.length - 1, Math.max(0, moved))
  for (const { plot } of page.drawn) {
    plot.setCursor({ left: plot.valToPos(page.data.seconds[page.index]!, 'x'), top: 0 })
  }
  document.getElementById('spoken')!.textContent = spokenAt(page, chart)
}

/** The chart under the keyboard's cursor, for screen readers. */
export function spokenAt({ data, index }: Page, chart: Chart): string {
  const second = data.seconds[index]!
  const phase = data.phaseTitles[phaseAt(data.phases, second * 1000)] ?? ''
  const values = chart.series.map(
    ({ label, values, format }) => `${label} ${valueText(values[index], format)}`,
  )
  return `${second.toFixed(2)} s, ${phase}. ${values.join(', ')}`
}

/**
 * Theme: what the address asks (`?theme=dark`), else the system's; the button overrides; paper is
 * light.
 */
export function followTheme(drawn: readonly Pick<Drawn, 'plot'>[]): void {
  const root = document.documentElement
  const system = matchMedia('(prefers-color-scheme: dark)')
  const asked = /[?&]theme=(dark|light)/.exec(location.search)
  if (asked) root.setAttribute('data-theme', asked[1]!)
  const redraw = () => {
    for (const { plot } of drawn) plot.redraw(false, false)
  }
  const current = () => root.getAttribute('data-theme') || (system.matches ? 'dark' : 'light')
  const button = document.getElementById('theme')!
  const turnTo = (theme: string) => {
    root.setAttribute('data-theme', theme)
    redraw()
  }
  button.addEventListener('click', () => turnTo(current() === 'dark' ? 'light' : 'dark'))
  system.addEventListener('change', redraw)
  let onScreen = ''
  addEventListener('beforeprint', () => {
    onScreen = current()
    turnTo('light')
  })
  addEventListener('afterprint', () => turnTo(onScreen))
}
