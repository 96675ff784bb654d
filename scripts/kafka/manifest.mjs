/**
 * Says beside the fixtures what is in them, as Kafka itself reads them:
 *   manifest.json           what was done
 *   records.jsonl           the records that were produced, one a line
 *   files.jsonl             every file: size, SHA-256, and the batches of a segment
 *   metadata-records.jsonl  the metadata log: offset, type, version and data in Kafka's own JSON
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { dumpLogs } from './dump-log.mjs'
import { kafkaVersion } from './kafka-home.mjs'

export const metadataPartition = '__cluster_metadata-0'

const topics = {
  'codec-*': 'all of records.jsonl, compressed with the codec of that name',
  rolled: 'all of records.jsonl, rolled by segment.ms into three segments',
  transactional: 'the numbers from 0 to 59 as text, in transactions that were committed',
  isr: 'partition 0 of three with three replicas each; they share the first 30 of records.jsonl',
  __cluster_metadata: 'one controller, three brokers; broker 3 frozen, back, stopped, started',
}

export function writeManifest({ target, clusterId, records }) {
  const files = fixtureFiles(target)
  const logs = files.filter((name) => name.endsWith('.log'))
  const paths = (names) => names.map((name) => join(target, name))
  const dumps = dump(paths(logs), 'batches')
  const entries = files.map((name) => describeFile(target, name, dumps))
  const metadataLogs = logs.filter((name) => name.startsWith(metadataPartition))
  const metadata = dump(paths(metadataLogs), 'metadata')
  const made = `by Apache Kafka ${kafkaVersion} and its own tools, with scripts/kafka-fixtures.mjs`
  const manifest = JSON.stringify({ made, clusterId, topics }, undefined, 2)
  writeFileSync(join(target, 'manifest.json'), `${manifest}\n`)
  writeFileSync(join(target, 'records.jsonl'), jsonLines(records))
  writeFileSync(join(target, 'files.jsonl'), jsonLines(entries))
  writeFileSync(join(target, 'metadata-records.jsonl'), jsonLines(metadataRecords(metadata)))
  const total = entries.reduce((sum, { bytes }) => sum + bytes, 0)
  return `${entries.length} files, ${total} bytes`
}

/** All that Kafka made; the files that describe them lie beside them. */
function fixtureFiles(target) {
  return readdirSync(target, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(target, name)).isFile() && !/\.jsonl?$/.test(name))
    .map((name) => name.split(sep).join('/'))
    .sort()
}

function describeFile(target, name, dumps) {
  const bytes = readFileSync(join(target, name))
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const found = dumps.find(({ file }) => file === join(target, name))
  const batches = found?.batches.map(({ records: _, ...batch }) => batch)
  return { name, bytes: bytes.length, sha256, ...(batches === undefined ? {} : { batches }) }
}

function dump(files, show) {
  const { dumps, complaints } = dumpLogs(files, show)
  if (complaints.length > 0) throw new Error(`kafka-dump-log complains:\n${complaints.join('\n')}`)
  return dumps
}

function metadataRecords(dumps) {
  return dumps
    .flatMap(({ batches }) => batches)
    .filter(({ isControl }) => !isControl)
    .flatMap(({ records }) => records)
    .map(({ offset, payload }) => ({ offset, ...JSON.parse(payload) }))
}

function jsonLines(values) {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('')
}
