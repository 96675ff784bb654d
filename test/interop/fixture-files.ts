/** The files of test/fixtures/kafka-4.4, and what their manifest says about them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DumpedBatch } from '../../scripts/kafka/dump-log.mjs'
import { type BatchMemory, batchMemory } from '../../src/log/batch-memory.ts'
import { repository } from '../support/source-files.ts'

export interface FixtureFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
  readonly batches?: readonly DumpedBatch[]
}

export interface FixtureRecord {
  readonly key: string | null
  readonly value: string | null
  readonly headers: readonly { readonly key: string; readonly value: string | null }[]
}

/** As Kafka's dump tool prints a metadata record: `data` in the schema's field names. */
export interface FixtureMetadataRecord {
  readonly offset: number
  readonly type: string
  readonly data: Record<string, unknown>
}

export const fixtureDirectory = join(repository, 'test', 'fixtures', 'kafka-4.4')

export function readFixture(name: string): Buffer {
  return readFileSync(join(fixtureDirectory, name))
}

export function fixtureMemory(name: string): BatchMemory {
  const bytes = readFixture(name)
  return batchMemory(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

export function fixtureLines<T>(name: string): T[] {
  const lines = readFixture(name).toString().trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as T)
}

/**
 * `PARTITION_CHANGE_RECORD`, as the tool has it, to `PartitionChangeRecord`, as the schema has it.
 */
export function schemaName(type: string): string {
  return type
    .split('_')
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join('')
}

/** Our records leave out what has its default; Kafka's tool prints it. */
export function withoutDefaults(data: Record<string, unknown>): Record<string, unknown> {
  const defaults = new Set(['null', 'false', '0', '[]'])
  const stated = Object.entries(data).filter(([, value]) => !defaults.has(JSON.stringify(value)))
  return Object.fromEntries(stated)
}
