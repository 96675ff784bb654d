/**
 * The performance page's script: its functions go to the page as their own source text, together
 * with those of the report that they call.
 */
import type { Node, Plot } from '../../src/lab/report/browser/dom.ts'
import * as draw from '../../src/lab/report/browser/draw.ts'
import * as report from '../../src/lab/report/browser/page.ts'
import type { Curve } from './curves.ts'

declare const document: { getElementById(id: string): Node | null }
declare const uPlot: new (options: object, data: readonly unknown[], target: Node) => Plot
declare const ResizeObserver: new (listener: () => void) => { observe(node: Node): void }
declare const colorOf: typeof draw.colorOf
declare const valueText: typeof draw.valueText
declare const followTheme: typeof report.followTheme

/** The document that the page embeds. */
export interface CurvesData {
  readonly curves: readonly Curve[]
}

export function performanceScript(): string {
  const functions = [draw.colorOf, draw.valueText, report.followTheme, drawCurve, curveOptions]
  const source = [...functions, startCurves].map(String).join('\n')
  return `'use strict';(function(){\n${source}\nstartCurves()\n})()`
}

export function startCurves(): void {
  const data = JSON.parse(document.getElementById('run-data')!.textContent!) as CurvesData
  followTheme(data.curves.map(drawCurve))
}

export function drawCurve(curve: Curve): { plot: Plot } {
  const host = document.getElementById(`chart-${curve.id}`)!
  const columns = [curve.partitions, curve.p75, curve.p25, curve.medians]
  const plot = new uPlot(curveOptions(curve, host.clientWidth), columns, host)
  new ResizeObserver(() => {
    if (host.clientWidth > 0) plot.setSize({ width: host.clientWidth, height: 240 })
  }).observe(host)
  return { plot }
}

export function curveOptions(curve: Curve, width: number): object {
  const axis = { stroke: () => colorOf('muted'), font: '12px system-ui, sans-serif' }
  const grid = { stroke: () => colorOf('grid'), width: 1 }
  const stroke = () => colorOf(`series-${curve.color}`)
  const hidden = { stroke: 'transparent', points: { show: false } }
  const only = (_: unknown, ticks: readonly number[]) =>
    ticks.map((tick) => (curve.partitions.includes(tick) ? tick : null))
  return {
    ...{ width, height: 240, padding: [16, 32, 0, 0] },
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, distr: 3 },
      y: { range: (_: unknown, _low: number, high: number) => [0, high * 1.12] },
    },
    axes: [
      {
        ...{ ...axis, grid: { ...grid, filter: only }, ticks: { show: false }, size: 36 },
        filter: only,
        values: (_: unknown, ticks: readonly (number | null)[]) =>
          ticks.map((tick) => (tick === null ? '' : tick.toLocaleString('en'))),
      },
      {
        ...{ ...axis, grid, ticks: grid, size: 84 },
        values: (_: unknown, ticks: readonly number[]) =>
          ticks.map((tick) => valueText(tick, curve.format) + (tick === 0 ? '' : curve.unit)),
      },
    ],
    series: [{}, hidden, hidden, { stroke, width: 2, points: { show: true, size: 7 } }],
    // Between the quartiles.
    bands: [{ series: [1, 2], fill: () => `${colorOf(`series-${curve.color}`)}30` }],
  }
}
