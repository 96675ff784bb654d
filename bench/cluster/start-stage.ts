/**
 * A process that opens a cluster that was closed properly, and sends one record: once in a process
 * that has just begun, then again and again in one that is warm.
 *   node start-stage.js DIRECTORY PARTITIONS ROUNDS
 * Says `first` when the first record is acknowledged, then the warm rounds' times as JSON. Without
 * the topic it makes it and ends.
 */
import { Cluster } from '../../src/index.ts'
import { expectEqual } from '../bench.ts'

const topic = 'start'

async function firstRecord(directory: string, partitions: number): Promise<number> {
  const startedMs = performance.now()
  const cluster = await Cluster.open({ directory, brokers: 3 })
  const producer = cluster.producer({ acks: 'all' })
  await producer.send({ topic, partition: 0, value: 'first' })
  const tookMs = performance.now() - startedMs
  expectEqual('partitions', cluster.partitionsOf(topic)?.length, partitions)
  if (isFirst) process.stdout.write('first\n')
  isFirst = false
  await producer.close()
  await cluster.close()
  return tookMs
}

async function make(directory: string, partitions: number): Promise<void> {
  const cluster = await Cluster.open({ directory, brokers: 3 })
  await cluster.createTopic(topic, { partitions })
  await cluster.close()
}

let isFirst = true
const [directory, partitions, rounds] = process.argv.slice(2)
if (rounds === undefined) await make(directory!, Number(partitions))
else {
  const coldMs = await firstRecord(directory!, Number(partitions))
  const warmMs: number[] = []
  while (warmMs.length < Number(rounds)) {
    warmMs.push(await firstRecord(directory!, Number(partitions)))
  }
  process.stdout.write(`${JSON.stringify({ coldMs, warmMs })}\n`)
}
