import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Cluster } from '../../src/cluster.ts'
import type { ClusterEvent } from '../../src/cluster-events.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import {
  committed,
  errorOf,
  isWhole,
  openCluster,
  openWithTopic,
  produce,
  until,
} from './open-cluster.ts'

const four = { brokers: 4 } as const

function replicasOf(cluster: Cluster, partition = 0, topic = 't'): number[] {
  return cluster.describe(topic, partition).replicas.map(({ brokerId }) => brokerId)
}

function directoriesOf(cluster: Cluster, broker: number): string[] {
  const names = fs.readdirSync(path.join(cluster.directory, `broker-${broker}`))
  return names.filter((name) => /^\w+-\d/.test(name)).sort()
}

describe('reassignments', { timeout: 90_000 }, () => {
  it('a replica moves to another broker under load, and its directory goes', async () => {
    const { cluster } = await openWithTopic({ partitions: 1, leaders: 'one' }, four)
    await produce(cluster, 200, { partitions: 1 })
    const target = [4, 2, 3]
    const outcomes = await cluster.admin.alterPartitionReassignments([
      { topic: 't', partition: 0, replicas: target },
    ])
    expect(outcomes).toEqual([{ topic: 't', partition: 0 }])
    await produce(cluster, 200, { partitions: 1, prefix: 'w' })
    await until('the move is done', () => cluster.admin.listPartitionReassignments().length === 0)
    expect(replicasOf(cluster)).toEqual(target)
    await until('the new one leads', () => cluster.describe('t', 0).leader === 4)
    await until('all have everything', () => isWhole(cluster, 1))
    await produce(cluster, 50, { partitions: 1, prefix: 'x' })
    expect(await committed(cluster)).toHaveLength(450)
    await until('its place is empty', () => {
      return directoriesOf(cluster, 1).every((name) => name.endsWith('-delete'))
    })
  })

  it('factor 2 becomes 3 and 1; one that cannot end is called off', async () => {
    const { cluster } = await openWithTopic(
      { partitions: 1, assignments: undefined, replicationFactor: 2 } as never,
      four,
    )
    await produce(cluster, 100, { partitions: 1 })
    const move = (replicas: number[] | null) =>
      cluster.admin.alterPartitionReassignments([{ topic: 't', partition: 0, replicas }])
    await move([1, 2, 3])
    await until('three', () => isWhole(cluster, 1) && replicasOf(cluster).length === 3)
    await cluster.kill(4)
    await move([4, 1, 2])
    expect(cluster.admin.listPartitionReassignments()).toEqual([
      {
        topic: 't',
        partition: 0,
        replicas: [4, 1, 2, 3],
        addingReplicas: [4],
        removingReplicas: [3],
      },
    ])
    expect((await move(null))[0]?.error).toBeUndefined()
    expect([...replicasOf(cluster)].sort()).toEqual([1, 2, 3])
    await move([2])
    await until('one', () => replicasOf(cluster).length === 1)
    await until('it leads', () => cluster.describe('t', 0).highWatermark === 100)
    expect(cluster.describe('t', 0).leader).toBe(2)
    expect(await committed(cluster)).toHaveLength(100)
  })

  it('bad ones are refused by name, each for itself', async () => {
    const { cluster } = await openWithTopic({ partitions: 1 })
    const outcomes = await cluster.admin.alterPartitionReassignments([
      { topic: 't', partition: 0, replicas: [1, 9] },
      { topic: 't', partition: 1, replicas: [1, 2] },
      { topic: 'u', partition: 0, replicas: [1, 2] },
    ])
    expect(outcomes.map(({ error }) => [error?.code, error?.retriable])).toEqual([
      ['INVALID_REPLICA_ASSIGNMENT', false],
      ['UNKNOWN_TOPIC_OR_PARTITION', true],
      ['UNKNOWN_TOPIC_OR_PARTITION', true],
    ])
    const cancelled = await cluster.admin.alterPartitionReassignments([
      { topic: 't', partition: 0, replicas: null },
    ])
    expect(cancelled[0]?.error?.code).toBe('NO_REASSIGNMENT_IN_PROGRESS')
    expect(replicasOf(cluster)).toEqual([1, 2, 3])
  })
})

describe('topics that exist', { timeout: 90_000 }, () => {
  it('get more partitions', async () => {
    const { cluster } = await openWithTopic({ partitions: 1, replicationFactor: 2 })
    await cluster.admin.createPartitions('t', 3)
    expect(replicasOf(cluster, 1)).toEqual([2, 3])
    await produce(cluster, 10)
    await until('all are in sync', () => isWhole(cluster))
    const fewer = await errorOf(cluster.admin.createPartitions('t', 2))
    expect(fewer).toBe('INVALID_PARTITIONS')
  })

  it('take a new minimum of in-sync replicas over at once', async () => {
    const { cluster } = await openWithTopic({ partitions: 1, leaders: 'one' })
    await cluster.kill(2)
    await cluster.kill(3)
    await until('the leader is alone', () => cluster.describe('t', 0).inSyncReplicas.length === 1)
    const producer = cluster.producer({ requestTimeoutMs: 500, deliveryTimeoutMs: 500 })
    const send = () => errorOf(producer.send({ topic: 't', partition: 0, value: 'x' }))
    expect(await send()).toBeUndefined()
    await cluster.admin.alterTopicConfig('t', { 'min.insync.replicas': 2 })
    await until('it counts', async () => (await send()) !== undefined)
    await cluster.admin.alterTopicConfig('t', { 'min.insync.replicas': null })
    await until('and no more', async () => (await send()) === undefined)
    const tooMany = await errorOf(cluster.admin.alterTopicConfig('t', { 'min.insync.replicas': 4 }))
    expect(tooMany).toBe('INVALID_CONFIG')
  })

  it('are deleted: files, name and producers', async () => {
    const { cluster } = await openWithTopic({
      partitions: 2,
      config: { 'file.delete.delay.ms': 0 },
    })
    await produce(cluster, 20, { partitions: 2 })
    await cluster.admin.deleteTopic('t')
    expect(cluster.topics()).toEqual([])
    for (const broker of [1, 2, 3]) {
      await until('its files are gone', () => directoriesOf(cluster, broker).length === 0)
    }
    const sent = await errorOf(cluster.producer().send({ topic: 't', partition: 0, value: 'x' }))
    expect(sent).toBe('UNKNOWN_TOPIC_OR_PARTITION')
    const again = await errorOf(cluster.admin.deleteTopic('t'))
    expect(again).toBe('UNKNOWN_TOPIC_OR_PARTITION')
    await cluster.createTopic('t', { partitions: 1 })
    await produce(cluster, 5, { partitions: 1, prefix: 'new' })
    expect(await committed(cluster)).toEqual(['new0', 'new1', 'new2', 'new3', 'new4'])
  })

  it('a broker that was away finds its replicas of a deleted topic set aside', async () => {
    const { cluster } = await openWithTopic({ partitions: 1 })
    await produce(cluster, 20, { partitions: 1 })
    await cluster.kill(3)
    await cluster.admin.deleteTopic('t')
    await cluster.createTopic('t', { partitions: 1 })
    await cluster.restart(3)
    await produce(cluster, 5, { partitions: 1, prefix: 'new' })
    await until('it follows the new topic', () => isWhole(cluster, 1))
    const stray = directoriesOf(cluster, 3).filter((name) => name.endsWith('-stray'))
    expect(stray).toHaveLength(1)
  })
})

describe('elections', { timeout: 90_000 }, () => {
  it('a broker shuts down in good order, comes back, and leads again by request', async () => {
    const { cluster, events } = await openWithTopic({ partitions: 3, leaders: 'one' })
    await produce(cluster, 50)
    expect(await cluster.stopBroker(1)).toBe(true)
    for (const partition of [0, 1, 2]) expect(cluster.describe('t', partition).leader).toBe(2)
    const kinds = events.flatMap((event) => (event.type === 'controller' ? [event.event.kind] : []))
    expect(kinds).toContain('shuttingDown')
    await produce(cluster, 50, { prefix: 'w' })
    await cluster.restart(1)
    await until('it is in sync again', () => isWhole(cluster))
    const outcomes = await cluster.admin.electLeaders('preferred')
    expect(outcomes.map(({ error }) => error)).toEqual([undefined, undefined, undefined])
    await until('it leads', () => cluster.describe('t', 2).leader === 1)
    const needless = await cluster.admin.electLeaders('preferred', [{ topic: 't', partition: 0 }])
    expect(needless[0]?.error?.code).toBe('ELECTION_NOT_NEEDED')
    expect(await committed(cluster)).toHaveLength(100)
  })

  it('the last in-sync replica gone for good: nobody leads until it is asked for', async () => {
    const { cluster, events } = await openWithTopic({ partitions: 1, leaders: 'one' })
    await produce(cluster, 20, { partitions: 1 })
    await cluster.kill(2)
    await until('2 has left', () => cluster.describe('t', 0).inSyncReplicas.length === 2)
    await cluster.kill(3)
    await until('3 has left', () => cluster.describe('t', 0).inSyncReplicas.length === 1)
    await cluster.kill(1)
    await until('nobody leads', () => cluster.describe('t', 0).leader === -1)
    await cluster.restart(2)
    const asked = { topic: 't', partition: 0 }
    const elected = async () => (await cluster.admin.electLeaders('unclean', [asked]))[0]!
    await until('somebody may lead uncleanly', async () => (await elected()).error === undefined)
    expect(cluster.describe('t', 0)).toMatchObject({ leader: 2, inSyncReplicas: [2] })
    const uncleanOf = (event: ClusterEvent) =>
      event.type === 'controller' && event.event.kind === 'elected'
        ? (event.event.detail.unclean ?? 0)
        : 0
    await until('it was counted', () => events.map(uncleanOf).includes(1))
  })
})

it('what was altered is there when the cluster is opened again', { timeout: 90_000 }, async () => {
  const directory = temporaryDirectory()
  const { cluster } = await openWithTopic({ partitions: 1 }, { directory })
  await cluster.admin.alterTopicConfig('t', { 'min.insync.replicas': 2 })
  await cluster.admin.createPartitions('t', 2)
  await cluster.createTopic('gone', { partitions: 1 })
  await cluster.admin.deleteTopic('gone')
  await cluster.close()
  const { cluster: again } = await openCluster({ directory })
  expect(again.topics()).toEqual(['t'])
  expect(again.partitionsOf('t')).toHaveLength(2)
  await produce(again, 10, { partitions: 2 })
})
