import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Cluster } from '../../src/cluster.ts'
import { isWhole, openWithTopic, until } from './open-cluster.ts'

const keys = 20

/** Every key again and again, so that all but the last values are superfluous. */
async function produceKeyed(cluster: Cluster, from: number, count: number): Promise<void> {
  const producer = cluster.producer({ lingerMs: 0 })
  for (let at = from; at < from + count; at += 1) {
    const value = `${at}`.padStart(200, '.')
    await producer.send({ topic: 't', partition: 0, key: `k${at % keys}`, value })
  }
  await producer.close()
}

/** Latest value of each key that a consumer sees, and how many records it was given. */
async function latest(cluster: Cluster): Promise<{ seen: number; values: Map<string, string> }> {
  const values = new Map<string, string>()
  let seen = 0
  let before = -1
  const { highWatermark } = cluster.describe('t', 0)
  for await (const record of cluster.consume({ topic: 't', partition: 0, until: highWatermark })) {
    expect(record.offset).toBeGreaterThan(before)
    before = record.offset
    seen += 1
    values.set(`${Buffer.from(record.key!)}`, `${Buffer.from(record.value!)}`.replaceAll('.', ''))
  }
  return { seen, values }
}

/** Bytes of each replica's log; infinite while a segment goes from under the look at it. */
function sizes(cluster: Cluster): number[] {
  return cluster.brokerIds.map((id) => {
    const directory = path.join(cluster.brokerDirectory(id), 't-0')
    const names = fs.readdirSync(directory).filter((name) => name.endsWith('.log'))
    const bytes = names.map((name) => {
      const file = path.join(directory, name)
      return fs.statSync(file, { throwIfNoEntry: false })?.size ?? Number.POSITIVE_INFINITY
    })
    return bytes.reduce((sum, each) => sum + each, 0)
  })
}

describe('a compacted topic', { timeout: 120_000 }, () => {
  it('shrinks on every replica, keeps the latest of each key, and is caught up on', async () => {
    const { cluster } = await openWithTopic(
      {
        partitions: 1,
        config: { 'cleanup.policy': 'compact', 'segment.bytes': 16_384, 'file.delete.delay.ms': 1 },
      },
      { config: { 'log.cleaner.backoff.ms': 20, 'ring.detach.stuck.ms': 50 } },
    )
    await produceKeyed(cluster, 0, 300)
    const written = 300 * 200
    await until('every replica has shrunk', () => {
      return sizes(cluster).every((bytes) => bytes < written / 2)
    })
    const first = await latest(cluster)
    expect(first.seen).toBeLessThan(300)
    for (let key = 0; key < keys; key += 1) expect(first.values.get(`k${key}`)).toBe(`${280 + key}`)
    // One that comes back from before all that reads what the leader's files have left.
    await cluster.kill(3)
    await produceKeyed(cluster, 300, 300)
    await until('the leader has shrunk', () => {
      return sizes(cluster)[cluster.describe('t', 0).leader - 1]! < written / 2
    })
    await cluster.restart(3)
    await until('all are in sync', () => isWhole(cluster, 1), 60_000)
    const again = await latest(cluster)
    for (let key = 0; key < keys; key += 1) expect(again.values.get(`k${key}`)).toBe(`${580 + key}`)
    const { leader } = cluster.describe('t', 0)
    const directory = cluster.brokerDirectory(leader as never)
    await until('it is written down how far', () => {
      return fs.existsSync(path.join(directory, 'cleaner-offset-checkpoint'))
    })
    await expect(
      cluster.producer().send({ topic: 't', partition: 0, value: 'without a key' }),
    ).rejects.toMatchObject({ code: 'INVALID_RECORD' })
  })
})
