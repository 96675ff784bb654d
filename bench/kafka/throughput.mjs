/**
 * Throughput and acknowledgement latency of Apache Kafka and of Tidemark on this machine, in turn:
 * the same record size, partitions, replication factor and acks, three brokers, one disk.
 *   node bench/kafka/throughput.mjs [--partitions N] [--record-bytes N] [--batch-bytes N]
 *                                   [--records N] [--rounds N] [--json]
 * What differs: Kafka's producer and brokers are four JVMs that talk over loopback TCP; Tidemark's
 * are threads of one process that share memory. Needs Java 17, and Maven the first time.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { KafkaCluster } from '../../scripts/kafka/kafka-cluster.mjs'
import {
  fetchKafka,
  jvmForLoad,
  kafkaObstacle,
  kafkaVersion,
} from '../../scripts/kafka/kafka-home.mjs'

const command = fileURLToPath(new URL('../../bin/tidemark.js', import.meta.url))

const { values } = parseArgs({
  options: {
    partitions: { type: 'string', default: '100' },
    'record-bytes': { type: 'string', default: '1000' },
    'batch-bytes': { type: 'string', default: '65536' },
    /** For Kafka; Tidemark runs for `--seconds`, it would be through with as many at once. */
    records: { type: 'string', default: '600000' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
})
const partitions = Number(values.partitions)
const recordBytes = Number(values['record-bytes'])
const batchBytes = Number(values['batch-bytes'])

async function withKafka(work) {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-beside-'))
  const cluster = await KafkaCluster.start({
    directory,
    brokers: 3,
    clusterId: Buffer.from('tidemark-besidebe').toString('base64url').slice(0, 22),
    java: { heap: '1g', jvm: jvmForLoad },
  })
  try {
    const assignment = Array(partitions).fill('1:2:3').join(',')
    cluster.tool('topics', [...['--create', '--topic', 'load', '--replica-assignment', assignment]])
    return await work(cluster)
  } finally {
    await cluster.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Kafka's own load generator; its last line is the sum. */
function loadKafka(cluster, records) {
  const args = [
    ...['--topic', 'load', '--num-records', String(records), '--record-size', String(recordBytes)],
    ...['--throughput', '-1', '--command-property', 'acks=all', `batch.size=${batchBytes}`],
    ...['linger.ms=5', 'buffer.memory=67108864'],
  ]
  const output = cluster.tool('producer-perf', args, { java: { jvm: jvmForLoad } })
  const sum = output.trim().split('\n').at(-1)
  const found =
    /([\d.]+) records\/sec.*?, ([\d.]+) ms avg.*?, (\d+) ms 50th, .*?(\d+) ms 99th/.exec(sum)
  if (found === null) throw new Error(`not understood: ${sum}`)
  const [, recordsPerSec, , p50, p99] = found.map(Number)
  return { recordsPerSec, bytesPerSec: recordsPerSec * recordBytes, ackMs: { p50, p99 } }
}

function loadTidemark() {
  const output = execFileSync(
    process.execPath,
    [
      ...[command, 'throughput', '--json', '--no-limit', '--acks', 'all'],
      ...['--partitions', String(partitions), '--record-bytes', String(recordBytes)],
      ...['--batch-bytes', String(batchBytes), '--duration', `${values.seconds}s`],
    ],
    { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const { recordsPerSec, bytesPerSec, ackMs } = JSON.parse(output)
  return { recordsPerSec, bytesPerSec, ackMs: { p50: ackMs.p50, p99: ackMs.p99 } }
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
}

const obstacle = kafkaObstacle()
if (obstacle !== undefined) {
  process.stderr.write(`throughput: ${obstacle}\n`)
  process.exit(2)
}
fetchKafka()
const rounds = { kafka: [], tidemark: [] }
await withKafka((cluster) => {
  // Warm, as its own users measure it.
  loadKafka(cluster, Math.ceil(Number(values.records) / 4))
  for (let round = 0; round < Number(values.rounds); round += 1) {
    rounds.kafka.push(loadKafka(cluster, values.records))
    rounds.tidemark.push(loadTidemark())
    process.stderr.write(
      `round ${round + 1}: Kafka ${(rounds.kafka.at(-1).bytesPerSec / 1e6).toFixed(0)} MB/s, ` +
        `Tidemark ${(rounds.tidemark.at(-1).bytesPerSec / 1e6).toFixed(0)} MB/s\n`,
    )
  }
})
const ratio = median(
  rounds.tidemark.map((each, at) => each.bytesPerSec / rounds.kafka[at].bytesPerSec),
)
if (values.json) {
  const machine = {
    cpus: cpus().length,
    memoryBytes: totalmem(),
    node: process.version,
    kafkaVersion,
  }
  const scenario = { partitions, recordBytes, batchBytes, replicationFactor: 3, acks: 'all' }
  process.stdout.write(`${JSON.stringify({ machine, scenario, rounds, ratio }, null, 2)}\n`)
} else process.stdout.write(`Tidemark takes ${ratio.toFixed(1)} times what Kafka takes\n`)
