/**
 * Values of the metadata log's records, to and from bytes: Kafka's framing around a
 * flexible-version message (Kafka: AbstractApiMessageSerde, KIP-482), driven by the table in
 * `metadata-record-schemas.ts`.
 */
import { TidemarkError } from '../../errors.ts'
import { invariant } from '../../invariant.ts'
import { CompactReader, corrupt } from './compact-reader.ts'
import type { CompactWriter } from './compact-writer.ts'
import { fieldCodecs } from './field-codecs.ts'
import {
  type FieldSchema,
  frameVersion,
  opaqueRecordNames,
  recordSchemas,
} from './metadata-record-schemas.ts'
import type { KnownMetadataRecord, MetadataRecord } from './metadata-records.ts'

type Fields = Record<string, unknown>

/** Versions are 16 bits wide in Kafka. */
const opaqueVersionMax = 0x7fff

const typeByApiKey = new Map(
  Object.entries(recordSchemas).map(([type, { apiKey }]) => [
    apiKey,
    type as KnownMetadataRecord['type'],
  ]),
)

/**
 * Appends the record's value; in the lowest version that holds all its fields, as Kafka's readers
 * expect.
 */
export function encodeMetadataRecord(record: MetadataRecord, writer: CompactWriter): void {
  writer.unsignedVarint(frameVersion)
  if (record.type === 'opaque') {
    writer.unsignedVarint(record.apiKey)
    writer.unsignedVarint(record.version)
    writer.raw(record.body)
    return
  }
  const { apiKey, fields } = recordSchemas[record.type]
  const values = record as unknown as Fields
  const version = lowestVersion(fields, values)
  writer.unsignedVarint(apiKey)
  writer.unsignedVarint(version)
  writeFields(writer, fields, values, version)
}

/**
 * The record of a value.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE naming kind and field when the bytes aren't exactly one
 *   record; UNSUPPORTED_VERSION for a kind or version that Kafka 4.4 doesn't know.
 */
export function decodeMetadataRecord(bytes: Uint8Array): MetadataRecord {
  const reader = new CompactReader(bytes)
  const frame = reader.unsignedVarint('frame version')
  if (frame > frameVersion) throw newer(`frame version ${frame} is not ${frameVersion}`)
  if (frame !== frameVersion) throw corrupt(`frame version ${frame} is not ${frameVersion}`)
  const apiKey = reader.unsignedVarint('api key')
  const version = reader.unsignedVarint('version')
  const type = typeByApiKey.get(apiKey)
  if (type === undefined) return decodeOpaque(reader, apiKey, version)
  const { kafkaName, versionMax, fields } = recordSchemas[type]
  if (version > versionMax) {
    throw newer(`${kafkaName}: version ${version} is above ${versionMax}`)
  }
  const values: Fields = { type }
  readFields(reader, fields, values, version, kafkaName)
  if (reader.remaining > 0) throw corrupt(`${kafkaName}: ${reader.remaining} bytes too many`)
  return values as unknown as KnownMetadataRecord
}

/** A later version may write what this one must not guess at. */
function newer(detail: string): TidemarkError {
  return new TidemarkError('UNSUPPORTED_VERSION', `metadata record: ${detail}`)
}

/** Kafka's name of the record's kind, as its tools print it. */
export function kafkaNameOf(record: MetadataRecord): string {
  if (record.type !== 'opaque') return recordSchemas[record.type].kafkaName
  return opaqueRecordNames.get(record.apiKey) ?? `record kind ${record.apiKey}`
}

function decodeOpaque(reader: CompactReader, apiKey: number, version: number): MetadataRecord {
  if (!opaqueRecordNames.has(apiKey)) throw newer(`api key ${apiKey} is unknown`)
  if (version > opaqueVersionMax) {
    throw corrupt(`version ${version} is above ${opaqueVersionMax}`)
  }
  return { type: 'opaque', apiKey, version, body: reader.raw(reader.remaining, 'body') }
}

function lowestVersion(fields: readonly FieldSchema[], values: Fields): number {
  let version = 0
  for (const field of fields) {
    if (field.since > version && !isAbsent(field, values[field.name])) version = field.since
  }
  return version
}

function isAbsent(field: FieldSchema, value: unknown): boolean {
  if (value === undefined) return true
  if (field.absentAs === 'empty') return (value as readonly unknown[]).length === 0
  return field.absentAs !== undefined && value === field.absentAs
}

function writeFields(
  writer: CompactWriter,
  fields: readonly FieldSchema[],
  values: Fields,
  version: number,
): void {
  let taggedCount = 0
  for (const field of fields) {
    if (field.tag !== undefined) {
      if (!isAbsent(field, values[field.name])) taggedCount++
      continue
    }
    if (field.since <= version) writeValue(writer, field, valueOrDefault(field, values))
  }
  writer.unsignedVarint(taggedCount)
  if (taggedCount === 0) return
  // The tables list tagged fields in order of their tags, as the format demands.
  for (const field of fields) {
    const value = values[field.name]
    if (field.tag === undefined || field.kind === 'structs' || isAbsent(field, value)) continue
    const codec = fieldCodecs[field.kind]
    writer.unsignedVarint(field.tag)
    writer.unsignedVarint(codec.sizeBytes(value))
    codec.write(writer, value)
  }
}

function valueOrDefault(field: FieldSchema, values: Fields): unknown {
  const value = values[field.name]
  if (value !== undefined) return value
  invariant(field.absentAs !== undefined, () => `metadata record: ${field.name} is missing`)
  return field.absentAs === 'empty' ? [] : field.absentAs
}

function writeValue(writer: CompactWriter, field: FieldSchema, value: unknown): void {
  if (field.kind !== 'structs') {
    fieldCodecs[field.kind].write(writer, value)
    return
  }
  const elements = value as readonly Fields[]
  writer.unsignedVarint(elements.length + 1)
  for (const element of elements) writeFields(writer, field.fields ?? [], element, 0)
}

function readFields(
  reader: CompactReader,
  fields: readonly FieldSchema[],
  values: Fields,
  version: number,
  where: string,
): void {
  for (const field of fields) {
    if (field.tag === undefined && field.since <= version) {
      keep(values, field, readValue(reader, field, `${where}.${field.name}`))
    }
  }
  let lastTag = -1
  for (let rest = reader.unsignedVarint(`${where} tags`); rest > 0; rest--) {
    const tag = reader.unsignedVarint(`${where} tag`)
    if (tag <= lastTag) throw corrupt(`${where}: tag ${tag} after ${lastTag}`)
    lastTag = tag
    const sizeBytes = reader.unsignedVarint(`${where} tag size`)
    const field = fields.find((each) => each.tag === tag && each.since <= version)
    if (field === undefined) {
      // What a later version added is skipped, as the format foresees.
      reader.skip(sizeBytes, `${where} tag ${tag}`)
      continue
    }
    const what = `${where}.${field.name}`
    keep(
      values,
      field,
      reader.within(sizeBytes, what, () => readValue(reader, field, what)),
    )
  }
}

function keep(values: Fields, field: FieldSchema, value: unknown): void {
  if (!isAbsent(field, value)) values[field.name] = value
}

function readValue(reader: CompactReader, field: FieldSchema, what: string): unknown {
  if (field.kind !== 'structs') return fieldCodecs[field.kind].read(reader, what)
  const count = reader.arrayCount(what, 1)
  if (count < 0) throw corrupt(`${what}: null is not allowed`)
  const elements: Fields[] = []
  for (let i = 0; i < count; i++) {
    const element: Fields = {}
    readFields(reader, field.fields ?? [], element, 0, what)
    elements.push(element)
  }
  return elements
}
