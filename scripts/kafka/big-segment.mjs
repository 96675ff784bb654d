import { copyFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KafkaCluster } from './kafka-cluster.mjs'

const topic = 'big'
const lineCount = 5_000
const recordsPerSec = 20_000

/** One segment of about `megabytes` before compression, of lines as a web server would log them. */
export async function makeBigSegment({ directory, target, megabytes, compression }) {
  const lines = accessLines()
  const bytesPerRecord = Buffer.byteLength(lines.join('\n')) / lineCount + 12
  const records = Math.ceil((megabytes * 1e6) / bytesPerRecord)
  const payloads = join(directory, 'payloads.txt')
  writeFileSync(payloads, lines.join('\n'))
  const clusterId = Buffer.from('tidemark-bigfile').toString('base64url')
  const cluster = await KafkaCluster.start({ directory, brokers: 1, clusterId })
  try {
    cluster.tool('topics', ['--create', '--topic', topic, '--partitions', '1'])
    cluster.tool('producer-perf', [
      ...['--topic', topic, '--num-records', `${records}`, '--throughput', `${recordsPerSec}`],
      ...['--payload-file', payloads, '--record-key-range', '1000', '--key-distribution', 'random'],
      ...['--command-property', 'acks=all', 'linger.ms=5', `compression.type=${compression}`],
    ])
  } finally {
    await cluster.stop()
  }
  const partition = join(cluster.logDirectory(1), `${topic}-0`)
  const segments = readdirSync(partition).filter((name) => name.endsWith('.log'))
  if (segments.length !== 1) throw new Error(`one segment expected, got ${segments.join(', ')}`)
  mkdirSync(dirname(target), { recursive: true })
  copyFileSync(join(partition, segments[0]), target)
  return `${records} records, ${statSync(target).size} bytes`
}

/** Deterministic, and with the sizes of real lines: 80 to 400 bytes. */
function accessLines() {
  const methods = ['GET', 'GET', 'GET', 'POST', 'HEAD']
  const statuses = [200, 200, 200, 304, 404, 500]
  return Array.from({ length: lineCount }, (_, index) => {
    const mixed = Math.imul(index + 1, 2_654_435_761) >>> 0
    const depth = 1 + (mixed % 9)
    const path = Array.from({ length: depth }, (_, at) => (mixed ^ (at * 7919)).toString(36))
    return [
      `10.${mixed % 256}.${(mixed >>> 8) % 256}.${(mixed >>> 16) % 256} - -`,
      `"${methods[mixed % methods.length]} /${path.join('/')} HTTP/1.1"`,
      statuses[mixed % statuses.length],
      mixed % 90_000,
      `"agent/${mixed % 17}.${mixed % 5} ${'x'.repeat(mixed % 200)}"`,
    ].join(' ')
  })
}
