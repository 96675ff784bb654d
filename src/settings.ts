/**
 * Named settings, each with its default and with what is allowed: plain values and a check, so that
 * a thread needs no library to read its topics' configuration.
 */
import { TidemarkError } from './errors.ts'

export interface Setting<T> {
  readonly fallback: T
  /** Reads on from "must be"; undefined: the value will do. */
  readonly wanted: (value: unknown) => string | undefined
}

type Settings = Readonly<Record<string, Setting<unknown>>>

/** Values of all settings. */
export type ValuesOf<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never
}
/** What may be given of them. */
export type InputOf<S extends Settings> = {
  readonly [K in keyof S]?: ValuesOf<S>[K] | undefined
}

/** A whole number in a range; both ends are allowed. */
export function whole(
  fallback: number,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): Setting<number> {
  const isIn = (value: unknown) => Number.isSafeInteger(value) && within(value as number, min, max)
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`
  return { fallback, wanted: (value) => (isIn(value) ? undefined : `a whole number ${range}`) }
}

/** Any number in a range; both ends are allowed. */
export function ranging(fallback: number, min: number, max: number): Setting<number> {
  const isIn = (value: unknown) => typeof value === 'number' && within(value, min, max)
  const text = `a number from ${min} to ${max}`
  return { fallback, wanted: (value) => (isIn(value) ? undefined : text) }
}

export function flag(fallback: boolean): Setting<boolean> {
  const isIn = (value: unknown) => typeof value === 'boolean'
  return { fallback, wanted: (value) => (isIn(value) ? undefined : 'true or false') }
}

export function oneOf<const T extends string | number>(
  fallback: NoInfer<T>,
  allowed: readonly T[],
): Setting<T> {
  const text = `one of ${allowed.map((value) => JSON.stringify(value)).join(', ')}`
  const isIn = (value: unknown) => (allowed as readonly unknown[]).includes(value)
  return { fallback, wanted: (value) => (isIn(value) ? undefined : text) }
}

/** The same setting with one condition more. */
export function suchThat<T>(
  setting: Setting<T>,
  holds: (value: T) => boolean,
  text: string,
): Setting<T> {
  const { fallback, wanted } = setting
  return { fallback, wanted: (value) => wanted(value) ?? (holds(value as T) ? undefined : text) }
}

/**
 * All values, frozen: those given, and the defaults of the others. `undefined` is as not given.
 *
 * @param what is configured, for the error
 * @throws {TidemarkError} INVALID_CONFIG naming the setting, its value and what is allowed
 */
export function readSettings<S extends Settings>(
  settings: S,
  input: unknown,
  what: string,
): ValuesOf<S> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    const detail = `${what}: ${JSON.stringify(input)}: must be an object of settings`
    throw new TidemarkError('INVALID_CONFIG', detail)
  }
  const given = input as Readonly<Record<string, unknown>>
  const unknown = Object.keys(given).filter((key) => !Object.hasOwn(settings, key))
  if (unknown.length > 0) {
    throw new TidemarkError('INVALID_CONFIG', `${what}: unknown setting ${unknown.join(', ')}`)
  }
  const values: Record<string, unknown> = {}
  for (const [key, { fallback, wanted }] of Object.entries(settings)) {
    const value = given[key]
    const problem = value === undefined ? undefined : wanted(value)
    if (problem !== undefined) throw refused(what, key, value, `must be ${problem}`)
    values[key] = value === undefined ? fallback : value
  }
  return Object.freeze(values) as ValuesOf<S>
}

/** @returns an error in the words of `readSettings` */
export function refused(what: string, key: string, value: unknown, why: string): TidemarkError {
  const shown = typeof value === 'number' ? String(value) : JSON.stringify(value)
  return new TidemarkError('INVALID_CONFIG', `${what}: ${key} = ${shown}: ${why}`)
}

function within(value: number, min: number, max: number): boolean {
  return value >= min && value <= max
}
