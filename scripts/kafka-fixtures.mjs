#!/usr/bin/env node
/**
 * Makes files with a real Apache Kafka.
 *   node scripts/kafka-fixtures.mjs
 *     test/fixtures/kafka-4.4 anew, with its manifest
 *   node scripts/kafka-fixtures.mjs --big FILE [--megabytes 60] [--compression none]
 *     one large segment, for `tidemark catch-up --input FILE`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { makeBigSegment } from './kafka/big-segment.mjs'
import { makeFixtures } from './kafka/fixtures.mjs'
import { fetchKafka, kafkaObstacle } from './kafka/kafka-home.mjs'

const fixtures = join(
  dirname(fileURLToPath(import.meta.url)),
  '..',
  'test',
  'fixtures',
  'kafka-4.4',
)
const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

function readOptions() {
  const { values } = parseArgs({
    options: {
      big: { type: 'string' },
      megabytes: { type: 'string', default: '60' },
      compression: { type: 'string', default: 'none' },
    },
  })
  const megabytes = Number(values.megabytes)
  if (!Number.isInteger(megabytes) || megabytes < 1 || megabytes > 900) {
    throw new Error(`--megabytes ${values.megabytes}: a whole number from 1 to 900 is allowed`)
  }
  if (!codecs.includes(values.compression)) {
    throw new Error(`--compression ${values.compression}: one of ${codecs.join(', ')} is allowed`)
  }
  return { ...values, megabytes }
}

async function main() {
  const { big, megabytes, compression } = readOptions()
  const obstacle = kafkaObstacle()
  if (obstacle !== undefined) throw new Error(obstacle)
  fetchKafka()
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-kafka-'))
  try {
    const target = big === undefined ? fixtures : resolve(big)
    const summary =
      big === undefined
        ? await makeFixtures({ directory, target })
        : await makeBigSegment({ directory, target, megabytes, compression })
    process.stdout.write(`${target}: ${summary}\n`)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

try {
  await main()
} catch (error) {
  process.stderr.write(`kafka-fixtures: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
