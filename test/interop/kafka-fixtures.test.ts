/** What Apache Kafka wrote (test/fixtures/kafka-4.4), read by us; no Kafka is needed for it. */
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import {
  attributesAt,
  baseOffsetAt,
  checkBatch,
  compressionAt,
  lastOffsetAt,
  leaderEpochAt,
  maxTimestampAt,
  recordCountAt,
  sizeInBytesAt,
} from '../../src/log/batch-header.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { readRecords } from '../../src/log/record-reader.ts'
import {
  decodeMetadataRecord,
  kafkaNameOf,
} from '../../src/replication/controller/metadata-record-codec.ts'
import {
  type FixtureFile,
  type FixtureMetadataRecord,
  type FixtureRecord,
  fixtureDirectory,
  fixtureLines,
  fixtureMemory,
  readFixture,
  schemaName,
  withoutDefaults,
} from './fixture-files.ts'

const controlAttribute = 0x20
const files = fixtureLines<FixtureFile>('files.jsonl')
const segments = files.filter((file) => file.batches !== undefined && file.batches.length > 0)
const produced = fixtureLines<FixtureRecord>('records.jsonl')

describe('the fixtures', () => {
  it('are what their manifest says', () => {
    const changed = files.filter(({ name, sha256 }) => {
      return createHash('sha256').update(readFixture(name)).digest('hex') !== sha256
    })
    expect(changed).toEqual([])
    expect(segments.length).toBeGreaterThan(9)
  })
})

describe('batches that Kafka wrote', () => {
  it.each(segments.map((file) => [file.name, file.batches!] as const))(
    'have the headers that Kafka reads: %s',
    (name, batches) => {
      const memory = fixtureMemory(name)
      expect(batches.at(-1)!.position + batches.at(-1)!.size).toBe(memory.bytes.length)
      for (const batch of batches) {
        const at = batch.position
        expect(checkBatch(memory, at, batch.size)).toBeUndefined()
        expect({
          baseOffset: baseOffsetAt(memory, at),
          lastOffset: lastOffsetAt(memory, at),
          count: recordCountAt(memory, at),
          partitionLeaderEpoch: leaderEpochAt(memory, at),
          isControl: (attributesAt(memory, at) & controlAttribute) !== 0,
          CreateTime: maxTimestampAt(memory, at),
          size: sizeInBytesAt(memory, at),
          compresscodec: compressionAt(memory, at),
        }).toEqual({
          baseOffset: batch.baseOffset,
          lastOffset: batch.lastOffset,
          count: batch.count,
          partitionLeaderEpoch: batch.partitionLeaderEpoch,
          isControl: batch.isControl,
          CreateTime: batch.CreateTime,
          size: batch.size,
          compresscodec: batch.compresscodec,
        })
      }
    },
  )

  it.each([
    'codec-none-0',
    'codec-gzip-0',
    'codec-snappy-0',
    'codec-lz4-0',
    'codec-zstd-0',
    'rolled-0',
  ])('hold what was produced: %s', (partition) => {
    const read = segments
      .filter(({ name }) => dirname(name) === partition)
      .flatMap(({ name, batches }) => {
        const memory = fixtureMemory(name)
        return batches!.flatMap(({ position }) => [...readRecords(memory, position)])
      })
    expect(read.map(({ offset }) => offset)).toEqual(produced.map((_, offset) => offset))
    expect(
      read.map(({ key, value, headers }) => ({
        key: text(key),
        value: text(value),
        headers: headers.map((header) => ({ key: header.key, value: text(header.value) })),
      })),
    ).toEqual(produced)
  })
})

describe('a partition directory that Kafka wrote', () => {
  let directory: string

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'tidemark-fixture-'))
  })

  afterEach(() => {
    rmSync(directory, { recursive: true, force: true })
  })

  it.each([true, false])('opens as our log and reads from every offset; clean: %s', (clean) => {
    const partition = join(directory, 'rolled-0')
    cpSync(join(fixtureDirectory, 'rolled-0'), partition, { recursive: true })
    const log = PartitionLog.open({
      directory: partition,
      topic: 'rolled',
      partition: 0,
      config: logConfigDefaults,
      clock: systemClock,
      cleanShutdown: clean,
    })
    expect(log.logEndOffset).toBe(produced.length)
    expect(log.leaderEpochs.latest).toBe(0)
    const target = batchMemory(new ArrayBuffer(1 << 20))
    for (let offset = 0; offset < produced.length; offset += 1) {
      expect(log.read(offset, log.logEndOffset, 1, target, 0)).toBeGreaterThan(0)
      expect(baseOffsetAt(target, 0)).toBeLessThanOrEqual(offset)
      expect(lastOffsetAt(target, 0)).toBeGreaterThanOrEqual(offset)
    }
    log.close()
    // Nothing was cut, moved or written anew.
    for (const { name, sha256 } of segments.filter((file) => dirname(file.name) === 'rolled-0')) {
      const bytes = readFileSync(join(directory, name))
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256)
    }
  })
})

describe('metadata records that Kafka wrote', () => {
  it('are decoded as Kafka decodes them', () => {
    const expected = fixtureLines<FixtureMetadataRecord>('metadata-records.jsonl')
    const decoded = segments
      .filter(({ name }) => name.startsWith('__cluster_metadata-0/'))
      .flatMap(({ name, batches }) => {
        const memory = fixtureMemory(name)
        const data = batches!.filter(({ isControl }) => !isControl)
        return data.flatMap(({ position }) => [...readRecords(memory, position)])
      })
      .map(({ offset, value }) => ({ offset, record: decodeMetadataRecord(value!) }))
    expect(decoded.map(({ offset, record }) => ({ offset, type: kafkaNameOf(record) }))).toEqual(
      expected.map(({ offset, type }) => ({ offset, type: schemaName(type) })),
    )
    for (const [index, { record }] of decoded.entries()) {
      if (record.type === 'opaque') continue
      expect(record).toMatchObject(withoutDefaults(expected[index]!.data))
    }
  })
})

function text(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString()
}
