/**
 * Throughput and acknowledgement latency of Apache Kafka and of Tidemark on this machine, in turn:
 * the same records, batches, partitions, replication factor and acks, three brokers, one disk.
 *   node bench/kafka/throughput.mjs [CASE…] [--rounds N] [--seconds N] [--out FILE [--merge]]
 * Cases are those of `cluster/throughput-…`, for example `16k-100`, and `latency`; without any,
 * 16k-100, small-records and latency. Needs Java 17, and Maven the first time.
 *
 * What differs: Kafka's producer and brokers are four JVMs that talk over loopback TCP; Tidemark's
 * are threads of one process that share memory. Kafka's producer waits up to 5 ms for a batch to
 * fill (its users' usual setting) and makes its records as it sends them; ours sends full batches,
 * and closed loop keeps 16 MiB unanswered where Kafka's producer may buffer 64 MiB. Both leave
 * syncing to the system.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { KafkaCluster } from '../../scripts/kafka/kafka-cluster.mjs'
import {
  fetchKafka,
  jvmForLoad,
  kafkaObstacle,
  kafkaVersion,
} from '../../scripts/kafka/kafka-home.mjs'
import { compileBenches } from '../compile.js'

const settleMs = 5_000
const casesDefault = ['16k-100', 'small-records', 'latency']
/**
 * One record of 1 KiB a batch, a thousand a second. Kafka's producer may put more into one, as it
 * does by itself when it can't keep up with so many batches.
 */
const latencyCase = {
  what: '1,000 records/s over 1',
  partitions: 1,
  recordBytes: 1024,
  batchBytes: 1_280,
  kafkaBatchBytes: 16_384,
  recordsPerSec: 1_000,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    /** Of each round of each; Kafka is given as many records as it takes for about so long. */
    seconds: { type: 'string', default: '5' },
    out: { type: 'string' },
    merge: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const runs = []

const obstacle = kafkaObstacle()
if (obstacle !== undefined) {
  process.stderr.write(`throughput: ${obstacle}\n`)
  process.exit(2)
}
const compiled = await compileBenches()
const load = (file) => import(pathToFileURL(join(compiled, file)).href)
const { throughputCases } = await load('cluster/throughput.trial.js')
const { findingOf, ratioOf } = await load('trial.js')
const { findingLine } = await load('finding-lines.js')
const { mergeRuns, readResults, thisCommit, thisMachine, writeResults } =
  await load('results-file.js')
const command = join(compiled, '..', 'src', 'cli', 'main.js')

/**
 * Kafka's own load generator; its last line is the sum, without the records that warm it up: its
 * start takes a second or two of its own.
 */
function loadKafka(cluster, topic, sizes, records) {
  const warmUp = Math.ceil(records / 2)
  const { recordBytes, batchBytes, kafkaBatchBytes = batchBytes, recordsPerSec = -1 } = sizes
  const lingerMs = recordsPerSec === -1 ? 5 : 0
  const args = [
    ...['--topic', topic, '--record-size', String(recordBytes)],
    ...['--num-records', String(records + warmUp), '--warmup-records', String(warmUp)],
    ...['--throughput', String(recordsPerSec), '--command-property', 'acks=all'],
    ...[`batch.size=${kafkaBatchBytes}`, `linger.ms=${lingerMs}`, 'buffer.memory=67108864'],
  ]
  const output = cluster.tool('producer-perf', args, { java: { jvm: jvmForLoad } })
  const sum = output.trim().split('\n').at(-1)
  const found =
    /([\d.]+) records\/sec.*?, ([\d.]+) ms avg.*?, (\d+) ms 50th, .*?(\d+) ms 99th/.exec(sum)
  if (found === null) throw new Error(`not understood: ${sum}`)
  const [, perSec, , p50, p99] = found.map(Number)
  return { recordsPerSec: perSec, ackMs: { p50, p99 } }
}

function loadTidemark({ partitions, recordBytes, batchBytes, recordsPerSec }) {
  const rate = recordsPerSec === undefined ? 'max' : `${recordsPerSec * recordBytes}B/s`
  const output = execFileSync(
    process.execPath,
    [
      ...[command, 'throughput', '--json', '--no-limit', '--acks', 'all', '--rate', rate],
      ...['--partitions', String(partitions), '--record-bytes', String(recordBytes)],
      ...['--batch-bytes', String(batchBytes), '--duration', `${seconds}s`],
    ],
    { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const { recordsPerSec: perSec, ackMs, records } = JSON.parse(output)
  if (records.lost > 0) throw new Error(`lost ${records.lost} records`)
  return { recordsPerSec: perSec, ackMs }
}

/** One after the other, as often as there are rounds, after a round that warms Kafka up. */
async function measureCase(cluster, name, sizes) {
  const topic = `load-${name}`
  const assignment = Array(sizes.partitions).fill('1:2:3').join(',')
  cluster.tool('topics', ['--create', '--topic', topic, '--replica-assignment', assignment])
  await whenReplicated(cluster, topic, sizes.partitions)
  // Few records would measure Kafka's start: at first what it takes on such a machine when warm.
  const expectedPerSec = Math.min(300_000, 40e6 / sizes.recordBytes)
  let perSec = sizes.recordsPerSec ?? expectedPerSec
  const found = { kafka: [], tidemark: [] }
  for (let round = -1; round < rounds; round += 1) {
    const kafka = loadKafka(cluster, topic, sizes, Math.ceil(perSec * seconds))
    perSec = sizes.recordsPerSec ?? Math.max(kafka.recordsPerSec, expectedPerSec / 4)
    if (round < 0) continue
    found.kafka.push(kafka)
    found.tidemark.push(loadTidemark(sizes))
  }
  return sizes.recordsPerSec === undefined ? rates(sizes, found) : latencies(sizes, found)
}

function rates({ what, recordBytes, unit }, { kafka, tidemark }) {
  const isRecords = unit === 'M records/s'
  const told = isRecords ? unit : 'MB/s'
  const rate = ({ recordsPerSec }) => (recordsPerSec * (isRecords ? 1 : recordBytes)) / 1e6
  return beside(what, told, kafka.map(rate), tidemark.map(rate))
}

function latencies({ what }, { kafka, tidemark }) {
  return ['p50', 'p99'].flatMap((quantile) => {
    const of = ({ ackMs }) => ackMs[quantile]
    return beside(`${quantile}, ${what}`, 'ms', kafka.map(of), tidemark.map(of))
  })
}

function beside(what, unit, kafka, tidemark) {
  const theirs = `Apache Kafka: ${what}`
  return [
    findingOf(theirs, unit, kafka),
    { ...findingOf(what, unit, tidemark), ratio: ratioOf(theirs, tidemark, kafka) },
  ]
}

function caseOf(name) {
  const sizes = name === 'latency' ? latencyCase : throughputCases[name]
  if (sizes !== undefined && sizes.compression === undefined) return sizes
  const plain = Object.entries(throughputCases).filter(([, each]) => each.compression === undefined)
  const names = [...plain.map(([each]) => each), 'latency']
  process.stderr.write(`throughput: ${name}: allowed are ${names.join(', ')}\n`)
  process.exit(2)
}

/** After each case: the next may fail. */
function save(run) {
  runs.push(run)
  if (values.out === undefined) return
  const isThere = values.merge && existsSync(values.out)
  writeResults(values.out, mergeRuns(isThere ? readResults(values.out).runs : [], runs))
}

/**
 * Until each partition has all its replicas' files, and a little longer. A producer that comes
 * earlier is refused for a few partitions, and may then wait for ever: retried out of order.
 */
async function whenReplicated(cluster, topic, partitions) {
  const isThere = (node) => {
    const names = readdirSync(cluster.logDirectory(node))
    return names.filter((name) => name.startsWith(`${topic}-`)).length === partitions
  }
  while (![1, 2, 3].every(isThere)) await sleep(200)
  await sleep(settleMs)
}

const names = positionals.length === 0 ? casesDefault : positionals
const cases = names.map((name) => [name, caseOf(name)])
fetchKafka()
const directory = mkdtempSync(join(tmpdir(), 'tidemark-beside-'))
const clusterId = Buffer.from('tidemark-besidebe').toString('base64url').slice(0, 22)
const java = { heap: '1g', jvm: jvmForLoad }
try {
  const cluster = await KafkaCluster.start({ directory, brokers: 3, clusterId, java })
  try {
    for (const [name, sizes] of cases) {
      const findings = await measureCase(cluster, name, sizes)
      for (const finding of findings) process.stdout.write(`${findingLine(finding)}\n`)
      const machine = { ...thisMachine(), kafka: kafkaVersion }
      const date = new Date().toISOString()
      save({
        suite: `kafka/${name}`,
        date,
        commit: thisCommit(),
        machine,
        full: true,
        findings,
      })
    }
  } finally {
    await cluster.stop()
  }
} finally {
  rmSync(directory, { recursive: true, force: true })
}
