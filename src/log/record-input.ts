/** A record as its sender gives it, and how it is checked. */
import { TidemarkError } from '../errors.ts'
import { type ProduceRecord, type RecordHeader, timestampMagnitudeMax } from './record.ts'

/** Text is stored as UTF-8. Bytes are copied before the call returns. */
export interface RecordInput {
  readonly key?: Uint8Array | string | null
  /** null: a tombstone, the key has no value any more. */
  readonly value: Uint8Array | string | null
  /** Milliseconds since 1970, -1: none, fractions are dropped; default now. */
  readonly timestampMs?: number
  readonly headers?: readonly HeaderInput[]
}

export interface HeaderInput {
  readonly key: string
  readonly value: Uint8Array | string | null
}

/** @throws {TidemarkError} INVALID_RECORD naming the field, its value and what is allowed */
export function toProduceRecord(input: RecordInput, nowMs: number): ProduceRecord {
  const statedMs = input.timestampMs ?? nowMs
  if (!isTimestamp(statedMs)) {
    throw invalidField('timestamp', String(statedMs), '-1 (none) and up to 2^51 either way')
  }
  const key = toBytes('key', input.key ?? null)
  const value = toBytes('value', input.value)
  const timestampMs = Math.floor(statedMs)
  const { headers } = input
  if (headers === undefined) return { key, value, timestampMs }
  return { key, value, timestampMs, headers: toHeaders(headers) }
}

export function isTimestamp(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= timestampMagnitudeMax
}

export function invalidField(name: string, value: string, allowed: string): TidemarkError {
  return new TidemarkError('INVALID_RECORD', `${name} ${value}: allowed are ${allowed}`)
}

function toBytes(name: string, value: unknown): Uint8Array | null {
  if (value === null || value instanceof Uint8Array) return value
  if (typeof value === 'string') return Buffer.from(value)
  throw invalidField(name, `a ${typeof value}`, 'bytes, a text, null')
}

function toHeaders(headers: unknown): RecordHeader[] {
  const allowed = 'a list of { key: a text, value: bytes, a text or null }'
  if (!Array.isArray(headers)) throw invalidField('headers', `a ${typeof headers}`, allowed)
  return headers.map((header: unknown) => {
    const { key, value } = Object(header) as Record<string, unknown>
    const isBytes = value === null || value instanceof Uint8Array
    if (typeof key !== 'string' || !(isBytes || typeof value === 'string')) {
      throw invalidField(`header ${String(key)}`, `a ${typeof value}`, allowed)
    }
    return { key, value: isBytes ? value : Buffer.from(value as string) }
  })
}
