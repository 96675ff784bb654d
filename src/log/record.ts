/** Records as callers give and get them, and how many bytes they take in a batch. */
import { batchOverheadBytes } from './batch-layout.ts'
import { varintSize, varlongMagnitudeMax, varlongSize } from './varint.ts'

/** Of milliseconds; two of these are never further apart than a record can say. */
export const timestampMagnitudeMax = Math.floor(varlongMagnitudeMax / 2)

export interface RecordHeader {
  readonly key: string
  readonly value: Uint8Array | null
}

export interface ProduceRecord {
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  /** Milliseconds since 1970; fractions are dropped. -1: none. */
  readonly timestampMs: number
  readonly headers?: readonly RecordHeader[]
}

/** A record read back. `key`, `value` and header values may be views over the batch's memory. */
export interface LogRecord {
  readonly offset: number
  readonly timestampMs: number
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  readonly headers: readonly RecordHeader[]
}

/** A null has length -1. */
export function lengthOf(bytes: Uint8Array | null): number {
  return bytes === null ? -1 : bytes.length
}

/** Bytes after a record's own length field. `headersBytes` includes the header count. */
export function recordBodySize(
  timestampDelta: number,
  offsetDelta: number,
  keyLength: number,
  valueLength: number,
  headersBytes: number,
): number {
  return (
    1 +
    varlongSize(timestampDelta) +
    varintSize(offsetDelta) +
    varintSize(keyLength) +
    Math.max(keyLength, 0) +
    varintSize(valueLength) +
    Math.max(valueLength, 0) +
    headersBytes
  )
}

/** Bytes of the header count and the headers. */
export function headersSize(headers: readonly RecordHeader[] | undefined): number {
  if (headers === undefined || headers.length === 0) return 1
  let size = varintSize(headers.length)
  for (const { key, value } of headers) {
    const keyBytes = Buffer.byteLength(key)
    size += varintSize(keyBytes) + keyBytes + varintSize(lengthOf(value)) + (value?.length ?? 0)
  }
  return size
}

/** Bytes of a batch with exactly these records, uncompressed: none larger is ever needed. */
export function batchSizeBound(records: readonly ProduceRecord[]): number {
  const baseTimestampMs = Math.floor(records[0]?.timestampMs ?? -1)
  let size = batchOverheadBytes
  for (let at = 0; at < records.length; at += 1) {
    const { key, value, timestampMs, headers } = records[at]
    const delta = Math.floor(timestampMs) - baseTimestampMs
    const body = recordBodySize(delta, at, lengthOf(key), lengthOf(value), headersSize(headers))
    size += varintSize(body) + body
  }
  return size
}

/**
 * The same for `recordCount` records without headers whose keys and values have these lengths (-1:
 * null) and whose timestamps lie within `timestampSpanMs` of the first one's.
 */
export function uniformBatchSizeBound(
  recordCount: number,
  keyLength: number,
  valueLength: number,
  timestampSpanMs: number,
): number {
  const body = recordBodySize(timestampSpanMs, recordCount, keyLength, valueLength, 1)
  return batchOverheadBytes + recordCount * (varintSize(body) + body)
}
