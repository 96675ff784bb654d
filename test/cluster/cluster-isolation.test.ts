import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Cluster } from '../../src/cluster.ts'
import type { CutDirection, Isolation } from '../../src/cluster-faults.ts'
import { acknowledgedCount, expectNothingLost, Load, partitions } from './load.ts'
import { isWhole, openWithTopic, produce, until } from './open-cluster.ts'

const topic = { leaders: 'one', config: { 'min.insync.replicas': 2 } } as const

function leaders(cluster: Cluster): number[] {
  return partitions.map((partition) => cluster.describe('t', partition).leader)
}

function isrSizes(cluster: Cluster): number[] {
  return partitions.map((partition) => cluster.describe('t', partition).inSyncReplicas.length)
}

function directoryId(cluster: Cluster, id: number): string {
  const file = path.join(cluster.directory, `broker-${id}`, 'meta.properties')
  return /directory\.id=(.*)/.exec(fs.readFileSync(file, 'utf8'))![1]!
}

async function underLoad(cluster: Cluster, run: (load: Load) => Promise<void>): Promise<void> {
  const load = new Load(cluster)
  await until('records flow', () => acknowledgedCount(load) > 100)
  await run(load)
  await until('everything is whole but for the load', () => isrSizes(cluster).every((n) => n === 3))
  const before = acknowledgedCount(load)
  await until('records flow again', () => acknowledgedCount(load) > before + 100)
  await load.stop()
  await expectNothingLost(cluster, load)
}

describe('a follower that is isolated', () => {
  it.each<[string, Isolation]>([
    ['from its leader, its fetches lost', { brokers: 'outgoing' }],
    ['from its leader, its data lost', { brokers: 'incoming' }],
    ['from the controller, its heartbeats lost', { controller: 'outgoing' }],
    ['from everybody', {}],
  ])('%s, leaves the ISR and comes back', async (_, isolation) => {
    const { cluster } = await openWithTopic(topic)
    await underLoad(cluster, async () => {
      cluster.faults.isolate(3, isolation)
      await until('it has left', () => isrSizes(cluster).every((size) => size === 2))
      expect(leaders(cluster)).toEqual([1, 1, 1])
      cluster.faults.heal(3)
    })
  })

  it('from the controller’s answers only, goes on as a member: its heartbeats arrive', async () => {
    const { cluster } = await openWithTopic(topic)
    await underLoad(cluster, async (load) => {
      cluster.faults.isolate(3, { controller: 'incoming' })
      const before = acknowledgedCount(load)
      await until('records flow', () => acknowledgedCount(load) > before + 1_000)
      expect(isrSizes(cluster)).toEqual([3, 3, 3])
      cluster.faults.heal(3)
    })
  })
})

describe('a leader that is isolated', () => {
  it.each<CutDirection | undefined>(['outgoing', 'both', undefined])(
    'from the controller (%s) is replaced when its session ends',
    async (controller) => {
      const { cluster } = await openWithTopic(topic)
      await underLoad(cluster, async () => {
        cluster.faults.isolate(1, controller === undefined ? {} : { controller })
        await until('others lead', () => leaders(cluster).every((leader) => leader > 1))
        expect(cluster.describe('t', 0).inSyncReplicas).toEqual([2, 3])
        cluster.faults.heal(1)
      })
    },
  )

  it('from its followers refuses acks=all when it has shrunk to itself', async () => {
    const { cluster } = await openWithTopic(topic)
    await underLoad(cluster, async () => {
      cluster.faults.isolate(1, { brokers: 'both' })
      await until('it is alone', () => isrSizes(cluster).every((size) => size === 1))
      const producer = cluster.producer({ deliveryTimeoutMs: 500 })
      const refused = producer.send({ topic: 't', partition: 0, value: 'x' })
      await expect(refused).rejects.toMatchObject({ retriable: true })
      cluster.faults.heal(1)
    })
  })
})

describe('two brokers isolated from each other', () => {
  it('stay so until both are healed', async () => {
    const { cluster } = await openWithTopic(topic)
    await underLoad(cluster, async () => {
      cluster.faults.isolate(2, { brokers: 'both' })
      cluster.faults.isolate(3, { brokers: 'both' })
      await until('the leader is alone', () => isrSizes(cluster).every((size) => size === 1))
      cluster.faults.heal(2)
      await until('2 is back', () => isrSizes(cluster).every((size) => size === 2))
      expect(cluster.describe('t', 0).inSyncReplicas).toEqual([1, 2])
      cluster.faults.heal(3)
    })
  })
})

describe('a broker that loses its disk', () => {
  it.each([3, 1])('broker %i comes back empty under a new directory id', async (victim) => {
    const { cluster, events } = await openWithTopic(topic)
    const before = directoryId(cluster, victim)
    await underLoad(cluster, async () => {
      await cluster.faults.wipe(victim)
      const files = fs.readdirSync(path.join(cluster.directory, `broker-${victim}`)).sort()
      expect(files).toEqual(['.lock', 'meta.properties'])
      expect(directoryId(cluster, victim)).not.toBe(before)
      if (victim === 1) await until('others lead', () => leaders(cluster).every((id) => id > 1))
      await cluster.restart(victim)
    })
    expect(events.filter(({ type }) => type === 'failed' || type === 'partitionFailed')).toEqual([])
  })
})

describe('a member that has lost its disk', () => {
  it('breaks no invariant of the living while the controller has not heard of it', async () => {
    const { cluster, events } = await openWithTopic(topic, {
      checkInvariants: true,
      config: { 'replica.lag.time.max.ms': 60_000, 'broker.session.timeout.ms': 60_000 },
    })
    await produce(cluster, 10)
    await cluster.faults.wipe(3)
    // Ten looks of the watch.
    const endMs = performance.now() + 1_000
    await until('it has looked', () => performance.now() > endMs)
    expect(isrSizes(cluster)).toEqual([3, 3, 3])
    expect(events.filter(({ type }) => type === 'invariantViolated')).toEqual([])
    await cluster.restart(3)
    await until('it is whole', () => isWhole(cluster))
    expect(events.filter(({ type }) => type === 'invariantViolated')).toEqual([])
  })
})

describe('a slow disk', () => {
  it('puts a follower out of the ISR, and lets it back when it is as fast as before', async () => {
    const { cluster } = await openWithTopic(topic, {
      config: { 'broker.session.timeout.ms': 60_000 },
    })
    await underLoad(cluster, async () => {
      // Longer than replica.lag.time.max.ms: each write puts it out.
      cluster.faults.slowDisk(3, { writeDelayMs: 1_000 })
      await until('it has left', () => isrSizes(cluster).some((size) => size === 2))
      cluster.faults.slowDisk(3, {})
    })
  })
})

describe('a clock that jumps', () => {
  it.each([1, 3])('on broker %i by an hour, either way, moves nobody', async (id) => {
    const { cluster, events } = await openWithTopic(topic)
    await underLoad(cluster, async (load) => {
      const seen = events.length
      for (const offsetMs of [3_600_000, -3_600_000, 0]) {
        cluster.faults.shiftClock(id, offsetMs)
        const before = acknowledgedCount(load)
        await until('records flow', () => acknowledgedCount(load) > before + 500)
      }
      const changes = events.slice(seen).filter(({ type }) => type !== 'catchUpReads')
      expect(changes).toEqual([])
    })
  })
})

describe('a disk that fails', () => {
  it('stops a leader by itself; others lead, and it comes back when it is mended', async () => {
    const { cluster, events } = await openWithTopic({
      leaders: 'one',
      config: { 'min.insync.replicas': 2, 'segment.bytes': 16_384 },
    })
    await produce(cluster, 10)
    // The next segment cannot be made.
    const directory = path.join(cluster.directory, 'broker-1', 't-0')
    fs.rmSync(directory, { recursive: true })
    await underLoad(cluster, async () => {
      await until('others lead', () => leaders(cluster).every((id) => id > 1))
      const failed = events.find((event) => event.type === 'failed')
      expect(failed).toMatchObject({ brokerId: 1, cause: 'disk' })
      expect(failed!.error).toMatchObject({ code: 'KAFKA_STORAGE_ERROR' })
      expect(failed!.error.message).toContain('t-0')
      await cluster.restart(1)
    })
    expect(isWhole(cluster)).toBe(true)
  })
})

describe('a fault that makes no sense', () => {
  it('is refused with one line, and nothing changes', async () => {
    const { cluster } = await openWithTopic()
    const { faults } = cluster
    for (const [call, message] of [
      [() => faults.isolate(9), 'broker 9'],
      [() => faults.isolate(1, { brokers: 'sideways' as CutDirection }), 'sideways'],
      [() => faults.slowDisk(1, { writeDelayMs: -1 }), '-1'],
      [() => faults.slowDisk(1, { writeDelayMs: Number.NaN }), 'NaN'],
      [() => faults.slowDisk(1, { bytesPerSec: 0.5 }), '0.5'],
      [() => faults.shiftClock(1, 1e12), '1000000000000'],
    ] as const) {
      const refused = { code: 'INVALID_ARGUMENT', message: expect.stringContaining(message) }
      expect(call).toThrow(expect.objectContaining(refused))
    }
    await expect(faults.wipe(0)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await produce(cluster, 3)
  })
})
