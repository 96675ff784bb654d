/**
 * One story, told by Apache Kafka and by Tidemark on this machine: replicas are frozen, stopped,
 * killed and brought back, and what both controllers wrote into their metadata logs is compared
 * change by change: leader, in-sync replicas, leader epoch and partition epoch of each partition.
 *   node bench/kafka/story.mjs [--keep DIRECTORY]
 * Needs Java 17, and Maven the first time. Exit code 1: they differ.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { fetchKafka, kafkaObstacle } from '../../scripts/kafka/kafka-home.mjs'
import { KafkaStage } from './kafka-stage.mjs'
import { TidemarkStage } from './tidemark-stage.mjs'

const command = fileURLToPath(new URL('../../bin/tidemark.js', import.meta.url))

/** Replicas of each topic's only partition, the first leading. */
const topics = { frigate: [1, 2, 3], sloop: [2, 3, 1], ketch: [1, 3, 2], yawl: [2, 1, 3] }
const names = Object.keys(topics)

/** Lag limit and session time-out, long enough for a broker of Kafka to start and fetch. */
const settings = {
  'replica.lag.time.max.ms': 3_000,
  'broker.session.timeout.ms': 12_000,
  'broker.heartbeat.interval.ms': 1_000,
}

/** Every step waits until the metadata log says that it had its effect on all partitions. */
const story = [
  [
    'topics are made, and written to',
    async (stage) => {
      for (const name of names) await stage.createTopic(name, topics[name])
      for (const name of names) await stage.produce(name, 20)
      await stage.until(({ isr }) => isr.length === 3)
    },
  ],
  [
    'a follower freezes under load, leaves, comes back',
    async (stage) => {
      await stage.pause(3)
      for (const name of names) await stage.produce(name, 20)
      await stage.until(({ isr }) => !isr.includes(3))
      for (const name of names) await stage.produce(name, 20)
      await stage.resume(3)
      await stage.until(({ isr }) => isr.includes(3))
    },
  ],
  [
    'a follower is shut down in good order, and started',
    async (stage) => {
      await stage.stop(3)
      await stage.until(({ isr }) => !isr.includes(3))
      for (const name of names) await stage.produce(name, 20)
      await stage.start(3)
      await stage.until(({ isr }) => isr.includes(3))
    },
  ],
  [
    'a leader is killed, another elected, the old one follows',
    async (stage) => {
      await stage.kill(2)
      await stage.until(({ isr, leader }) => !isr.includes(2) && leader !== 2)
      for (const name of names) await stage.produce(name, 20)
      await stage.start(2)
      await stage.until(({ isr }) => isr.includes(2))
    },
  ],
  [
    'a leader is shut down in good order, and started',
    async (stage) => {
      await stage.stop(2)
      await stage.until(({ isr, leader }) => !isr.includes(2) && leader !== 2)
      await stage.start(2)
      await stage.until(({ isr }) => isr.includes(2))
    },
  ],
  [
    'preferred leaders are elected',
    async (stage) => {
      await stage.electPreferredLeaders()
      await stage.until(({ leader }, name) => leader === topics[name][0])
    },
  ],
]

async function tell(stage) {
  await stage.open(settings)
  try {
    for (const [what, step] of story) {
      const startedMs = performance.now()
      await step(stage)
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
      process.stderr.write(`${stage.name}: ${what} (${seconds} s)\n`)
    }
    // Before the end: that a cluster is closed is no part of the story.
    const { partitions } = timelineOf(stage.metadataDirectory)
    return Object.fromEntries(names.map((name) => [name, historyOf(partitions, name)]))
  } finally {
    await stage.close()
  }
}

function historyOf(partitions, topic) {
  const { changes } = partitions.find((partition) => partition.topic === topic)
  return changes.map(
    ({ leader, leaderEpoch, partitionEpoch, inSyncReplicas }) =>
      `leader ${leader}, leader epoch ${leaderEpoch}, partition epoch ${partitionEpoch}, ` +
      `in sync ${[...inSyncReplicas].sort()}`,
  )
}

function timelineOf(directory) {
  const args = [command, 'log', 'timeline', directory, '--json']
  const output = execFileSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 28 })
  return JSON.parse(output)
}

function compare(kafka, tidemark) {
  let differing = 0
  for (const name of names) {
    const length = Math.max(kafka[name].length, tidemark[name].length)
    process.stdout.write(`\n${name}, replicas ${topics[name]}\n`)
    for (let at = 0; at < length; at += 1) {
      const [theirs, ours] = [kafka[name][at], tidemark[name][at]]
      if (theirs === ours) process.stdout.write(`  = ${ours}\n`)
      else {
        differing += 1
        process.stdout.write(`  Kafka     ${theirs ?? '-'}\n  Tidemark  ${ours ?? '-'}\n`)
      }
    }
  }
  return differing
}

const { values } = parseArgs({ options: { keep: { type: 'string' } } })
const obstacle = kafkaObstacle()
if (obstacle !== undefined) {
  process.stderr.write(`story: ${obstacle}\n`)
  process.exit(2)
}
fetchKafka()
const parent = values.keep ?? mkdtempSync(join(tmpdir(), 'tidemark-story-'))
mkdirSync(parent, { recursive: true })
try {
  const kafka = await tell(new KafkaStage(join(parent, 'kafka'), timelineOf))
  const tidemark = await tell(new TidemarkStage(join(parent, 'tidemark')))
  const differing = compare(kafka, tidemark)
  const changes = names.reduce((sum, name) => sum + kafka[name].length, 0)
  process.stdout.write(`\n${changes} changes of ${names.length} partitions, ${differing} differ\n`)
  process.exitCode = differing === 0 ? 0 : 1
} finally {
  if (values.keep === undefined) rmSync(parent, { recursive: true, force: true })
}
