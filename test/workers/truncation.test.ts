/**
 * Numbers are those of the conformance list; the cases come from Apache Kafka's tests of its
 * fetchers (`AbstractFetcherThreadTest`, `ReplicaFetcherThreadTest`, `ReplicaManagerTest`).
 */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { cut, FaultWords } from '../../src/workers/fault-words.ts'
import { diverged } from '../faults/crafted-logs.ts'
import { topicName } from '../support/worker-brokers.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { release, stall, untilElected } from '../support/worker-leaders.ts'
import { expectSameLogs, logValues } from '../support/worker-logs.ts'

const p0 = partitionIndex(0)
const config = { 'broker.session.timeout.ms': 500, 'broker.heartbeat.interval.ms': 50 }

describe('a follower', () => {
  it('49. BecomeFollowerWhenLeaderIsUnchangedButMissedLeaderUpdate: cuts where they part', () => {
    const cluster = new WorkerCluster({ config: { ...config, 'replica.lag.time.max.ms': 5_000 } })
    cluster.run(100)
    stall(cluster, 3)
    cluster.produce(0, 4)
    cluster.step(1)
    cluster.step(2)
    expect(cluster.logEndOffset(2)).toBe(5)
    const before = cluster.registration().leaderEpoch
    // 2 hears of nothing while 3 leads and 1 leads again.
    cluster.cutOff.add(2)
    cluster.frozen.add(1).add(2)
    untilElected(cluster)
    release(cluster, 3)
    cluster.frozen.delete(1)
    cluster.until('1 is in sync', () => cluster.isr().includes(1), 20_000)
    cluster.frozen.add(3)
    cluster.until('1 leads again', () => cluster.leader() === 1, 5_000)
    expect(cluster.registration().leaderEpoch).toBeGreaterThan(before + 1)
    cluster.cutOff.delete(2)
    cluster.frozen.clear()
    cluster.converge()
    expectSameLogs(cluster)
    expect(cluster.logEndOffset(2)).toBeLessThan(5)
  })

  it('forgets an epoch that it led with an empty log: the next leader may hold older ones', () => {
    const cluster = new WorkerCluster({ config, assignments: [[1, 3, 2]] })
    const faults = new FaultWords(cluster.board)
    cluster.run(100)
    faults.setFetchCut(brokerId(1), brokerId(3), cut.both)
    faults.setFetchCut(brokerId(3), brokerId(2), cut.both)
    cluster.produce(0, 4)
    cluster.run(20)
    expect([2, 3].map((broker) => cluster.logEndOffset(broker))).toEqual([4, 0])
    cluster.kill(1)
    cluster.until('3 leads', () => cluster.board.ledEpoch(brokerId(3), p0) === 1, 5_000)
    cluster.frozen.add(3)
    cluster.until('2 leads', () => cluster.board.ledEpoch(brokerId(2), p0) === 2, 5_000)
    expect([2, 3].map((broker) => cluster.logEndOffset(broker))).toEqual([4, 0])
    cluster.frozen.delete(3)
    cluster.start(1)
    faults.setFetchCut(brokerId(3), brokerId(2), cut.nothing)
    faults.setFetchCut(brokerId(1), brokerId(3), cut.nothing)
    cluster.converge()
    expect(cluster.failures()).toEqual([])
    expectSameLogs(cluster)
    expect(cluster.logEndOffset(3)).toBe(4)
  })

  it('50. FetcherAreNotRestartedIfLeaderEpochIsNotBumped', () => {
    const cluster = new WorkerCluster({ config: { 'replica.lag.time.max.ms': 200 } })
    cluster.run(100)
    const followed = () => cluster.board.followedEpoch(brokerId(2), p0)
    const { partitionEpoch, leaderEpoch } = cluster.registration()
    cluster.frozen.add(3)
    while (cluster.isr().includes(3)) {
      cluster.produce(0, 1)
      cluster.run(5)
      // Reconciling with the leader would take it back for a moment.
      expect(followed()).toBe(leaderEpoch)
    }
    cluster.frozen.delete(3)
    for (let round = 0; !cluster.isr().includes(3) || round < 50; round++) {
      cluster.run(5)
      expect(followed()).toBe(leaderEpoch)
    }
    expect(cluster.registration()).toMatchObject({
      leaderEpoch,
      partitionEpoch: partitionEpoch + 2,
    })
    cluster.kill(1)
    cluster.until('another leads', () => cluster.leader() > 1)
    cluster.run(50)
    const follower = cluster.leader() === 2 ? 3 : 2
    expect(cluster.board.followedEpoch(brokerId(follower), p0)).toBe(leaderEpoch + 1)
  })

  it('56. DivergingEpochs: truncates in rounds, and ends equal', () => {
    const cluster = diverged({
      leader: [
        [0, 2],
        [1, 1],
        [3, 1],
        [5, 2],
      ],
      follower: [
        [0, 2],
        [1, 1],
        [2, 2],
        [4, 3],
      ],
    })
    cluster.converge()
    expectSameLogs(cluster)
    const epochs = logValues(cluster, 2).map((value) => /epoch (\d)/.exec(value)?.[1])
    expect(epochs).toEqual(['0', '0', '1', '3', '5', '5'])
  })

  it('57. TruncateOnFetchDoesNotProcessPartitionData: first it cuts, then it takes', () => {
    const cluster = diverged({
      leader: [
        [0, 3],
        [2, 2],
      ],
      follower: [
        [0, 3],
        [1, 3],
      ],
    })
    const seen: string[] = []
    for (let round = 0; round < 400 && seen.at(-1) !== '5,5'; round++) {
      if (round % 4 === 3) cluster.run(5)
      else cluster.step(2)
      const state = [cluster.board.logEndOffset(brokerId(2), p0), cluster.highWatermark(2)].join()
      if (seen.at(-1) !== state) seen.push(state)
    }
    expect(seen.at(-1)).toBe('5,5')
    // Never a high watermark above what both have while its own tail is there, or more than it has.
    for (const [end, highWatermark] of seen.map((state) => state.split(',').map(Number))) {
      expect(highWatermark).toBeLessThanOrEqual(end === 6 ? 3 : Math.max(0, end!))
    }
    expectSameLogs(cluster)
  })
})

it('reads nothing of the files that a dead leader has left: a loss of power took some of them', () => {
  const cluster = new WorkerCluster({
    brokers: 2,
    config: { 'broker.session.timeout.ms': 60_000, 'replica.lag.time.max.ms': 60_000 },
  })
  cluster.run(100)
  cluster.frozen.add(2)
  for (let batch = 0; batch < 6; batch++) cluster.produce(0, 1, 100, 1)
  cluster.run(500)
  const file = path.join(cluster.directory(1), `${topicName}-0`, `${'0'.repeat(20)}.log`)
  cluster.kill(1)
  const whole = fs.readFileSync(file)
  const batchBytes = whole.length / 6
  // The third of six is gone, those behind it are there.
  fs.writeFileSync(
    file,
    Buffer.concat([whole.subarray(0, 2 * batchBytes), whole.subarray(3 * batchBytes)]),
  )
  cluster.frozen.delete(2)
  cluster.run(500)
  expect(cluster.board.logEndOffset(brokerId(2), p0)).toBe(0)
  fs.writeFileSync(file, whole)
  cluster.start(1)
  cluster.converge()
  expectSameLogs(cluster)
})
