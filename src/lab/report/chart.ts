/** What the page's script needs to draw one chart; travels to it as JSON. */

export type TickFormat = 'count' | 'bytes' | 'ms' | 'recordsPerSec' | 'replicas'

export interface ChartSeries {
  readonly label: string
  /** Number of the colour in the palette of the style sheet, from 1. */
  readonly color: number
  readonly format: TickFormat
  readonly values: readonly (number | null)[]
  /** What the legend says while no cursor is on the chart. */
  readonly rest: string
  readonly dash?: readonly number[]
  readonly width?: number
  readonly fill?: boolean
  readonly stepped?: boolean
  /** Read in the legend, not drawn. */
  readonly hidden?: boolean
}

export interface Chart {
  readonly id: string
  readonly title: string
  /** What the chart answers, one line under its title. */
  readonly question: string
  /** The chart in words, for those who can't see it. */
  readonly description: string
  readonly axis: string
  readonly format: TickFormat
  readonly series: readonly ChartSeries[]
  readonly scale: 'linear' | 'log'
  readonly fromZero: boolean
  /** Smallest top of the axis. */
  readonly top?: number
  readonly threshold?: { readonly value: number; readonly label: string }
}

/** Largest value with its place, or null when there is none. */
export function peakOf(
  values: readonly (number | null)[],
): { readonly value: number; readonly index: number } | null {
  let index = -1
  let value = Number.NEGATIVE_INFINITY
  for (let i = 0; i < values.length; i++) {
    const candidate = values[i]!
    if (candidate === null || !(candidate > value)) continue
    value = candidate
    index = i
  }
  return index < 0 ? null : { value, index }
}

export function lastOf(values: readonly (number | null)[]): number | null {
  for (let i = values.length - 1; i >= 0; i--) if (values[i] !== null) return values[i]!
  return null
}
