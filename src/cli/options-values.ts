/**
 * How one option is declared and how its text becomes a value, with errors that fit on one line.
 */
import { randomInt } from 'node:crypto'
import { type Command, Option } from 'commander'
import type { FlushPolicy } from '../lab/result.ts'
import { badValue, parseCount, parseDuration } from '../lab/units.ts'

/** What commander collected: texts, and booleans of switches. */
export type RawOptions = Readonly<Record<string, string | boolean | undefined>>

/** An option as `--help` shows it. `fallback` is text, so that it is parsed like a given value. */
export interface OptionSpec {
  readonly flags: string
  readonly text: string
  readonly fallback?: string
  /** Said instead of the fallback, for defaults that depend on other options. */
  readonly fallbackText?: string
}

export const seedMax = 2 ** 32 - 1

export function defineOptions(
  command: Command,
  group: string,
  specs: readonly OptionSpec[],
): Command {
  for (const { flags, text, fallback, fallbackText } of specs) {
    const shown = fallbackText ?? fallback
    const option = new Option(flags, shown === undefined ? text : `${text} (default: ${shown})`)
    command.addOption(option.helpGroup(group))
  }
  return command
}

/** The text of an option, given or by default; undefined when there is neither. */
export function textOf(raw: RawOptions, name: string, fallback?: string): string | undefined {
  const value = raw[keyOf(name)]
  return typeof value === 'string' ? value : fallback
}

export function isGiven(raw: RawOptions, name: string): boolean {
  return typeof raw[keyOf(name)] === 'string'
}

export function isOn(raw: RawOptions, name: string): boolean {
  return raw[keyOf(name)] === true
}

export function isOff(raw: RawOptions, name: string): boolean {
  return raw[keyOf(name)] === false
}

/** @throws {TidemarkError} INVALID_ARGUMENT naming the option, the value and the choices. */
export function choice<const T extends string>(
  option: string,
  text: string,
  allowed: readonly T[],
): T {
  const found = allowed.find((candidate) => candidate === text)
  if (found === undefined) throw badValue(option, text, `must be ${orList(allowed)}`)
  return found
}

/** @throws {TidemarkError} INVALID_ARGUMENT when the text is empty. */
export function pathValue(option: string, text: string): string {
  if (text.trim() === '' || text.includes('\0')) throw badValue(option, text, 'must be a path')
  return text
}

/** @throws {TidemarkError} INVALID_ARGUMENT when the text isn't a number from `min` to `max`. */
export function factor(option: string, text: string, min: number, max: number): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) {
    throw badValue(option, text, `must be a number from ${min} to ${max}`)
  }
  return value
}

/** `os`, `batch` or `interval:50ms`; `interval:50` means milliseconds too. */
export function flushPolicy(option: string, text: string): FlushPolicy {
  if (text === 'os' || text === 'batch') return { kind: text }
  const interval = /^interval:(.+)$/.exec(text)
  if (interval === null) throw badValue(option, text, 'must be os, batch or interval:MS')
  const duration = /^\d+$/.test(interval[1]!) ? `${interval[1]}ms` : interval[1]!
  return { kind: 'interval', ms: parseDuration(option, duration, { min: 1, max: 3_600_000 }) }
}

/** The seed that was asked, or a fresh one; the run prints it either way. */
export function seedValue(raw: RawOptions, random: () => number): number {
  const text = textOf(raw, '--seed')
  return text === undefined ? random() : parseCount('--seed', text, { min: 0, max: seedMax })
}

export function randomSeed(): number {
  return randomInt(0, seedMax + 1)
}

export function orList(words: readonly string[]): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** `--min-insync` → `minInsync`, as commander names it. */
function keyOf(name: string): string {
  return name.replace(/^--/, '').replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}
