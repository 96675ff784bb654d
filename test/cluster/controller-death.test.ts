import { describe, expect, it } from 'vitest'
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

function epochsOf(events: readonly ClusterEvent[]): (number | undefined)[] {
  return events.flatMap((event) =>
    event.type === 'controller' && event.event.kind === 'started' ? [event.event.detail.epoch] : [],
  )
}

describe('the controller’s thread dies', { timeout: 90_000 }, () => {
  it('another replays its log, in a new epoch; brokers keep theirs, producers notice nothing', async () => {
    const { cluster, events } = await openWithTopic({ partitions: 3 })
    await produce(cluster, 50)
    const before = cluster.brokerIds.map((id) => cluster.board.brokerEpoch(id))
    const leaders = [0, 1, 2].map((partition) => cluster.describe('t', partition).leader)
    await cluster.killController()
    await produce(cluster, 50, { prefix: 'w' })
    await until('another has started', () => epochsOf(events).length === 2)
    const [first, second] = epochsOf(events)
    expect(second).toBeGreaterThan(first!)
    await until('it answers', async () => {
      return (await errorOf(cluster.createTopic('u', { partitions: 1 }))) === undefined
    })
    expect(cluster.brokerIds.map((id) => cluster.board.brokerEpoch(id))).toEqual(before)
    expect([0, 1, 2].map((partition) => cluster.describe('t', partition).leader)).toEqual(leaders)
    expect(await committed(cluster)).toHaveLength(100)
    expect(events.filter(({ type }) => type === 'failed')).toEqual([])
  })

  it('again before its successor has started, or while there is none: one takes over', async () => {
    const { cluster, events } = await openWithTopic({ partitions: 3 })
    const isActive = async () => {
      return /_activecontrollercount\S* 1$/m.test(await cluster.metrics().metrics())
    }
    expect(await isActive()).toBe(true)
    await cluster.killController(60_000)
    expect(await isActive()).toBe(false)
    await cluster.killController(0)
    // Timers of one length are kept in order: after this one its thread is being started.
    await new Promise((resolve) => setTimeout(resolve, 0))
    await cluster.killController(50)
    await cluster.killController(0)
    await until('one has started', () => epochsOf(events).length === 2)
    expect(await isActive()).toBe(true)
    await produce(cluster, 20)
    await until('it answers', async () => {
      return (await errorOf(cluster.createTopic('u', { partitions: 1 }))) === undefined
    })
    expect(epochsOf(events).length).toBe(2)
    expect(events.filter(({ type }) => type === 'failed')).toEqual([])
  })

  it('in the middle of a shrink: the leader proposes again, and gets its answer', async () => {
    const { cluster } = await openWithTopic(
      { partitions: 3, leaders: 'one' },
      { config: { 'broker.session.timeout.ms': 60_000 } },
    )
    await produce(cluster, 20)
    await cluster.pause(3)
    await cluster.killController(800)
    // Longer than the limit: the proposals go to nobody.
    const acked = produce(cluster, 50, { prefix: 'w' })
    const hasLeft = () =>
      [0, 1, 2].every((partition) => cluster.describe('t', partition).inSyncReplicas.length === 2)
    await until('the paused one has left', hasLeft)
    await acked
    cluster.resume(3)
    await until('and is back', () => isWhole(cluster))
    expect(await committed(cluster)).toHaveLength(70)
  })

  it('a broker dies while there is no controller: fenced by the next', async () => {
    const { cluster } = await openWithTopic({ partitions: 3, leaders: 'one' })
    await produce(cluster, 20)
    const away = cluster.killController(300)
    await cluster.kill(1)
    await away
    await until('others lead', () => cluster.describe('t', 0).leader > 1)
    await cluster.restart(1)
    await until('all are in sync', () => isWhole(cluster))
    expect(await committed(cluster)).toHaveLength(20)
  })

  it('again and again, with snapshots between, and opened anew at the end', async () => {
    const directory = temporaryDirectory()
    const config = { 'metadata.log.max.record.bytes.between.snapshots': 2_000 }
    const { cluster, events } = await openCluster({ directory, config })
    for (let round = 1; round <= 6; round++) {
      for (let at = 0; at < 4; at++) {
        const name = `t${round}-${at}`
        await cluster.createTopic(name, { partitions: 2 })
        if (at % 2 === 0) await cluster.admin.deleteTopic(name)
      }
      await cluster.killController()
      await until('another has started', () => epochsOf(events).length === round + 1)
      await until('it answers', async () => {
        return (await errorOf(cluster.admin.electLeaders('preferred', []))) === undefined
      })
    }
    const topics = cluster.topics()
    expect(topics).toHaveLength(12)
    for (const topic of topics) await produce(cluster, 5, { topic, partitions: 2 })
    const snapshots = events.filter(
      (event) => event.type === 'controller' && event.event.kind === 'snapshot',
    )
    expect(snapshots.length).toBeGreaterThan(2)
    await cluster.close()
    const { cluster: again } = await openCluster({ directory, config })
    expect(again.topics().sort()).toEqual([...topics].sort())
    for (const topic of topics) {
      await until('it is whole', () => isWhole(again, 2, topic))
      expect(await committed(again, 1, topic)).toHaveLength(5)
    }
  })
})
