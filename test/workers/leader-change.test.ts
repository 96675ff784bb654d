import { describe, expect, it } from 'vitest'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { release, stall, untilElected } from '../support/worker-leaders.ts'
import { expectNothingLost, expectSameLogs, logValues } from '../support/worker-logs.ts'

const config = {
  'broker.session.timeout.ms': 500,
  'broker.heartbeat.interval.ms': 50,
  'replica.lag.time.max.ms': 5_000,
}

describe('a leader that falls silent', () => {
  it('is fenced when its session ends; one of the ISR leads in the next epoch', () => {
    const cluster = new WorkerCluster({ config })
    cluster.run(100)
    const { leaderEpoch } = cluster.registration()
    cluster.frozen.add(1)
    const tookMs = cluster.until('another leads', () => cluster.leader() !== 1, 5_000)
    expect(tookMs).toBeGreaterThanOrEqual(400)
    expect(tookMs).toBeLessThanOrEqual(600)
    expect(cluster.registration()).toMatchObject({ leader: 2, leaderEpoch: leaderEpoch + 1 })
    expect(cluster.isr()).toEqual([2, 3])
    cluster.run(50)
    const ticket = cluster.produce(0, 3)
    cluster.settle()
    expect(cluster.answer(ticket)).toMatchObject({ error: 'NONE', baseOffset: 0 })
    expect(cluster.logEndOffset(3)).toBe(3)
  })

  it('comes back: its tail that nobody else has is cut, and its producers were told', () => {
    const cluster = new WorkerCluster({ config })
    cluster.run(100)
    cluster.produce(0, 1)
    cluster.settle()
    // Appended by the leader alone; the followers take nothing of it before another leads.
    stall(cluster, 2, 3)
    const tail = cluster.produce(0, 4)
    cluster.step(1)
    expect(cluster.logEndOffset(1)).toBe(6)
    cluster.frozen.add(1)
    const late = cluster.produce(0, 1)
    untilElected(cluster)
    release(cluster, 2, 3)
    cluster.run(300)
    const kept = cluster.produce(0, 3)
    cluster.settle()
    expect(cluster.answer(kept)).toMatchObject({ error: 'NONE', baseOffset: 2 })
    cluster.frozen.delete(1)
    cluster.converge()
    expect(cluster.answer(tail)).toMatchObject({ error: 'NOT_LEADER_OR_FOLLOWER' })
    expect(cluster.answer(late)).toMatchObject({ error: 'NOT_LEADER_OR_FOLLOWER' })
    expect(logValues(cluster, 1)).toHaveLength(5)
    expectSameLogs(cluster)
  })

  it('whose thread ended comes back: the same by recovery, its producers by the era of its ring', () => {
    const cluster = new WorkerCluster({ config })
    cluster.run(100)
    cluster.produce(0, 1)
    cluster.settle()
    stall(cluster, 2, 3)
    const tail = cluster.produce(0, 4)
    cluster.step(1)
    cluster.kill(1)
    expect(cluster.produce(0, 1)).toBe(-1)
    untilElected(cluster)
    release(cluster, 2, 3)
    cluster.run(300)
    const kept = cluster.produce(0, 3)
    cluster.settle()
    expect(cluster.answer(kept)).toMatchObject({ error: 'NONE', baseOffset: 2 })
    expect(cluster.answer(tail)).toBeUndefined()
    cluster.start(1)
    cluster.converge()
    expect(cluster.answer(tail)).toMatchObject({ error: 'NETWORK_EXCEPTION', baseOffset: -1 })
    expectSameLogs(cluster)
  })

  it('proposes to shrink from an old epoch: refused, and nothing changes', () => {
    const cluster = new WorkerCluster({
      config: { ...config, 'replica.lag.time.max.ms': 200 },
    })
    cluster.run(100)
    cluster.cutOff.add(1)
    cluster.frozen.add(2).add(3)
    cluster.produce(0, 1)
    // Cut off and alone it sees both fall behind; its request is lost on the way.
    cluster.run(300)
    cluster.frozen.clear()
    untilElected(cluster)
    const before = cluster.registration()
    expect(before.leader).not.toBe(1)
    cluster.cutOff.clear()
    cluster.stepController()
    expect(cluster.alterRequests.at(-1)).toMatchObject({
      brokerId: 1,
      items: [{ leaderEpoch: before.leaderEpoch - 1 }],
    })
    expect(cluster.registration()).toEqual(before)
    cluster.run(20)
    const answer = cluster.alterResponses.find((each) => each.items[0]?.error !== 'NONE')
    expect(answer?.items[0]?.error).toBe('FENCED_LEADER_EPOCH')
    cluster.converge()
    expectSameLogs(cluster)
  })

  it('that hears nothing commits nothing: it cannot shrink the ISR alone', () => {
    const cluster = new WorkerCluster({
      config: { ...config, 'replica.lag.time.max.ms': 200, 'broker.session.timeout.ms': 60_000 },
    })
    cluster.run(100)
    cluster.cutOff.add(1)
    cluster.frozen.add(2).add(3)
    const ticket = cluster.produce(0, 1, 0, -1, 2_000)
    cluster.run(1_000)
    expect([cluster.isr(), cluster.highWatermark(1)]).toEqual([[1, 2, 3], 0])
    cluster.until('it is answered', () => cluster.answer(ticket) !== undefined)
    expect(cluster.answer(ticket)).toMatchObject({ error: 'REQUEST_TIMED_OUT' })
  })
})

describe('leaders that come and go under load', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])('everything converges, seed %i', (seed) => {
    const random = new SeededRandom(seed)
    const cluster = new WorkerCluster({
      assignments: [
        [1, 2, 3],
        [2, 3, 1],
        [3, 1, 2],
        [1, 3, 2],
      ],
      topic: { 'min.insync.replicas': '2', 'segment.bytes': '32768' },
      config: { ...config, 'replica.lag.time.max.ms': 300, 'catch.up.read.bytes': 4_096 },
    })
    for (let change = 0; change < 5; change++) {
      const victim = 1 + random.nextBelow(3)
      const isKilled = random.nextBelow(2) === 0
      for (let at = 0; at < 60; at++) {
        cluster.produce(random.nextBelow(4), 1 + random.nextBelow(4), random.nextBelow(1_500))
        if (at === 20 && isKilled) cluster.kill(victim)
        else if (at === 20) cluster.frozen.add(victim)
        if (random.nextBelow(3) > 0) cluster.step(1 + random.nextBelow(3))
        else cluster.run(random.nextBelow(30), 5)
        cluster.checkHighWatermarks()
      }
      if (isKilled) cluster.start(victim)
      else cluster.frozen.delete(victim)
      if (random.nextBelow(2) === 0) cluster.converge()
      else cluster.run(random.nextBelow(200))
    }
    cluster.converge()
    expectNothingLost(cluster)
    expectSameLogs(cluster)
    expect(cluster.acknowledged.some(({ error }) => error === 'NONE')).toBe(true)
  })
})
