import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { Cluster } from '../../src/cluster.ts'
import type { ClusterOptions, CreateTopicOptions } from '../../src/cluster-options.ts'
import type { ErrorCode } from '../../src/errors.ts'
import { payloadCopies } from '../../src/log/payload-copies.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import {
  committed,
  isWhole,
  logBytes,
  openCluster,
  openWithTopic,
  produce,
  until,
} from './open-cluster.ts'

const numbered = (count: number, prefix = 'v') =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}`)

describe('a cluster', () => {
  it('takes records, replicates them byte for byte, and gives them back', async () => {
    const { cluster } = await openWithTopic()
    await produce(cluster, 100)
    expect(await committed(cluster, 1)).toEqual(numbered(100))
    await until('all replicas are in sync', () => isWhole(cluster))
    const [first, ...others] = logBytes(cluster, 1)
    expect(first.length).toBeGreaterThan(500)
    for (const bytes of others) expect(bytes.equals(first)).toBe(true)
  })

  it('describes its partitions', async () => {
    const { cluster } = await openWithTopic({ config: { 'min.insync.replicas': 2 } })
    await produce(cluster, 10)
    await until('all replicas are in sync', () => isWhole(cluster))
    const described = cluster.describe('t', 2)
    expect(described).toMatchObject({ topic: 't', partition: 2, leader: 3, logEndOffset: 10 })
    expect(described.replicas.map(({ brokerId, isRunning }) => [brokerId, isRunning])).toEqual([
      [3, true],
      [1, true],
      [2, true],
    ])
    expect([...described.inSyncReplicas].sort()).toEqual([1, 2, 3])
    expect(cluster.topics()).toEqual(['t'])
    expect(cluster.partitionsOf('t')).toHaveLength(3)
    expect(cluster.partitionsOf('u')).toBeUndefined()
  })

  it('places all leaders on broker 1 when asked, and fewer replicas than brokers', async () => {
    const { cluster } = await openWithTopic({ leaders: 'one', replicationFactor: 2 })
    const leaders = [0, 1, 2].map((partition) => cluster.describe('t', partition).leader)
    expect(leaders).toEqual([1, 1, 1])
    expect(cluster.describe('t', 0).replicas).toHaveLength(2)
  })

  it('reads from a time on', async () => {
    const { cluster } = await openWithTopic({ partitions: 1 })
    const producer = cluster.producer()
    for (const timestampMs of [1_000, 2_000, 3_000]) {
      await producer.send({ topic: 't', partition: 0, value: `at ${timestampMs}`, timestampMs })
    }
    const from = { timestampMs: 1_500 }
    const records = cluster.consume({ topic: 't', partition: 0, from, until: 3 })
    const values: string[] = []
    for await (const { value } of records) values.push(Buffer.from(value!).toString())
    expect(values).toEqual(['at 2000', 'at 3000'])
    const late = cluster.consume({ topic: 't', partition: 0, from: 4 }).next()
    await expect(late).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' })
  })

  it('works with one broker too', async () => {
    const { cluster } = await openWithTopic({ partitions: 1 }, { brokers: 1 })
    await produce(cluster, 5, { partitions: 1 })
    expect(await committed(cluster)).toEqual(numbered(5))
  })

  it('copies a payload once on its way from send to three files', async () => {
    const { cluster } = await openWithTopic({ partitions: 1 })
    const producer = cluster.producer()
    const brokersBefore = copiedByBrokers(cluster)
    const before = payloadCopies.bytes
    const payload = Buffer.alloc(1_000, 'x')
    const count = 400
    const sends = Array.from({ length: count }, () =>
      producer.send({ topic: 't', partition: 0, value: payload }),
    )
    await Promise.all(sends)
    await until('all replicas have everything', () => isWhole(cluster, 1))
    expect(payloadCopies.bytes - before + copiedByBrokers(cluster) - brokersBefore).toBe(
      count * payload.length,
    )
    await producer.close()
  })
})

describe('opened again', () => {
  it('after it was closed, it has everything and goes on', async () => {
    const directory = temporaryDirectory()
    const first = await openWithTopic({}, { directory })
    await produce(first.cluster, 50)
    const { clusterId } = first.cluster
    await first.cluster.close()
    const { cluster, events } = await openCluster({ directory })
    expect(cluster.clusterId).toBe(clusterId)
    // Another broker may lead now, whose high watermark is behind for a moment.
    await until('all replicas are in sync', () => isWhole(cluster))
    expect(await committed(cluster, 2)).toEqual(numbered(50))
    expect(events.filter(({ type }) => type === 'recovery')).toEqual([])
    await produce(cluster, 10, { prefix: 'w' })
    expect(await committed(cluster, 2)).toEqual([...numbered(50), ...numbered(10, 'w')])
    expect(cluster.describe('t', 2).leaderEpoch).toBeGreaterThan(0)
  })

  it('after all its brokers were killed, it recovers everything acknowledged', async () => {
    const directory = temporaryDirectory()
    const first = await openWithTopic({}, { directory })
    await produce(first.cluster, 50)
    await Promise.all([1, 2, 3].map((id) => first.cluster.kill(id)))
    await first.cluster.close()
    const { cluster, events } = await openCluster({ directory })
    expect(events.some(({ type }) => type === 'recovery')).toBe(true)
    await until('all replicas are in sync', () => isWhole(cluster))
    expect(await committed(cluster, 0)).toEqual(numbered(50))
    await produce(cluster, 10, { prefix: 'w' })
    await until('all replicas are in sync', () => isWhole(cluster))
    const [bytes, ...others] = logBytes(cluster, 0)
    for (const other of others) expect(other.equals(bytes)).toBe(true)
  })

  it('keeps the settings of its topics', async () => {
    const directory = temporaryDirectory()
    const config = { 'min.insync.replicas': 3, 'max.message.bytes': 2_000 }
    const first = await openWithTopic({ config }, { directory })
    await first.cluster.close()
    const { cluster } = await openCluster({ directory })
    const producer = cluster.producer()
    const large = producer.send({ topic: 't', partition: 0, value: 'x'.repeat(3_000) })
    await expect(large).rejects.toMatchObject({ code: 'RECORD_TOO_LARGE' })
    await producer.close()
  })
})

describe('refuses in one line', () => {
  it.each<[Partial<ClusterOptions>, ErrorCode, RegExp]>([
    [{ brokers: 0 }, 'INVALID_ARGUMENT', /brokers = 0: allowed are 1 to 16/],
    [{ brokers: 17 }, 'INVALID_ARGUMENT', /brokers = 17: allowed are 1 to 16/],
    [{ brokers: 1.5 }, 'INVALID_ARGUMENT', /brokers = 1\.5/],
    [{ config: { 'ring.bytes': 1_000_000 } }, 'INVALID_CONFIG', /ring\.bytes = 1000000: .*power/],
    [{ config: { 'partitions.max': 0 } }, 'INVALID_CONFIG', /partitions\.max = 0/],
    [{ config: { 'ring.byte': 1 } as object }, 'INVALID_CONFIG', /ring\.byte/],
    [
      { config: { 'isr.expand.criterion': 'leo' } as object },
      'INVALID_CONFIG',
      /isr\.expand\.criterion = "leo": .*log\.end\.offset.*high\.watermark/,
    ],
  ])('a cluster with %j', async (options, code, message) => {
    const directory = path.join(temporaryDirectory(), 'data')
    await expectRefusal(Cluster.open({ directory, ...options }), code, message)
  })

  it('topics that cannot be, and goes on', async () => {
    const { cluster } = await openWithTopic()
    const cases: [string, Partial<CreateTopicOptions>, ErrorCode, RegExp][] = [
      ['t', {}, 'TOPIC_ALREADY_EXISTS', /t/],
      ['a/b', {}, 'INVALID_TOPIC_EXCEPTION', /a\/b/],
      ['', {}, 'INVALID_TOPIC_EXCEPTION', /./],
      ['..', {}, 'INVALID_TOPIC_EXCEPTION', /\.\./],
      ['u', { partitions: 0 }, 'INVALID_PARTITIONS', /partitions = 0/],
      ['u', { partitions: 2.5 }, 'INVALID_PARTITIONS', /2\.5/],
      ['u', { partitions: 65 }, 'INVALID_PARTITIONS', /6[1-5]/],
      ['u', { replicationFactor: 4 }, 'INVALID_REPLICATION_FACTOR', /4: allowed are 1 to 3/],
      ['u', { replicationFactor: 0 }, 'INVALID_REPLICATION_FACTOR', /0: allowed are 1 to 3/],
      ['u', { config: { 'min.insync.replicas': 4 } }, 'INVALID_CONFIG', /4.*3/],
      ['u', { config: { 'segment.bytes': 5 } }, 'INVALID_CONFIG', /segment\.bytes = 5/],
      ['u', { config: { 'retention.msec': 5 } as object }, 'INVALID_CONFIG', /retention\.msec/],
      ['u', { leaders: 'two' as 'one' }, 'INVALID_ARGUMENT', /leaders.*two.*one.*spread/],
    ]
    for (const [topic, options, code, message] of cases) {
      await expectRefusal(cluster.createTopic(topic, { partitions: 1, ...options }), code, message)
    }
    await cluster.createTopic('u', { partitions: 1 })
    expect(cluster.topics().sort()).toEqual(['t', 'u'])
  })

  it('a topic whose min.insync.replicas no default replication factor can reach', async () => {
    const { cluster } = await openCluster({ brokers: 1 })
    const created = cluster.createTopic('t', {
      partitions: 1,
      config: { 'min.insync.replicas': 2 },
    })
    await expectRefusal(created, 'INVALID_CONFIG', /min\.insync\.replicas = 2: at most.*1/)
  })

  it('partitions and brokers that are not there', async () => {
    const { cluster } = await openWithTopic()
    const unknown = { code: 'UNKNOWN_TOPIC_OR_PARTITION' }
    expect(() => cluster.describe('t', 3)).toThrow(expect.objectContaining(unknown))
    expect(() => cluster.consume({ topic: 'u', partition: 0 })).toThrow(
      expect.objectContaining(unknown),
    )
    await expectRefusal(cluster.pause(4), 'INVALID_ARGUMENT', /broker 4: allowed are 1 to 3/)
    await expectRefusal(cluster.kill(0), 'INVALID_ARGUMENT', /broker 0/)
    await cluster.kill(3)
    await expectRefusal(cluster.kill(3), 'BROKER_NOT_AVAILABLE', /broker 3/)
    for (const rate of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const refusal = { code: 'INVALID_ARGUMENT', message: expect.stringContaining(`${rate}`) }
      expect(() => cluster.throttle(1, rate)).toThrow(expect.objectContaining(refusal))
      expect(() => cluster.limitCatchUp(1, rate)).toThrow(expect.objectContaining(refusal))
    }
  })

  it('a directory in which another cluster of this process lives', async () => {
    const { cluster } = await openCluster()
    await expectRefusal(
      Cluster.open({ directory: cluster.directory }),
      'DIRECTORY_IN_USE',
      new RegExp(cluster.directory),
    )
  })
})

async function expectRefusal(
  call: Promise<unknown>,
  code: ErrorCode,
  message: RegExp,
): Promise<void> {
  const error = await call.then(
    () => new Error('was not refused'),
    (reason: Error) => reason,
  )
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
  expect(error.message).not.toContain('\n')
}

function copiedByBrokers(cluster: Cluster): number {
  return cluster.brokerIds.reduce(
    (sum, id) => sum + cluster.board.counter(id, 'payloadCopyBytes'),
    0,
  )
}
