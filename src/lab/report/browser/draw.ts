/**
 * The drawing half of the report's script. Every function here is handed to the page as its own
 * source text (`script.ts`), so it may use nothing but its arguments, the browser, and the other
 * functions of this folder that are handed over with it.
 */
import type { Marker, PhaseSpan } from '../phases.ts'
import type { Canvas, Plot } from './dom.ts'

declare const document: { documentElement: unknown }
declare function getComputedStyle(element: unknown): { getPropertyValue(name: string): string }
declare const devicePixelRatio: number

/** A colour of the style sheet, as the current theme has it. */
export function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

/** A value for axes (`short`) and legends, with its unit. */
export function valueText(value: number | null | undefined, format: string): string {
  if (value === null || value === undefined) return '–'
  if (format === 'replicas') return String(Math.round(value * 100) / 100)
  if (format === 'ms') {
    if (value === 0) return '0'
    if (Math.abs(value) < 1) return `${Number((value * 1000).toPrecision(3))} µs`
    if (Math.abs(value) < 1000) return `${Number(value.toPrecision(3))} ms`
    return `${Number((value / 1000).toPrecision(3))} s`
  }
  const units: Record<string, string> = { bytes: 'B', recordsPerSec: '/s' }
  const unit = units[format] ?? ''
  if (value === 0) return '0'
  const steps = ['', 'k', 'M', 'G', 'T', 'P']
  let step = 0
  let rest = value
  while (Math.abs(rest) >= 999.5 && step < steps.length - 1) {
    rest /= 1000
    step++
  }
  const number = Number(rest.toPrecision(rest >= 100 ? 4 : 3))
  const suffix = format === 'bytes' ? ` ${steps[step]}${unit}` : ` ${steps[step]}`.trimEnd() + unit
  return `${number}${suffix}`
}

export function phaseAt(spans: readonly { phase: string; startMs: number }[], atMs: number) {
  let found = ''
  for (const span of spans) if (span.startMs <= atMs) found = span.phase
  return found
}

export function drawPhases(plot: Plot, spans: readonly PhaseSpan[]): void {
  const { left, top, width, height } = plot.bbox
  const context = plot.ctx
  context.save()
  for (const span of spans) {
    const from = Math.max(left, plot.valToPos(span.startMs / 1000, 'x', true))
    const to = Math.min(left + width, plot.valToPos(span.endMs / 1000, 'x', true))
    if (to <= from) continue
    context.fillStyle = colorOf(`phase-${span.phase}`)
    context.fillRect(from, top, to - from, height)
  }
  context.restore()
}

/** A line for each event; numbers of events too near to each other share a flag: 2–5. */
export function drawMarkers(plot: Plot, markers: readonly Marker[]): void {
  const { left, top, width, height } = plot.bbox
  const context = plot.ctx
  const scale = devicePixelRatio || 1
  const radius = 8 * scale
  const flags: { x: number; first: number; last: number }[] = []
  context.save()
  context.strokeStyle = colorOf('marker')
  context.lineWidth = scale
  context.setLineDash([3 * scale, 3 * scale])
  for (const { atMs, number } of markers) {
    const x = plot.valToPos(atMs / 1000, 'x', true)
    if (x < left - 1 || x > left + width + 1) continue
    context.beginPath()
    context.moveTo(x, top)
    context.lineTo(x, top + height)
    context.stroke()
    const near = flags[flags.length - 1]
    const nearWidth = near !== undefined && near.last > near.first ? 4.4 * radius : 2.2 * radius
    if (near !== undefined && x - near.x < nearWidth) near.last = number
    else flags.push({ x, first: number, last: number })
  }
  context.setLineDash([])
  for (const flag of flags) drawFlag(context, flag, top - radius - 2 * scale, radius)
  context.restore()
}

export function drawFlag(
  context: Canvas,
  { x, first, last }: { x: number; first: number; last: number },
  y: number,
  radius: number,
): void {
  const spread = last > first ? radius * 1.1 : 0
  context.fillStyle = colorOf('marker')
  context.beginPath()
  context.arc(x + spread, y, radius, -Math.PI / 2, Math.PI / 2)
  context.arc(x - spread, y, radius, Math.PI / 2, (3 * Math.PI) / 2)
  context.fill()
  context.fillStyle = colorOf('surface')
  context.font = `600 ${Math.round(radius * 1.3)}px system-ui, sans-serif`
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.fillText(last > first ? `${first}–${last}` : String(first), x, y + radius / 14)
}

export function drawThreshold(plot: Plot, threshold: { value: number; label: string }): void {
  const { left, top, width, height } = plot.bbox
  const y = plot.valToPos(threshold.value, 'y', true)
  if (y < top || y > top + height) return
  const context = plot.ctx
  const scale = devicePixelRatio || 1
  context.save()
  context.strokeStyle = colorOf('threshold')
  context.lineWidth = scale
  context.setLineDash([8 * scale, 3 * scale, 2 * scale, 3 * scale])
  context.beginPath()
  context.moveTo(left, y)
  context.lineTo(left + width, y)
  context.stroke()
  context.setLineDash([])
  context.fillStyle = colorOf('muted')
  context.font = `${11 * scale}px system-ui, sans-serif`
  context.textAlign = 'left'
  context.textBaseline = 'bottom'
  context.fillText(threshold.label, left + 6 * scale, y - 3 * scale)
  context.restore()
}
