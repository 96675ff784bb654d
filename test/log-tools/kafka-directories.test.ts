/** Directories that Apache Kafka wrote verify clean, and are dumped as its own tool dumps them. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseDump } from '../../scripts/kafka/dump-log.mjs'
import { dumpFile } from '../../src/log-tools/dump-file.ts'
import type { DumpLine, RecordLine } from '../../src/log-tools/dump-line.ts'
import { dumpText } from '../../src/log-tools/dump-text.ts'
import { verifyDirectories } from '../../src/log-tools/verify-directories.ts'
import {
  type FixtureFile,
  type FixtureMetadataRecord,
  type FixtureRecord,
  fixtureDirectory,
  fixtureLines,
  schemaName,
  withoutDefaults,
} from '../interop/fixture-files.ts'
import { repository } from '../support/source-files.ts'

const legacy = join(repository, 'test', 'fixtures', 'kafka-legacy')
const segments = fixtureLines<FixtureFile>('files.jsonl').filter(
  ({ batches }) => batches !== undefined && batches.length > 0,
)

function recordLines(file: string): RecordLine[] {
  return [...dumpFile(file, { records: true })].filter((line) => line.type === 'record')
}

function ends(lines: readonly DumpLine[]): boolean {
  const last = lines.at(-1)
  return last?.type === 'end' && last.complete
}

describe('verify', () => {
  it('finds nothing wrong with a directory of Apache Kafka 4.4', () => {
    const { faults, checked } = verifyDirectories([fixtureDirectory])
    expect(faults).toEqual([])
    expect(checked).toMatchObject({ partitions: 9, segments: 11, records: 896 })
    expect(checked.indexEntries).toBeGreaterThan(40)
    expect(checked.checkpointEntries).toBe(29)
  })

  it('finds nothing wrong with partitions alone, nor with the formats of old', () => {
    for (const name of ['rolled-0', '__cluster_metadata-0']) {
      expect(verifyDirectories([join(fixtureDirectory, name)]).faults).toEqual([])
    }
    const { faults, checked } = verifyDirectories([legacy])
    expect(faults).toEqual([])
    expect(checked.records).toBe(75)
  })
})

describe('dump', () => {
  it.each(segments.map(({ name, batches }) => [name, batches!] as const))(
    'prints the batches that Kafka prints: %s',
    (name, batches) => {
      const lines = [...dumpFile(join(fixtureDirectory, name), { records: false })]
      const texts = lines.map(dumpText).filter((text) => text.startsWith('baseOffset: '))
      const parsed = parseDump(`Dumping x\n${texts.join('\n')}`).dumps[0]!.batches
      const comparable = ({ records: _, deleteHorizonMs: __, ...batch }: Record<string, unknown>) =>
        batch
      expect(parsed.map((batch) => comparable({ ...batch }))).toEqual(
        batches.map((batch) => comparable({ ...batch })),
      )
      expect(ends(lines)).toBe(true)
    },
  )

  it.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'])('prints what was produced: %s', (codec) => {
    const produced = fixtureLines<FixtureRecord>('records.jsonl')
    const file = join(fixtureDirectory, `codec-${codec}-0`, '00000000000000000000.log')
    const read = recordLines(file).map(({ key, value, headers }) => ({ key, value, headers }))
    expect(read).toEqual(produced)
  })

  it('prints metadata records and control records by what they mean', () => {
    const expected = fixtureLines<FixtureMetadataRecord>('metadata-records.jsonl')
    const file = join(fixtureDirectory, '__cluster_metadata-0', '00000000000000000000.log')
    const lines = recordLines(file)
    const found = lines.flatMap(({ offset, metadata }) =>
      metadata === undefined ? [] : [{ offset, ...metadata }],
    )
    expect(found.map(({ offset, type }) => ({ offset, type }))).toEqual(
      expected.map(({ offset, type }) => ({ offset, type: schemaName(type) })),
    )
    const known = found.flatMap(({ data }, index) =>
      'body' in data ? [] : [[data, withoutDefaults(expected[index]!.data)] as const],
    )
    expect(known.length).toBeGreaterThan(80)
    for (const [data, theirs] of known) expect(data).toMatchObject(theirs)
    expect(lines[0]!.control).toEqual({ type: 'LEADER_CHANGE' })
    const transactional = join(fixtureDirectory, 'transactional-0', '00000000000000000000.log')
    const markers = recordLines(transactional).filter(({ control }) => control !== undefined)
    expect(markers.map(({ control }) => control!.type)).toEqual(Array(5).fill('COMMIT'))
  })

  it('prints messages of old as Kafka does', () => {
    const file = join(legacy, 'legacy-0', '00000000000000000000.log')
    const texts = [...dumpFile(file, { records: true })].map(dumpText)
    expect(texts[1]).toBe(
      'offset: 0 position: 0 NoTimestampType: -1 size: 111 magic: 0 compresscodec: none crc: 2180865651 isvalid: true',
    )
    expect(texts).toContain(
      'offset: 39 position: 2065 CreateTime: 1400000000039 size: 223 magic: 1 compresscodec: lz4 crc: 2363849979 isvalid: true',
    )
    expect(texts.at(-1)).toBe('whole: 4198 bytes')
  })

  it.each([
    [
      'rolled-0/00000000000000000040.index',
      ['offset: 62 position: 1881', 'offset: 79 position: 3758'],
    ],
    [
      'rolled-0/00000000000000000040.timeindex',
      ['timestamp: 1796056045349 offset: 62', 'timestamp: 1796056045354 offset: 79'],
    ],
    ['rolled-0/leader-epoch-checkpoint', ['leaderEpoch: 0 startOffset: 0']],
    ['isr-0/partition.metadata', ['version: 0', 'topic_id: rV9j_LbFQCSRdaqbolkICg']],
    [
      'rolled-0/00000000000000000040.snapshot',
      [
        'producerId: 4 producerEpoch: 0 lastSequence: 39 lastOffset: 39 offsetDelta: 9 timestampMs: 1796056041634 coordinatorEpoch: -1 currentTransactionFirstOffset: -1',
      ],
    ],
  ])('prints the entries of %s', (name, entries) => {
    const lines = [...dumpFile(join(fixtureDirectory, name), { records: false })]
    expect(lines.slice(1, -1).map(dumpText)).toEqual(entries)
    expect(ends(lines)).toBe(true)
  })
})
