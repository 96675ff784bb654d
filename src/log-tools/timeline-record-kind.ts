/**
 * Metadata records as the timeline takes them: a kind or version that nobody here knows is skipped
 * by its length, which the batch tells; a broken record of a known kind is a fault.
 */
import { isTidemarkError } from '../errors.ts'
import { CompactReader } from '../replication/controller/compact-reader.ts'
import { decodeMetadataRecord } from '../replication/controller/metadata-record-codec.ts'
import {
  frameVersion,
  opaqueRecordNames,
  recordSchemas,
} from '../replication/controller/metadata-record-schemas.ts'
import type { MetadataRecord } from '../replication/controller/metadata-records.ts'

export interface SkippedRecord {
  readonly type: 'skipped'
  /** Kind and version, for people. */
  readonly name: string
}

const schemaByApiKey = new Map(
  Object.values(recordSchemas).map((schema) => [schema.apiKey, schema] as const),
)

/** @throws {TidemarkError} CORRUPT_MESSAGE for bytes that are no record at all */
export function decodeOrSkip(value: Uint8Array): MetadataRecord | SkippedRecord {
  try {
    return decodeMetadataRecord(value)
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    const name = unknownKindOf(value)
    if (name === undefined) throw error
    return { type: 'skipped', name }
  }
}

/** undefined: a kind and version that we read. */
function unknownKindOf(value: Uint8Array): string | undefined {
  const reader = new CompactReader(value)
  const frame = reader.unsignedVarint('frame version')
  if (frame !== frameVersion) return `frame version ${frame}`
  const apiKey = reader.unsignedVarint('api key')
  const version = reader.unsignedVarint('version')
  const schema = schemaByApiKey.get(apiKey)
  if (schema !== undefined) {
    return version > schema.versionMax ? `${schema.kafkaName} version ${version}` : undefined
  }
  return opaqueRecordNames.has(apiKey) ? undefined : `record kind ${apiKey} version ${version}`
}
