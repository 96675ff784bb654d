/** Apache Kafka's `kafka-dump-log --cluster-metadata-decoder` reads our metadata log. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { dumpLogs } from '../../scripts/kafka/dump-log.mjs'
import { fetchKafka, kafkaObstacle } from '../../scripts/kafka/kafka-home.mjs'
import { ManualClock } from '../../src/clock.ts'
import { readRecords } from '../../src/log/record-reader.ts'
import { MetadataLog } from '../../src/replication/controller/metadata-log.ts'
import {
  decodeMetadataRecord,
  kafkaNameOf,
} from '../../src/replication/controller/metadata-record-codec.ts'
import type { MetadataRecord } from '../../src/replication/controller/metadata-records.ts'
import { ControllerHarness } from '../replication/controller/controller-harness.ts'
import {
  type FixtureFile,
  type FixtureMetadataRecord,
  fixtureLines,
  fixtureMemory,
  schemaName,
  withoutDefaults,
} from './fixture-files.ts'
import { segmentFiles } from './random-log.ts'

const fetchTimeoutMs = 300_000
const obstacle = kafkaObstacle()
let parent: string

beforeAll(() => {
  if (obstacle !== undefined) return
  fetchKafka()
  parent = mkdtempSync(join(tmpdir(), 'tidemark-interop-'))
}, fetchTimeoutMs)

afterAll(() => {
  if (parent !== undefined) rmSync(parent, { recursive: true, force: true })
})

beforeEach((ctx) => {
  if (obstacle !== undefined) ctx.skip(obstacle)
})

describe('kafka-dump-log --cluster-metadata-decoder', () => {
  it('reads Kafka’s own records after we decoded, encoded and stored them', () => {
    const records = kafkaRecords()
    const log = MetadataLog.open({ directory: join(parent, 'again'), clock: new ManualClock() })
    // Batches of one, two, three, … records.
    for (let at = 0, size = 1; at < records.length; at += size, size += 1) {
      log.append(records.slice(at, at + size))
    }
    log.close()
    const expected = fixtureLines<FixtureMetadataRecord>('metadata-records.jsonl')
    const read = judge(log.directory)
    expect(read.map(({ type }) => type)).toEqual(expected.map(({ type }) => type))
    for (const [index, { data }] of read.entries()) {
      expect(data).toMatchObject(withoutDefaults(expected[index]!.data))
      expect(expected[index]!.data).toMatchObject(withoutDefaults(data))
    }
  })

  it('reads what our controller decided', () => {
    const directory = join(parent, 'decided')
    const log = MetadataLog.open({ directory, clock: new ManualClock() })
    const controller = new ControllerHarness(log).start(1, 2, 3)
    controller.createTopic(
      'orders',
      [
        [1, 2, 3],
        [2, 3, 1],
      ],
      { 'min.insync.replicas': '2' },
    )
    controller.proposeOne(0, [1, 2])
    controller.proposeOne(0, [1, 2, 3])
    expect(controller.silence(2)).toBeGreaterThan(0)
    controller.heartbeat(3, { wantShutDown: true })
    const decided: { offset: number; record: MetadataRecord }[] = []
    log.replay(0, (record, offset) => decided.push({ offset, record }))
    log.close()
    expect(new Set(decided.map(({ record }) => record.type))).toEqual(
      new Set([
        'featureLevel',
        'registerBroker',
        'brokerRegistrationChange',
        'topic',
        'partition',
        'partitionChange',
        'config',
      ]),
    )
    const read = judge(log.directory)
    expect(read.map(({ offset, type }) => ({ offset, type: schemaName(type) }))).toEqual(
      decided.map(({ offset, record }) => ({ offset, type: kafkaNameOf(record) })),
    )
    for (const [index, { data }] of read.entries()) {
      expect(decided[index]!.record).toMatchObject(withoutDefaults(data))
    }
  })
})

function kafkaRecords(): MetadataRecord[] {
  return fixtureLines<FixtureFile>('files.jsonl')
    .filter(({ name, batches }) => name.startsWith('__cluster_metadata-0/') && batches)
    .flatMap(({ name, batches }) => {
      const memory = fixtureMemory(name)
      const data = batches!.filter(({ isControl }) => !isControl)
      return data.flatMap(({ position }) => [...readRecords(memory, position)])
    })
    .map(({ value }) => decodeMetadataRecord(value!))
}

/** What Kafka reads; it must have no complaint. */
function judge(directory: string): FixtureMetadataRecord[] {
  const { dumps, complaints } = dumpLogs(segmentFiles(directory), 'metadata')
  expect(complaints).toEqual([])
  const batches = dumps.flatMap((dump) => dump.batches)
  expect(batches.filter(({ isvalid }) => !isvalid)).toEqual([])
  return batches
    .flatMap(({ records }) => records)
    .map(({ offset, payload }) => ({ offset, ...JSON.parse(payload!) }))
}
