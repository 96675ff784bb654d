/** A real Apache Kafka broker takes over our partition's directory, and we take over its. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { KafkaCluster } from '../../scripts/kafka/kafka-cluster.mjs'
import { fetchKafka, kafkaObstacle } from '../../scripts/kafka/kafka-home.mjs'
import { ManualClock } from '../../src/clock.ts'
import { BatchEncoder } from '../../src/log/batch-encoder.ts'
import { batchPositions } from '../../src/log/batch-header.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { readRecords } from '../../src/log/record-reader.ts'
import { verifyDirectories } from '../../src/log-tools/verify-directories.ts'
import { type ExpectedRecord, type RandomLog, writeRandomLogs } from './random-log.ts'

/** Starting a broker takes seconds on a busy machine, and there are three starts. */
const timeoutMs = 400_000
const nullText = '<null>'
const topic = 'judged'
const added = ['one', 'two', 'three']

interface ServedRecord {
  readonly offset: number
  readonly timestampMs: number
  readonly key: string | null
  readonly value: string | null
  readonly headerKeys: string[]
}

const obstacle = kafkaObstacle()
let parent: string
let log: RandomLog
/** What Kafka served: after a clean stop, after a crash, and our log once it had appended. */
let clean: ServedRecord[]
let afterCrash: ServedRecord[]
let endOffset: string
let partition: string
let copy: string

beforeAll(async () => {
  if (obstacle !== undefined) return
  fetchKafka()
  parent = mkdtempSync(join(tmpdir(), 'tidemark-broker-'))
  // Leader epochs are the controller's: a broker doesn't take those that lie ahead of it.
  log = writeRandomLogs(parent, 7, { steps: 120, epochStepMax: 0 })[0]!
  const cluster = await KafkaCluster.start({
    directory: join(parent, 'kafka'),
    brokers: 1,
    clusterId: Buffer.from('tidemark-interop').toString('base64url'),
  })
  try {
    cluster.tool('topics', [
      ...['--create', '--topic', topic, '--partitions', '1', '--replication-factor', '1'],
      // The records are years old.
      ...['--config', 'retention.ms=-1'],
    ])
    partition = join(cluster.logDirectory(1), `${topic}-0`)
    await cluster.stopNode(1)
    takeOver(partition, log.directory)
    await restart(cluster)
    clean = consume(cluster, log.records.length)
    cluster.tool('console-producer', ['--topic', topic], { input: `${added.join('\n')}\n` })
    await cluster.stopNode(1)
    copy = join(parent, 'copy', `${topic}-0`)
    cpSync(partition, copy, { recursive: true })
    // Now as after a crash: everything is read and checked again.
    rmSync(join(cluster.logDirectory(1), '.kafka_cleanshutdown'))
    rmSync(join(cluster.logDirectory(1), 'recovery-point-offset-checkpoint'))
    await restart(cluster)
    afterCrash = consume(cluster, log.records.length + added.length)
    endOffset = cluster.tool('get-offsets', ['--topic', topic]).trim()
  } finally {
    await cluster.stop()
  }
}, timeoutMs)

afterAll(() => {
  if (parent !== undefined) rmSync(parent, { recursive: true, force: true })
})

beforeEach((ctx) => {
  if (obstacle !== undefined) ctx.skip(obstacle)
})

describe('a broker of Apache Kafka over a directory of ours', () => {
  it('serves all records', () => {
    expect(log.records.length).toBeGreaterThan(400)
    expect(clean).toEqual(log.records.map(served))
  })

  it('serves them after it has recovered the log, with its own after them', () => {
    expect(afterCrash.slice(0, log.records.length)).toEqual(log.records.map(served))
    expect(afterCrash.slice(log.records.length).map(({ value }) => value)).toEqual(added)
    expect(endOffset).toBe(`${topic}:0:${log.records.length + added.length}`)
  })
})

describe('we, over a directory that a broker of Kafka went on with', () => {
  it('find nothing wrong in it', () => {
    expect(existsSync(copy)).toBe(true)
    const report = verifyDirectories([copy])
    expect(report.faults).toEqual([])
  })

  it('read on what it appended, and append after it', () => {
    const open = () =>
      PartitionLog.open({
        directory: copy,
        topic,
        partition: 0,
        topicId: /topic_id: (\S+)/.exec(
          readFileSync(join(copy, 'partition.metadata'), 'utf8'),
        )![1]!,
        config: logConfigDefaults,
        clock: new ManualClock(1_700_000_000_000),
        cleanShutdown: true,
      })
    const ours = open()
    const read = readAll(ours)
    expect(read.slice(0, log.records.length)).toEqual(log.records.map(served))
    expect(read.slice(log.records.length).map(({ value }) => value)).toEqual(added)
    expect(ours.logEndOffset).toBe(read.length)
    appendOne(ours, 'four')
    ours.close()
    expect(verifyDirectories([copy]).faults).toEqual([])
    const again = open()
    expect(readAll(again).at(-1)).toMatchObject({ offset: read.length, value: 'four' })
    again.close()
  })
})

/** Our files in place of the empty ones of the topic; it stays the topic of the same id. */
function takeOver(target: string, source: string): void {
  const metadata = readFileSync(join(target, 'partition.metadata'))
  rmSync(target, { recursive: true })
  cpSync(source, target, { recursive: true })
  writeFileSync(join(target, 'partition.metadata'), metadata)
}

async function restart(cluster: KafkaCluster): Promise<void> {
  cluster.startNode(1)
  await cluster.waitForBrokers(1)
}

/** The first `count` records: waiting for more would take as long as the time-out. */
function consume(cluster: KafkaCluster, count: number): ServedRecord[] {
  const properties = ['timestamp', 'offset', 'headers', 'key', 'value'].map(
    (name) => `print.${name}=true`,
  )
  const output = cluster.tool('console-consumer', [
    ...[
      '--topic',
      topic,
      '--partition',
      '0',
      '--offset',
      'earliest',
      '--timeout-ms',
      '30000',
      '--max-messages',
      String(count),
    ],
    ...[...properties, `null.literal=${nullText}`].flatMap((text) => [
      '--formatter-property',
      text,
    ]),
  ])
  return output.trimEnd().split('\n').map(servedFromLine)
}

function servedFromLine(line: string): ServedRecord {
  const [time, offset, headers, key, value] = line.split('\t')
  const orNull = (text: string | undefined) => (text === nullText ? null : text!)
  return {
    offset: Number(offset!.slice('Offset:'.length)),
    timestampMs: Number(time!.slice('CreateTime:'.length)),
    key: orNull(key),
    value: orNull(value),
    headerKeys:
      headers === 'NO_HEADERS'
        ? []
        : [...headers!.matchAll(/header-\d+(?=:)/g)].map(([name]) => name),
  }
}

function served({ offset, timestampMs, key, value, headerKeys }: ExpectedRecord): ServedRecord {
  return { offset, timestampMs, key, value, headerKeys }
}

function appendOne(target: PartitionLog, value: string): void {
  const memory = batchMemory(new ArrayBuffer(1024))
  const encoder = new BatchEncoder()
  encoder.begin(memory, 0, 1024, { compression: 'none' })
  encoder.tryAppend({ timestampMs: 1_700_000_000_000, key: null, value: Buffer.from(value) })
  encoder.finish()
  target.append({ memory, positions: Int32Array.of(0), count: 1 }, target.leaderEpochs.latest)
}

function readAll(source: PartitionLog): ServedRecord[] {
  const memory = batchMemory(new ArrayBuffer(1 << 20))
  const positions = new Int32Array(4096)
  const text = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString())
  const records: ServedRecord[] = []
  for (let offset = source.logStartOffset; offset < source.logEndOffset; ) {
    const bytes = source.read(offset, source.logEndOffset, 1 << 19, memory, 0)
    const count = batchPositions(memory, 0, bytes, positions)
    for (const position of positions.subarray(0, count)) {
      for (const record of readRecords(memory, position)) {
        offset = record.offset + 1
        records.push({
          offset: record.offset,
          timestampMs: record.timestampMs,
          key: text(record.key),
          value: text(record.value),
          headerKeys: record.headers.map(({ key }) => key),
        })
      }
    }
  }
  return records
}
