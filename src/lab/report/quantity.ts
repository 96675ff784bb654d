/**
 * Numbers as the report shows them: the laboratory's units with a no-break space before the unit.
 * `null` and what isn't finite become an en dash, so that a gap never reads as a zero.
 */
import * as units from '../units.ts'

const noBreakSpace = '\u00a0'
const gap = '–'

/** A number apart from its unit, so that the unit can be set smaller. */
export interface Quantity {
  readonly number: string
  readonly unit: string
}

export function quantityOf(text: string): Quantity {
  const at = text.lastIndexOf(noBreakSpace)
  if (at < 0) return { number: text, unit: '' }
  return { number: text.slice(0, at), unit: text.slice(at + 1) }
}

export function formatBytes(bytes: number | null): string {
  return orGap(bytes, units.formatBytes)
}

export function formatRate(bytesPerSec: number | null): string {
  return orGap(bytesPerSec, units.formatRate)
}

export function formatDuration(ms: number | null): string {
  return orGap(ms, (value) => (value === 0 ? '0 ms' : units.formatDuration(value)))
}

/** Whole numbers with thousands separators. */
export function formatCount(count: number | null): string {
  return orGap(count, (value) => Math.round(value).toLocaleString('en-US'))
}

/** Large counts with a prefix: 12.3 M. */
export function formatShortCount(count: number | null): string {
  if (count !== null && Math.abs(count) < 10_000) return formatCount(count)
  return orGap(count, units.formatCount)
}

/** A ratio as a percentage with its sign, for errors. */
export function formatSignedPercent(ratio: number | null): string {
  return orGap(ratio, (value) => {
    const size = Math.abs(value * 100)
    const text = size.toFixed(size < 10 ? 1 : 0)
    const sign = Number(text) === 0 ? '' : value > 0 ? '+' : '−'
    return `${sign}${text} %`
  })
}

/** Sizes that people set: 16 KiB and 1 MB stay what they are. */
export function formatSizeOption(bytes: number): string {
  return units.formatBytesExactly(bytes).replace(/^(\d+)([KMGT]i?B)$/, `$1${noBreakSpace}$2`)
}

export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}

function orGap(value: number | null, format: (value: number) => string): string {
  if (value === null || !Number.isFinite(value)) return gap
  return format(value).replaceAll(' ', noBreakSpace)
}
