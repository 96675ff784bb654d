import { describe, expect, it } from 'vitest'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { work } from '../support/worker-load.ts'
import { expectNothingLost, expectSameLogs } from '../support/worker-logs.ts'

const seeds = Array.from({ length: 20 }, (_, index) => 1_000 + index)

function newCluster(): WorkerCluster {
  return new WorkerCluster({
    assignments: [
      [1, 2, 3],
      [1, 3, 2],
      [2, 3, 1],
    ],
    topic: { 'min.insync.replicas': '2', 'segment.bytes': '32768' },
    config: { 'catch.up.read.bytes': 4_096, 'replica.lag.time.max.ms': 500 },
  })
}

describe('a follower whose thread ends', () => {
  it.each(seeds)('between two steps, recovers and rejoins with identical logs, seed %i', (seed) => {
    const random = new SeededRandom(seed)
    const cluster = newCluster()
    for (let life = 0; life < 3; life++) {
      work(cluster, random, 20 + random.nextBelow(60))
      cluster.kill(3)
      work(cluster, random, random.nextBelow(60))
      if (random.nextBelow(2) === 0) cluster.run(random.nextBelow(1_500), 10)
      cluster.start(3)
    }
    work(cluster, random, 40)
    cluster.converge()
    expectSameLogs(cluster)
  })

  it.each(seeds)('in the middle of a write, recovers and rejoins, seed %i', (seed) => {
    const random = new SeededRandom(seed)
    const cluster = newCluster()
    for (let life = 0; life < 4; life++) {
      work(cluster, random, 20 + random.nextBelow(30))
      const share = random.nextBelow(11) / 10
      cluster.disk(3).endAtWrite(1 + random.nextBelow(12), share)
      for (let round = 0; round < 50 && cluster.isAlive(3); round++) work(cluster, random, 10)
      expect(cluster.isAlive(3)).toBe(false)
      work(cluster, random, random.nextBelow(30))
      cluster.start(3)
    }
    cluster.converge()
    expectSameLogs(cluster)
  })

  it('in a write of a ring round, whatever of it reached the file', () => {
    for (const share of [0, 0.001, 0.3, 0.5, 0.99, 1]) {
      const cluster = new WorkerCluster()
      cluster.run(20)
      // So that the epoch is in its file, and the next write that of batches.
      cluster.produce(0, 1)
      cluster.settle()
      for (let batch = 0; batch < 5; batch++) cluster.produce(0, 2, 500)
      cluster.step(1)
      cluster.disk(3).endAtWrite(1, share)
      cluster.step(3)
      expect(cluster.isAlive(3)).toBe(false)
      // Its report never came: nothing is committed by it.
      cluster.round()
      expect([share, cluster.highWatermark(1)]).toEqual([share, 1])
      cluster.produce(0, 2, 500)
      const wasTorn = share > 0 && share < 1
      expect([share, cluster.start(3) > 0]).toEqual([share, wasTorn])
      cluster.converge()
      expectSameLogs(cluster)
    }
  })

  it('rejoins the ISR of partitions in which nothing happens', () => {
    const cluster = newCluster()
    for (let partition = 0; partition < 3; partition++) cluster.produce(partition, 3)
    cluster.settle()
    cluster.kill(3)
    cluster.run(50)
    cluster.start(3)
    expect(cluster.converge()).toBeLessThan(500)
    cluster.run(2_000)
    expect([0, 1, 2].map((partition) => cluster.isr(partition))).toEqual(Array(3).fill([1, 2, 3]))
    expectSameLogs(cluster)
  })

  it('rejoins the ISR of more partitions than change hands in one step', () => {
    const cluster = new WorkerCluster({
      assignments: Array.from({ length: 150 }, () => [1, 2, 3]),
      partitionsMax: 150,
    })
    for (let partition = 0; partition < 150; partition += 2) cluster.produce(partition, 1)
    cluster.settle()
    cluster.kill(3)
    cluster.run(50)
    for (let partition = 0; partition < 150; partition += 3) cluster.produce(partition, 1)
    cluster.start(3)
    cluster.converge(3_000)
    cluster.run(2_000)
    expect(cluster.isConverged()).toBe(true)
    expectSameLogs(cluster)
  })

  it('rejoins though the metadata comes long before the answer to its registration', () => {
    const cluster = newCluster()
    for (let partition = 0; partition < 3; partition++) cluster.produce(partition, 3)
    cluster.settle()
    cluster.kill(3)
    cluster.run(50)
    cluster.start(3)
    cluster.holdRegistration = true
    cluster.run(100)
    expect(cluster.isr(0)).toEqual([1, 2])
    cluster.holdRegistration = false
    cluster.converge(5_000)
    cluster.run(2_000)
    expect([0, 1, 2].map((partition) => cluster.isr(partition))).toEqual(Array(3).fill([1, 2, 3]))
  })
})

describe('a leader whose thread ends', () => {
  it('leads nothing by the metadata of its life before, until its registration has come', () => {
    const cluster = new WorkerCluster({ brokers: 2 })
    cluster.run(50)
    cluster.produce(0, 3)
    cluster.settle()
    cluster.kill(1)
    cluster.run(50)
    const before = cluster.registration().leaderEpoch
    cluster.start(1)
    cluster.holdRegistration = true
    cluster.run(200)
    expect(cluster.board.ledEpoch(brokerId(1), partitionIndex(0))).toBe(-1)
    cluster.holdRegistration = false
    cluster.converge()
    expect(cluster.registration()).toMatchObject({ leader: 2, leaderEpoch: before + 1 })
  })

  it.each(seeds)('loses nothing that was acknowledged, seed %i', (seed) => {
    const random = new SeededRandom(seed)
    const cluster = newCluster()
    for (let life = 0; life < 3; life++) {
      const victim = 1 + random.nextBelow(3)
      work(cluster, random, 20 + random.nextBelow(40))
      if (random.nextBelow(2) === 0) cluster.checkpoint(victim)
      if (random.nextBelow(2) === 0) cluster.kill(victim)
      else {
        cluster.disk(victim).endAtWrite(1 + random.nextBelow(6), random.nextBelow(11) / 10)
        for (let round = 0; round < 50 && cluster.isAlive(victim); round++) {
          work(cluster, random, 10)
        }
        if (cluster.isAlive(victim)) cluster.kill(victim)
      }
      work(cluster, random, random.nextBelow(30))
      if (random.nextBelow(2) === 0) cluster.run(10_000, 50)
      cluster.start(victim)
      cluster.converge()
      expectNothingLost(cluster)
    }
    expectSameLogs(cluster)
  })
})
