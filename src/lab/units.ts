/**
 * Sizes, durations, rates and counts as people write them, and back.
 *
 * Decimal and binary prefixes are both meant as written: `64KB` is 64,000 bytes, `64KiB` is 65,536.
 * Letters may be of either case; a number may have a fraction (`1.5GB`), the result is whole.
 */
import { TidemarkError } from '../errors.ts'

/** What a value may be, inclusive on both ends, in the unit that the parser returns. */
export interface Range {
  readonly min?: number
  readonly max?: number
}

/** Bytes a second, or `max`: as fast as it goes (closed loop). */
export type Rate = number | 'max'

const bytesByUnit = new Map<string, number>([
  ['', 1],
  ['b', 1],
  ['kb', 1e3],
  ['mb', 1e6],
  ['gb', 1e9],
  ['tb', 1e12],
  ['kib', 2 ** 10],
  ['mib', 2 ** 20],
  ['gib', 2 ** 30],
  ['tib', 2 ** 40],
])

const msByUnit = new Map<string, number>([
  ['us', 1e-3],
  ['µs', 1e-3],
  ['ms', 1],
  ['s', 1e3],
  ['m', 60e3],
  ['min', 60e3],
  ['h', 3600e3],
])

const quantityPattern = /^(\d+(?:\.\d+)?)\s*([a-zµ]*)$/i
const quantityLengthMax = 40
const valueShownMax = 200

const sizeForms = 'a size such as 512, 64KB, 16KiB, 1MB or 2GB'
const durationForms = 'a duration such as 250ms, 5s or 2m'
const rateForms = 'a rate such as 100MB/s, or max'

/**
 * Bytes of `512`, `64KB`, `16KiB`, `1MB`, `2GB`; whole, from 0.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT naming `option`, the value and what is allowed.
 */
export function parseBytes(option: string, text: string, range: Range = {}): number {
  const bytes = quantity(text, bytesByUnit)
  if (bytes === undefined) throw badValue(option, text, `must be ${sizeForms}`)
  return inRange(option, text, Math.round(bytes), range, formatBytesExactly)
}

/**
 * Milliseconds of `250ms`, `5s`, `2m`, `1h`. A bare number has no unit and is refused, except `0`.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT naming `option`, the value and what is allowed.
 */
export function parseDuration(option: string, text: string, range: Range = {}): number {
  const ms = text.trim() === '0' ? 0 : quantity(text, msByUnit)
  if (ms === undefined) throw badValue(option, text, `must be ${durationForms}`)
  return inRange(option, text, ms, range, formatDuration)
}

/**
 * Bytes a second of `100MB/s`, or `max`.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT naming `option`, the value and what is allowed.
 */
export function parseRate(option: string, text: string, range: Range = {}): Rate {
  if (text.trim().toLowerCase() === 'max') return 'max'
  return parseFiniteRate(option, text, range, rateForms)
}

/**
 * Bytes a second of `100MB/s`; `max` is refused: for throttles.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT naming `option`, the value and what is allowed.
 */
export function parseThrottle(option: string, text: string, range: Range = {}): number {
  return parseFiniteRate(option, text, range, 'a rate such as 100MB/s')
}

function parseFiniteRate(option: string, text: string, range: Range, forms: string): number {
  const match = /^(.*)\/\s*s(?:ec)?$/i.exec(text.trim().slice(0, quantityLengthMax))
  const bytes = match === null ? undefined : quantity(match[1]!, bytesByUnit)
  if (bytes === undefined || bytes <= 0) throw badValue(option, text, `must be ${forms}`)
  return inRange(option, text, bytes, range, formatRate)
}

/**
 * A whole number from `range.min` (default 0) to `range.max`, in digits; `1_000` and `1,000` are
 * not accepted.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT naming `option`, the value and what is allowed.
 */
export function parseCount(option: string, text: string, range: Range = {}): number {
  const shape = describeRange(range, String) ?? 'a whole number'
  const count = /^-?\d{1,16}$/.test(text.trim()) ? Number(text) : undefined
  if (count === undefined || !Number.isSafeInteger(count)) {
    const whole = shape.startsWith('a whole') ? shape : `a whole number ${shape}`
    throw badValue(option, text, `must be ${whole}`)
  }
  return inRange(option, text, count, { min: 0, ...range }, String)
}

/** `--partitions 0: must be from 1 to 10000`: an error of one line for a bad value of an option. */
export function badValue(option: string, value: string, allowed: string): TidemarkError {
  return new TidemarkError('INVALID_ARGUMENT', `${option} ${shown(value)}: ${allowed}`)
}

/** The value on one line: control characters escaped, cut when long, quotes when it is empty. */
export function shown(value: string): string {
  const cut = value.length > valueShownMax ? `${value.slice(0, valueShownMax)}…` : value
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not reach a terminal
  const oneLine = cut.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, escapeCharacter)
  return oneLine.trim() === '' ? `'${oneLine}'` : oneLine
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function quantity(text: string, units: ReadonlyMap<string, number>): number | undefined {
  if (text.length > quantityLengthMax) return undefined
  const match = quantityPattern.exec(text.trim())
  if (match === null) return undefined
  const factor = units.get(match[2]!.toLowerCase())
  if (factor === undefined) return undefined
  const value = Number(match[1]) * factor
  return value <= Number.MAX_SAFE_INTEGER ? value : undefined
}

function inRange(
  option: string,
  text: string,
  value: number,
  range: Range,
  format: (value: number) => string,
): number {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = range
  if (value >= min && value <= max) return value
  throw badValue(option, text, `must be ${describeRange(range, format)}`)
}

function describeRange(range: Range, format: (value: number) => string): string | undefined {
  const { min, max } = range
  if (min !== undefined && max !== undefined) return `from ${format(min)} to ${format(max)}`
  if (min !== undefined) return `at least ${format(min)}`
  if (max !== undefined) return `at most ${format(max)}`
  return undefined
}

const decimalUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const
const binaryUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** Three significant digits with a decimal prefix: `1.23 GB`. Not finite: `unlimited`. */
export function formatBytes(bytes: number): string {
  return withPrefix(bytes, 1000, decimalUnits)
}

/** `123 MB/s`. */
export function formatRate(bytesPerSec: number | 'max'): string {
  if (bytesPerSec === 'max') return 'max'
  return Number.isFinite(bytesPerSec) ? `${formatBytes(bytesPerSec)}/s` : 'unlimited'
}

/** `1.23 M`, `950`: a number of things. */
export function formatCount(count: number): string {
  return withPrefix(count, 1000, ['', 'k', 'M', 'G', 'T']).trimEnd()
}

/** `850 µs`, `12.3 ms`, `4.56 s`, `2 min 5 s`, `3 h 20 min`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return 'never'
  if (ms < 0) return `-${formatDuration(-ms)}`
  if (ms === 0) return '0 s'
  if (ms < 0.9995) return `${significant(ms * 1000)} µs`
  if (ms < 999.5) return `${significant(ms)} ms`
  if (ms < 119_950) return `${significant(ms / 1000)} s`
  if (ms < 7_170_000) return twoUnits(Math.round(ms / 1000), 60, 'min', 's')
  return twoUnits(Math.round(ms / 60_000), 60, 'h', 'min')
}

/** A size the way an option takes it back: `16KiB`, `100MB`, `513`. */
export function formatBytesExactly(bytes: number): string {
  for (let power = 4; power >= 1; power--) {
    if (bytes > 0 && bytes % 2 ** (10 * power) === 0) {
      return `${bytes / 2 ** (10 * power)}${binaryUnits[power]}`
    }
    if (bytes > 0 && bytes % 1000 ** power === 0) {
      return `${bytes / 1000 ** power}${decimalUnits[power]!.toUpperCase()}`
    }
  }
  return String(bytes)
}

function twoUnits(total: number, per: number, big: string, small: string): string {
  const rest = total % per
  const whole = `${Math.floor(total / per)} ${big}`
  return rest === 0 ? whole : `${whole} ${rest} ${small}`
}

function withPrefix(value: number, base: number, units: readonly string[]): string {
  if (!Number.isFinite(value)) return 'unlimited'
  if (value < 0) return `-${withPrefix(-value, base, units)}`
  let power = 0
  let scaled = value
  while (scaled >= 999.5 && power < units.length - 1) {
    scaled /= base
    power++
  }
  return `${significant(scaled)} ${units[power]}`
}

/** Three significant digits, no exponent, no zeros at the end of a fraction. */
function significant(value: number): string {
  if (value >= 100) return String(Math.round(value))
  return String(Number(value.toPrecision(3)))
}
