/** A record as its sender gives it, checked, and how it is kept until it is encoded. */
import { TidemarkError } from '../errors.ts'
import {
  headersSize,
  lengthOf,
  type ProduceRecord,
  type RecordHeader,
  recordBodySize,
} from '../log/record.ts'
import { varintSize, varlongMagnitudeMax } from '../log/varint.ts'

export interface SendRecord {
  readonly topic: string
  /** Default: by the key's hash as Kafka's producer does it, without a key in turn. */
  readonly partition?: number
  readonly key?: Uint8Array | string | null
  readonly value: Uint8Array | string | null
  readonly headers?: readonly RecordHeader[]
  /** Milliseconds since 1970, -1: none, fractions are dropped; default now. */
  readonly timestampMs?: number
}

/** Two of these are never further apart than a record can say. */
const timestampMagnitudeMax = Math.floor(varlongMagnitudeMax / 2)

/** @throws {TidemarkError} INVALID_RECORD naming the field, its value and what is allowed */
export function toProduceRecord(input: SendRecord, nowMs: number): ProduceRecord {
  const timestampMs = Math.floor(input.timestampMs ?? nowMs)
  if (!(Math.abs(timestampMs) <= timestampMagnitudeMax)) {
    throw invalid('timestamp', String(input.timestampMs), `-1 (none) and up to 2^51 either way`)
  }
  const key = toBytes('key', input.key ?? null)
  const value = toBytes('value', input.value)
  const { headers } = input
  if (headers === undefined) return { key, value, timestampMs }
  checkHeaders(headers)
  return { key, value, timestampMs, headers }
}

/** Bytes the record takes as number `place` of a batch whose first record has that time. */
export function sizeInBatch(
  record: ProduceRecord,
  place: number,
  baseTimestampMs: number,
  headersBytes = headersSize(record.headers),
): number {
  const delta = place === 0 ? 0 : record.timestampMs - baseTimestampMs
  const { key, value } = record
  const body = recordBodySize(delta, place, lengthOf(key), lengthOf(value), headersBytes)
  return varintSize(body) + body
}

function toBytes(name: string, value: unknown): Uint8Array | null {
  if (value === null || value instanceof Uint8Array) return value
  if (typeof value === 'string') return Buffer.from(value)
  throw invalid(name, `a ${typeof value}`, 'bytes, a text, null')
}

function checkHeaders(headers: unknown): void {
  const allowed = 'a list of { key: a text, value: bytes or null }'
  if (!Array.isArray(headers)) throw invalid('headers', `a ${typeof headers}`, allowed)
  for (const { key, value } of headers as Record<string, unknown>[]) {
    const isValue = value === null || value instanceof Uint8Array
    if (typeof key === 'string' && isValue) continue
    throw invalid(`header ${String(key)}`, `a ${typeof value}`, allowed)
  }
}

function invalid(name: string, value: string, allowed: string): TidemarkError {
  return new TidemarkError('INVALID_RECORD', `${name} ${value}: allowed are ${allowed}`)
}
