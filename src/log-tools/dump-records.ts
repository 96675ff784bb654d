/** Records as lines: text where it is text, control and metadata records by what they mean. */
import type { LogRecord } from '../log/record.ts'
import {
  decodeMetadataRecord,
  kafkaNameOf,
} from '../replication/controller/metadata-record-codec.ts'
import type { ControlRecord, DumpedBytes, RecordLine } from './dump-line.ts'
import { recordsOf, type WalkedBatch } from './segment-walk.ts'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const sequenceCount = 2 ** 31
const controlKeyBytes = 4
const transactionEndBytes = 6

/** Kafka: `ControlRecordType`, by number. */
const controlTypes: readonly string[] = [
  'ABORT',
  'COMMIT',
  'LEADER_CHANGE',
  'SNAPSHOT_HEADER',
  'SNAPSHOT_FOOTER',
  'KRAFT_VERSION',
  'KRAFT_VOTERS',
]

/** @throws {TidemarkError} CORRUPT_MESSAGE at the first record that isn't one. */
export function* dumpRecords(batch: WalkedBatch, isMetadata: boolean): Generator<RecordLine> {
  const { baseSequence, baseOffset, isControl } = batch
  for (const record of recordsOf(batch)) {
    const { offset, timestampMs, key, value, headers } = record
    const sequence = (baseSequence + offset - baseOffset) % sequenceCount
    yield {
      type: 'record',
      offset,
      timestamp: timestampMs,
      sequence: baseSequence < 0 ? -1 : sequence,
      headers: headers.map((header) => ({ key: header.key, value: dumpBytes(header.value) })),
      key: dumpBytes(key),
      value: dumpBytes(value),
      ...(isControl ? { control: controlOf(record) } : {}),
      ...(isMetadata && !isControl && value !== null ? { metadata: metadataOf(value) } : {}),
    }
  }
}

export function dumpBytes(bytes: Uint8Array | null): DumpedBytes {
  if (bytes === null) return null
  try {
    return decoder.decode(bytes)
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') }
  }
}

/** What a control record says to the log, by Kafka's name. */
export function controlTypeOf({ key }: LogRecord): string {
  if (key === null || key.length < controlKeyBytes) return 'UNKNOWN'
  const number = new DataView(key.buffer, key.byteOffset).getInt16(2)
  return controlTypes[number] ?? `UNKNOWN(${number})`
}

function controlOf(record: LogRecord): ControlRecord {
  const type = controlTypeOf(record)
  const { value } = record
  const ends = type === 'ABORT' || type === 'COMMIT'
  if (!ends || value === null || value.length < transactionEndBytes) return { type }
  return { type, coordinatorEpoch: new DataView(value.buffer, value.byteOffset).getInt32(2) }
}

function metadataOf(value: Uint8Array): { readonly type: string; readonly data: object } {
  const record = decodeMetadataRecord(value)
  const type = kafkaNameOf(record)
  if (record.type !== 'opaque') {
    const { type: _, ...data } = record
    return { type, data }
  }
  const { version, body } = record
  return { type, data: { version, body: Buffer.from(body).toString('base64') } }
}
