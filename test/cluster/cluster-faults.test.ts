import { describe, expect, it } from 'vitest'
import { outcomeOf } from '../client/leader-stub.ts'
import { acknowledgedCount, expectNothingLost, Load, partitions } from './load.ts'
import { committed, isWhole, openCluster, openWithTopic, until } from './open-cluster.ts'

const limitMs = 400
describe('a follower that is frozen', () => {
  it('leaves between 1.0 and 1.5 times the limit, holds nobody up, and comes back', async () => {
    const { cluster, events } = await openWithTopic(
      {
        leaders: 'one',
        config: { 'min.insync.replicas': 2 },
      },
      { config: { 'broker.session.timeout.ms': 60_000 } },
    )
    const load = new Load(cluster)
    await until('records flow', () => acknowledgedCount(load) > 100)
    await cluster.pause(3)
    const frozenMs = performance.timeOrigin + performance.now()
    const hasLeft = (partition: number) =>
      !cluster.describe('t', partition).inSyncReplicas.includes(cluster.brokerIds[2])
    await until('it has left all partitions', () => partitions.every(hasLeft))
    const shrinksOf = () =>
      events.flatMap((event) =>
        event.type === 'replication' && event.event.type === 'shrinkCommitted' ? [event.event] : [],
      )
    // The controller's word comes first, the leader's own account of it a moment later.
    await until('the leader has told it', () => shrinksOf().length >= 3)
    const shrinks = shrinksOf()
    expect(shrinks).toHaveLength(3)
    for (const { atMs, inSyncReplicas } of shrinks) {
      expect([...inSyncReplicas].sort()).toEqual([1, 2])
      // Its last poll was a moment before; the check comes every half limit. The rest is a busy
      // machine's.
      expect(atMs - frozenMs).toBeGreaterThan(0.75 * limitMs)
      expect(atMs - frozenMs).toBeLessThan(1.5 * limitMs + 400)
    }
    const before = acknowledgedCount(load)
    await until('producers go on without it', () => acknowledgedCount(load) > before + 100)
    cluster.resume(3)
    await until('it is back', () => partitions.every((partition) => !hasLeft(partition)))
    await load.stop()
    expect(load.failed).toBe(0)
    await expectNothingLost(cluster, load)
  })

  it('and another with it: below min.insync.replicas nothing is acknowledged', async () => {
    const { cluster } = await openWithTopic(
      { leaders: 'one', partitions: 1, config: { 'min.insync.replicas': 2 } },
      { config: { 'broker.session.timeout.ms': 60_000 } },
    )
    await Promise.all([cluster.pause(2), cluster.pause(3)])
    // With nothing to fetch a replica does not lag, however long it sleeps.
    await cluster.producer({ acks: 1 }).send({ topic: 't', partition: 0, value: 'first' })
    await until('the leader is alone', () => {
      return cluster.describe('t', 0).inSyncReplicas.length === 1
    })
    const producer = cluster.producer({ deliveryTimeoutMs: 200 })
    const late = producer.send({ topic: 't', partition: 0, value: 'refused' })
    await expect(late).rejects.toMatchObject({
      code: expect.stringMatching(/NOT_ENOUGH_REPLICAS|REQUEST_TIMED_OUT/),
    })
    const patient = cluster.producer()
    const answer = patient.send({ topic: 't', partition: 0, value: 'waits' })
    cluster.resume(2)
    expect(await answer).toMatchObject({ offset: 1 })
    expect(await committed(cluster)).toEqual(['first', 'waits'])
  })

  it('does not hold up the making of a topic, nor closing', async () => {
    const { cluster } = await openWithTopic(
      { leaders: 'one' },
      { config: { 'broker.session.timeout.ms': 60_000 } },
    )
    await cluster.pause(3)
    const created = outcomeOf(cluster.createTopic('u', { partitions: 1, leaders: 'one' }))
    await until('the topic is there', () => 'value' in created, 5_000)
    expect(created.value).toBeUndefined()
    await cluster.close()
  })
})

describe('a follower that is killed under load', () => {
  it('recovers, catches up, and nothing acknowledged is lost', async () => {
    const { cluster } = await openWithTopic({ leaders: 'one' })
    const load = new Load(cluster)
    for (let round = 0; round < 3; round++) {
      const before = acknowledgedCount(load)
      await until('records flow', () => acknowledgedCount(load) > before + 100)
      await cluster.kill(3)
      const killed = acknowledgedCount(load)
      await until('producers go on without it', () => acknowledgedCount(load) > killed + 100)
      await cluster.restart(3)
      await until('it is back', () =>
        partitions.every((partition) => {
          return cluster.describe('t', partition).inSyncReplicas.length === 3
        }),
      )
    }
    await load.stop()
    await expectNothingLost(cluster, load)
  })
})

describe('a leader that is killed under load', () => {
  it('is replaced, its producers go on, and it comes back as a follower', async () => {
    const { cluster } = await openWithTopic({ config: { 'min.insync.replicas': 2 } })
    const load = new Load(cluster)
    await until('records flow', () => acknowledgedCount(load) > 100)
    expect(cluster.describe('t', 1)).toMatchObject({ leader: 2, leaderEpoch: 0 })
    await cluster.kill(2)
    await until('another leads', () => ![-1, 2].includes(cluster.describe('t', 1).leader))
    const before = load.acknowledged[1].size
    await until('its partition takes records', () => load.acknowledged[1].size > before + 50)
    await cluster.restart(2)
    await until('it is in sync again', () => {
      return cluster.describe('t', 1).inSyncReplicas.length === 3
    })
    await load.stop()
    expect(cluster.describe('t', 1).leaderEpoch).toBeGreaterThan(0)
    await expectNothingLost(cluster, load)
  })

  it('is gone for good with the only replica: sends fail in time, and it comes back', async () => {
    const { cluster } = await openWithTopic({ partitions: 1, replicationFactor: 1 })
    await cluster.kill(1)
    const producer = cluster.producer({ deliveryTimeoutMs: 300 })
    const lost = producer.send({ topic: 't', partition: 0, value: 'x' })
    await expect(lost).rejects.toMatchObject({ code: 'REQUEST_TIMED_OUT' })
    await cluster.restart(1)
    const patient = cluster.producer()
    expect(await patient.send({ topic: 't', partition: 0, value: 'y' })).toMatchObject({
      offset: 0,
    })
  })
})

describe('what a dead leader had not answered', () => {
  it('fails at its death and not when it comes back', async () => {
    const { cluster } = await openWithTopic({
      leaders: 'one',
      config: { 'min.insync.replicas': 3 },
    })
    const producer = cluster.producer({ idempotent: false })
    // With a follower frozen nothing is acknowledged: the record stays unanswered at leader 1.
    await cluster.pause(3)
    const sent = producer.send({ topic: 't', partition: 0, value: 'unanswered' })
    const outcome = sent.catch((error: unknown) => error)
    await until('the leader has it', () => cluster.describe('t', 0).logEndOffset === 1)
    await cluster.kill(1)
    expect(await outcome).toMatchObject({ code: 'NETWORK_EXCEPTION' })
    cluster.resume(3)
  })
})

describe('a follower that is throttled', () => {
  it('falls behind, and catches up when the throttle is lifted', async () => {
    const { cluster } = await openWithTopic({ leaders: 'one', partitions: 1 })
    cluster.throttle(3, 10_000)
    const producer = cluster.producer({ acks: 1 })
    const lag = () =>
      cluster.describe('t', 0).replicas.find(({ brokerId }) => brokerId === 3)!.lagRecords
    const value = 'x'.repeat(1_000)
    const hasLeft = () => cluster.describe('t', 0).inSyncReplicas.length === 2
    for (let round = 0; !hasLeft(); round++) {
      expect(round).toBeLessThan(3_000)
      await Promise.all(
        Array.from({ length: 20 }, () => producer.send({ topic: 't', partition: 0, value })),
      )
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(lag()).toBeGreaterThan(0)
    cluster.throttle(3, 0)
    await until('it is back', () => isWhole(cluster, 1))
    expect(lag()).toBe(0)
  })
})

describe('closing', () => {
  it.each(['paused', 'killed'] as const)('is possible while a broker is %s', async (state) => {
    const { cluster } = await openWithTopic()
    if (state === 'paused') await cluster.pause(2)
    else await cluster.kill(2)
    await cluster.close()
  })

  it('during a restart waits for it, and leaves nothing running', async () => {
    const { cluster } = await openWithTopic()
    await cluster.kill(3)
    const restarted = outcomeOf(cluster.restart(3))
    await cluster.close()
    await until('the restart ended too', () => 'value' in restarted)
    const { cluster: again } = await openCluster({ directory: cluster.directory })
    expect(again.topics()).toEqual(['t'])
  })

  it('ends every call: those that wait, and those that come later', async () => {
    const { cluster } = await openWithTopic()
    const producer = cluster.producer()
    const records = cluster.consume({ topic: 't', partition: 0 })
    const waiting = outcomeOf(records.next())
    await cluster.close()
    await until('the consumer ended', () => waiting.value !== undefined)
    const closed = { code: 'BROKER_CLOSED' }
    expect(waiting.value).toBe('BROKER_CLOSED')
    await expect(producer.send({ topic: 't', value: 'x' })).rejects.toMatchObject(closed)
    await expect(cluster.createTopic('u', { partitions: 1 })).rejects.toMatchObject(closed)
    for (const call of [cluster.pause, cluster.kill, cluster.restart]) {
      await expect(call.call(cluster, 1)).rejects.toMatchObject(closed)
    }
    for (const call of [
      () => cluster.producer(),
      () => cluster.resume(1),
      () => cluster.throttle(1, 5),
      () => cluster.consume({ topic: 't', partition: 0 }),
    ]) {
      expect(call).toThrow(expect.objectContaining(closed))
    }
    await cluster.close()
  })
})
