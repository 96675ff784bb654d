/** Small clusters that live as long as a test, and what tests want to know of them. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { Cluster } from '../../src/cluster.ts'
import type { ClusterEvent } from '../../src/cluster-events.ts'
import type { ClusterOptions, CreateTopicOptions } from '../../src/cluster-options.ts'
import { isTidemarkError } from '../../src/errors.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

export interface TestCluster {
  readonly cluster: Cluster
  readonly events: ClusterEvent[]
}

/** Three brokers, small rings, quick elections; closed when the test ends. */
export async function openCluster(options: Partial<ClusterOptions> = {}): Promise<TestCluster> {
  const events: ClusterEvent[] = []
  const directory = options.directory ?? temporaryDirectory()
  const cluster = await Cluster.open({
    checkInvariants: true,
    ...options,
    directory,
    config: {
      'ring.bytes': 1024 * 1024,
      'partitions.max': 64,
      'replica.lag.time.max.ms': 400,
      'broker.session.timeout.ms': 600,
      'broker.heartbeat.interval.ms': 50,
      ...options.config,
    },
    onEvent: (event) => events.push(event),
  })
  onTestFinished(async () => {
    await cluster.close()
    expect(events.filter(({ type }) => type === 'invariantViolated')).toEqual([])
  })
  return { cluster, events }
}

export async function openWithTopic(
  topic: Partial<CreateTopicOptions> = {},
  options: Partial<ClusterOptions> = {},
): Promise<TestCluster> {
  const opened = await openCluster(options)
  await opened.cluster.createTopic('t', { partitions: 3, ...topic })
  return opened
}

export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limitMs = 15_000,
) {
  const endMs = performance.now() + limitMs
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`within ${limitMs} ms not seen: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** Code of the error that it ends with; undefined: it succeeds. */
export async function errorOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise
    return undefined
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    return error.code
  }
}

/** Sends `count` numbered values to each partition and waits for the answers. */
export async function produce(
  cluster: Cluster,
  count: number,
  options: { topic?: string; partitions?: number; prefix?: string } = {},
): Promise<void> {
  const { topic = 't', partitions = 3, prefix = 'v' } = options
  const producer = cluster.producer()
  const answers: Promise<unknown>[] = []
  for (let at = 0; at < count; at++) {
    for (let partition = 0; partition < partitions; partition++) {
      answers.push(producer.send({ topic, partition, value: `${prefix}${at}` }))
    }
  }
  await Promise.all(answers)
  await producer.close()
}

/** Values of what is committed in a partition, in order. */
export async function committed(cluster: Cluster, partition = 0, topic = 't'): Promise<string[]> {
  const values: string[] = []
  const { highWatermark } = cluster.describe(topic, partition)
  for await (const { value } of cluster.consume({ topic, partition, until: highWatermark })) {
    values.push(Buffer.from(value!).toString())
  }
  return values
}

/** Segment bytes of a partition on each of its replicas. */
export function logBytes(cluster: Cluster, partition = 0, topic = 't'): Buffer[] {
  return cluster.describe(topic, partition).replicas.map(({ brokerId }) => {
    const directory = path.join(cluster.brokerDirectory(brokerId), `${topic}-${partition}`)
    const names = fs.readdirSync(directory).filter((name) => name.endsWith('.log'))
    return Buffer.concat(names.sort().map((name) => fs.readFileSync(path.join(directory, name))))
  })
}

/** Every replica of every partition is in sync and has all that its leader has. */
export function isWhole(cluster: Cluster, partitions = 3, topic = 't'): boolean {
  return Array.from({ length: partitions }, (_, partition) => cluster.describe(topic, partition))
    .map(({ replicas, logEndOffset, highWatermark, leader }) => {
      const areInSync = replicas.every(({ isInSync, lagRecords }) => isInSync && lagRecords === 0)
      return leader > 0 && areInSync && highWatermark === logEndOffset
    })
    .every(Boolean)
}
