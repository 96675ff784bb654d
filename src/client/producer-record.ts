/** A record as it is sent to a cluster, and how much of a batch it takes. */
import { headersSize, lengthOf, type ProduceRecord, recordBodySize } from '../log/record.ts'
import type { RecordInput } from '../log/record-input.ts'
import { varintSize } from '../log/varint.ts'

export interface SendRecord extends RecordInput {
  readonly topic: string
  /** Default: by the key's hash as Kafka's producer does it, without a key in turn. */
  readonly partition?: number
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
