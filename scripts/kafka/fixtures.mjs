/** Makes test/fixtures/kafka-4.4: topics with every codec, one that rolled, a metadata log. */
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { KafkaCluster } from './kafka-cluster.mjs'
import { metadataPartition, writeManifest } from './manifest.mjs'

const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const recordsPerTopic = 120
const nullMarker = 'NULL'
/** Kafka's smallest; makes index entries appear in small segments. */
const smallIndexInterval = 'index.interval.bytes=512'
const shrinkTimeoutMs = 60_000

export async function makeFixtures({ directory, target }) {
  const clusterId = Buffer.from('tidemark-fixture').toString('base64url')
  const cluster = await KafkaCluster.start({
    directory,
    brokers: 3,
    clusterId,
    properties: {
      'replica.lag.time.max.ms': 1000,
      'broker.session.timeout.ms': 60_000,
      // No record every half second only to move the metadata log's end.
      'metadata.max.idle.interval.ms': 0,
    },
  })
  const records = makeRecords()
  try {
    for (const codec of codecs) makeCodecTopic(cluster, codec, records)
    await makeRolledTopic(cluster, records)
    makeTransactionalTopic(cluster)
    await makeIsrChanges(cluster)
  } finally {
    await cluster.stop()
  }
  rmSync(target, { recursive: true, force: true })
  const topics = [...codecs.map((codec) => `codec-${codec}`), 'rolled', 'transactional', 'isr']
  for (const topic of topics) copyPartition(cluster, `${topic}-0`, target)
  copyPartition(cluster, metadataPartition, target)
  copyCheckpoints(cluster, target)
  return writeManifest({ target, clusterId, records })
}

/** Keys, values and headers that are null, empty, short and long enough to need longer varints. */
function makeRecords() {
  return Array.from({ length: recordsPerTopic }, (_, index) => ({
    key: index % 7 === 0 ? null : `key-${index % 11}`,
    value:
      index % 13 === 5
        ? null
        : index % 17 === 3
          ? ''
          : `value ${index} ${'ab '.repeat(index % 70)}`,
    headers:
      index % 5 === 0
        ? [
            { key: 'trace', value: `${index}` },
            { key: 'origin', value: index % 10 === 0 ? null : 'fixture' },
          ]
        : [],
  }))
}

function toLines(records) {
  const text = (value) => value ?? nullMarker
  return records
    .map(({ key, value, headers }) => {
      const head = headers.map((header) => `${header.key}:${text(header.value)}`).join(',')
      return `${headers.length === 0 ? nullMarker : head}\t${text(key)}\t${text(value)}\n`
    })
    .join('')
}

function produce(cluster, topic, codec, records, acks = 'all') {
  const readers = ['parse.key=true', 'parse.headers=true', `null.marker=${nullMarker}`]
  cluster.tool(
    'console-producer',
    [
      ...['--topic', topic, '--compression-codec', codec, '--batch-size', '2000'],
      ...['--request-required-acks', acks],
      ...readers.flatMap((property) => ['--reader-property', property]),
      ...['--command-property', 'linger.ms=50'],
    ],
    { input: toLines(records) },
  )
}

function createTopic(cluster, topic, assignment, configs = []) {
  cluster.tool('topics', [
    ...['--create', '--topic', topic, '--replica-assignment', assignment],
    ...configs.flatMap((config) => ['--config', config]),
  ])
}

function makeCodecTopic(cluster, codec, records) {
  createTopic(cluster, `codec-${codec}`, '1', [smallIndexInterval])
  produce(cluster, `codec-${codec}`, codec, records)
}

/** Rolled by time: a batch more than `segment.ms` younger than its segment starts the next one. */
async function makeRolledTopic(cluster, records) {
  createTopic(cluster, 'rolled', '1', [smallIndexInterval, 'segment.ms=1000'])
  produce(cluster, 'rolled', 'none', records.slice(0, 40))
  await sleep(2_500)
  produce(cluster, 'rolled', 'none', records.slice(40, 80))
  await sleep(2_500)
  produce(cluster, 'rolled', 'none', records.slice(80))
}

/** Has control batches: a marker ends every transaction. */
function makeTransactionalTopic(cluster) {
  createTopic(cluster, 'transactional', '1')
  cluster.tool('producer-perf', [
    ...['--topic', 'transactional', '--num-records', '60', '--throughput', '60'],
    ...['--payload-monotonic', '--transactional-id', 'fixture', '--transaction-duration-ms', '200'],
    ...['--command-property', 'linger.ms=20'],
  ])
}

/** The last broker is frozen and let go, then stopped and started: every kind of ISR change. */
async function makeIsrChanges(cluster) {
  createTopic(cluster, 'isr', '1:2:3,1:3:2,2:3:1', ['min.insync.replicas=2'])
  cluster.tool('configs', [
    ...['--alter', '--entity-type', 'topics', '--entity-name', 'isr'],
    ...['--add-config', 'retention.ms=100000000'],
  ])
  createTopic(cluster, 'removed', '1')
  cluster.tool('topics', ['--delete', '--topic', 'removed'])
  await waitForReplicas(cluster, 3)
  const records = makeRecords().slice(0, 30)
  cluster.pauseNode(3)
  // A follower that is frozen at the leader's end is in sync for ever: the end has to move.
  produce(cluster, 'isr', 'none', records.slice(0, 20), '1')
  await waitForReplicas(cluster, 2)
  cluster.resumeNode(3)
  await waitForReplicas(cluster, 3)
  await cluster.stopNode(3)
  await waitForReplicas(cluster, 2)
  cluster.startNode(3)
  await waitForReplicas(cluster, 3)
  produce(cluster, 'isr', 'none', records.slice(20))
}

/** Until partition 0 of topic `isr`, which broker 1 leads, has that many in-sync replicas. */
async function waitForReplicas(cluster, count) {
  const deadline = Date.now() + shrinkTimeoutMs
  while (Date.now() < deadline) {
    const isr = /Partition: 0\b.*\bIsr: ([\d,]+)/.exec(describeIsr(cluster))?.[1] ?? ''
    if (isr.split(',').length === count) return
    await sleep(200)
  }
  throw new Error(`topic isr did not get to ${count} in-sync replicas`)
}

/** The tool asks any broker; when that is the frozen one it gives up soon, and is asked again. */
function describeIsr(cluster) {
  const config = join(dirname(cluster.logDirectory(1)), 'impatient.properties')
  writeFileSync(config, 'default.api.timeout.ms=4000\nrequest.timeout.ms=2000\n')
  try {
    return cluster.tool('topics', ['--command-config', config, '--describe', '--topic', 'isr'])
  } catch {
    return ''
  }
}

function copyPartition(cluster, name, target) {
  const source = join(cluster.logDirectory(1), name)
  // KRaft does not cut the metadata log's preallocated index files to size, not even at the end.
  const kinds = name === metadataPartition ? 'log|snapshot' : 'log|index|timeindex|snapshot'
  for (const file of readdirSync(source)) {
    const wanted = new RegExp(
      `^(\\d{20}\\.(${kinds})|leader-epoch-checkpoint|partition\\.metadata)$`,
    )
    if (wanted.test(file)) copy(join(source, file), join(target, name, file))
  }
}

function copyCheckpoints(cluster, target) {
  const source = cluster.logDirectory(1)
  for (const file of readdirSync(source)) {
    const wanted = /-checkpoint$|^meta\.properties$|^\.kafka_cleanshutdown$/
    if (wanted.test(file)) copy(join(source, file), join(target, file))
  }
}

function copy(source, target) {
  mkdirSync(dirname(target), { recursive: true })
  copyFileSync(source, target)
}
