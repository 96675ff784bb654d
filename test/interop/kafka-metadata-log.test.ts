/** Apache Kafka's `kafka-dump-log --cluster-metadata-decoder` reads our metadata log. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
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
import { ControllerHarness, incarnation } from '../replication/controller/controller-harness.ts'
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

describe('kafka-dump-log over our snapshots', () => {
  it('reads them, and the log of all that an administrator may ask for', () => {
    const directory = join(parent, 'snapshots')
    const clock = new ManualClock()
    const log = MetadataLog.open({ directory, clock, snapshotBytes: 4_000 })
    const controller = new ControllerHarness(log).start(1, 2, 3, 4)
    administer(controller)
    const decided = [...recordsOf(log)]
    log.close()
    const changes = decided.flatMap(({ record }) =>
      record.type === 'partitionChange' ? record : [],
    )
    expect(Object.keys(Object.assign({}, ...changes))).toEqual(
      expect.arrayContaining([
        'replicas',
        'addingReplicas',
        'removingReplicas',
        'eligibleLeaderReplicas',
        'lastKnownElr',
        'leaderRecoveryState',
      ]),
    )
    expect(new Set(decided.map(({ record }) => record.type))).toContain('removeTopic')
    expectAlike(judgeFiles(segmentFiles(log.directory)), decided)

    const names = readdirSync(log.directory).filter((name) => name.endsWith('.checkpoint'))
    expect(names.length).toBeGreaterThan(0)
    const again = MetadataLog.open({ directory, clock })
    const { records } = again.readSnapshot()!
    again.close()
    const [newest] = names.sort().toReversed()
    // Offset 0 is the header's.
    const expected = [...records].map((record, at) => ({ offset: at + 1, record }))
    expectAlike(judgeFiles([join(log.directory, newest!)]), expected)
  })
})

interface Decided {
  readonly offset: number
  readonly record: MetadataRecord
}

function recordsOf(log: MetadataLog): Decided[] {
  const decided: Decided[] = []
  log.replay(log.startOffset, (record, offset) => decided.push({ offset, record }))
  return decided
}

function administer(controller: ControllerHarness<MetadataLog>): void {
  const wants = { 'min.insync.replicas': '2', 'unclean.leader.election.enable': 'true' }
  for (const topic of ['a', 'b', 'gone']) {
    controller.createTopic(topic, Array(12).fill([1, 2, 3]), wants)
  }
  controller.configure('a', { 'unclean.leader.election.enable': null, 'retention.ms': '1000' })
  controller.configure(undefined, { 'min.insync.replicas': '2' })
  expect(controller.reassign('a', 1, [4, 2])).toBe('NONE')
  controller.administer({ type: 'deleteTopic', topic: 'gone' })
  controller.silence(3)
  controller.silence(2)
  controller.silence(1)
  controller.controller.step(controller.clock.nowMs())
  // It lost what it hadn't flushed, and is eligible no more.
  controller.register(3, { incarnationId: incarnation(3, 2), previousIncarnationEnded: true })
  controller.heartbeat(3)
}

function expectAlike(read: readonly FixtureMetadataRecord[], decided: readonly Decided[]): void {
  expect(read.map(({ offset, type }) => ({ offset, type: schemaName(type) }))).toEqual(
    decided.map(({ offset, record }) => ({ offset, type: kafkaNameOf(record) })),
  )
  for (const [index, { data }] of read.entries()) {
    expect(decided[index]!.record).toMatchObject(withoutDefaults(data))
  }
}

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
  return judgeFiles(segmentFiles(directory))
}

function judgeFiles(files: string[]): FixtureMetadataRecord[] {
  const { dumps, complaints } = dumpLogs(files, 'metadata')
  expect(complaints).toEqual([])
  const batches = dumps.flatMap((dump) => dump.batches)
  expect(batches.filter(({ isvalid }) => !isvalid)).toEqual([])
  return batches
    .filter(({ isControl }) => !isControl)
    .flatMap(({ records }) => records)
    .map(({ offset, payload }) => ({ offset, ...JSON.parse(payload!) }))
}
