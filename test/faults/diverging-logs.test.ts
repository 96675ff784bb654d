/**
 * Faults that Apache Kafka had, by the letter and number under which this project lists them and
 * by their tickets: the smallest steps that showed each, and what must come out instead.
 */
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { partitionIndex } from '../../src/ids.ts'
import { topicName } from '../support/worker-brokers.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { release, stall, untilElected } from '../support/worker-leaders.ts'
import { expectSameLogs, logValues } from '../support/worker-logs.ts'
import { diverged } from './crafted-logs.ts'

const p0 = partitionIndex(0)
const config = {
  'broker.session.timeout.ms': 500,
  'broker.heartbeat.interval.ms': 50,
  'replica.lag.time.max.ms': 5_000,
}

it('D1 (KAFKA-6361): a tail of an epoch that the leader never had goes as a whole', () => {
  const cluster = diverged({
    leader: [
      [0, 10],
      [2, 10],
    ],
    follower: [
      [0, 5],
      [1, 7],
    ],
  })
  cluster.converge()
  expectSameLogs(cluster)
  expect(logValues(cluster, 2)[5]).toBe('epoch 0, offset 5')
  const cuts = cluster.news.flatMap(({ truncations }) => truncations)
  expect(cuts).toMatchObject([{ partition: 0, fromOffset: 12, toOffset: 5 }])
})

it('D1 (KAFKA-6361): the epoch that the leader names is unknown to the follower: one lower', () => {
  const cluster = diverged({
    leader: [
      [0, 4],
      [1, 6],
      [3, 5],
    ],
    follower: [
      [0, 7],
      [2, 6],
    ],
  })
  cluster.converge()
  expectSameLogs(cluster)
  expect(logValues(cluster, 2)[4]).toBe('epoch 1, offset 4')
})

it('D3 (KAFKA-10706): an epoch without a record goes, and is not found again and again', () => {
  const cluster = diverged({
    leader: [
      [1, 5],
      [2, 5],
      [4, 0],
    ],
    follower: [
      [1, 5],
      [2, 5],
      [3, 0],
    ],
  })
  cluster.until('it follows', () => cluster.isFollowed())
  expect(cluster.logEndOffset(2)).toBe(10)
  const epochs = cluster.node(2).store.log(p0).leaderEpochs
  expect(epochs.entries.some(({ leaderEpoch }) => leaderEpoch === 3)).toBe(false)
  const ticket = cluster.produce(0, 1)
  cluster.converge()
  expect(cluster.answer(ticket)).toMatchObject({ error: 'NONE', baseOffset: 10 })
  expectSameLogs(cluster)
})

it('D4 (KAFKA-7164): the same leader in a later epoch: its log may have been cut meanwhile', () => {
  const cluster = new WorkerCluster({ config })
  cluster.run(100)
  cluster.produce(0, 5)
  cluster.settle()
  // 3 has no more than this; 2 copies what follows from 1 and then hears of nothing for long.
  stall(cluster, 3)
  cluster.produce(0, 2)
  cluster.step(1)
  cluster.step(2)
  const ends = [1, 2, 3].map((broker) => cluster.logEndOffset(broker))
  expect(ends).toEqual([8, 8, 6])
  cluster.frozen.add(1).add(2)
  cluster.until('3 leads', () => cluster.leader() === 3, 5_000)
  release(cluster, 3)
  cluster.run(50)
  cluster.frozen.delete(1)
  cluster.until('1 is back in sync', () => cluster.isr().includes(1), 20_000)
  expect(cluster.logEndOffset(1)).toBe(6)
  cluster.produce(0, 3)
  cluster.settle()
  cluster.frozen.add(3)
  cluster.until('1 leads again', () => cluster.leader() === 1, 5_000)
  expect(cluster.node(2).store.log(p0).logEndOffset).toBe(8)
  cluster.frozen.clear()
  cluster.converge()
  expectSameLogs(cluster)
})

it('D6 (KAFKA-18991): what was read for an older epoch is not taken, though the offset fits', () => {
  const cluster = new WorkerCluster({
    config: { ...config, 'ring.detach.stuck.ms': 60_000, 'replica.lag.time.max.ms': 60_000 },
  })
  cluster.run(100)
  cluster.produce(0, 1)
  cluster.settle()
  stall(cluster, 2, 3)
  // Ten batches that the followers have in front of them in the ring, and never take.
  for (let batch = 0; batch < 10; batch++) cluster.produce(0, 1, 50, 1)
  cluster.step(1)
  expect([1, 2, 3].map((broker) => cluster.logEndOffset(broker))).toEqual([12, 2, 2])
  cluster.frozen.add(1)
  untilElected(cluster)
  cluster.frozen.delete(1)
  cluster.until('the old leader follows', () => cluster.logEndOffset(1) === 2)
  cluster.until('it is in sync', () => cluster.isr().includes(1))
  const old = cluster.leader()
  cluster.frozen.add(old)
  cluster.until('the first leads again', () => cluster.leader() === 1, 5_000)
  cluster.run(50)
  cluster.frozen.delete(old)
  release(cluster, 2, 3)
  cluster.converge()
  const ticket = cluster.produce(0, 1)
  cluster.run(50)
  expect(cluster.answer(ticket)).toMatchObject({ error: 'NONE', baseOffset: 2 })
  expectSameLogs(cluster)
  // Nobody believes to be behind for ever and keeps its thread awake.
  const nowMs = cluster.clock.nowMs()
  expect([1, 2, 3].filter((broker) => cluster.node(broker).idleMs(nowMs) === 1)).toEqual([])
})
it('D9 (KAFKA-16541): an epoch file that a crash has torn is made anew from the batches', () => {
  for (const damage of ['', '0\n', '0\n2\n0 0\n', '0\n1\n0 0 7\n', '\0\0\0\0', '1\n1\n0 0\n']) {
    const cluster = new WorkerCluster({ config })
    cluster.run(100)
    cluster.produce(0, 3)
    cluster.settle()
    const { entries } = cluster.node(2).store.log(p0).leaderEpochs
    cluster.kill(2)
    const directory = path.join(cluster.directory(2), `${topicName}-0`)
    fs.writeFileSync(path.join(directory, 'leader-epoch-checkpoint'), damage)
    cluster.start(2)
    cluster.converge()
    expect(cluster.node(2).store.log(p0).leaderEpochs.entries).toEqual(entries)
    expectSameLogs(cluster)
  }
})

/** Byte where a batch has its leader epoch, which the CRC leaves out, and one of a record. */
const leaderEpochByte = 12
const recordByte = 70

it.each([
  ['whose CRC is wrong', recordByte],
  ['of a later epoch than was asked for', leaderEpochByte],
])('D11 (KAFKA-18723): a batch %s is not taken, and the follower lives', (_, byte) => {
  const cluster = new WorkerCluster({ config })
  cluster.run(100)
  cluster.kill(2)
  for (let batch = 0; batch < 6; batch++) cluster.produce(0, 1, 100)
  cluster.settle()
  const file = path.join(cluster.directory(1), `${topicName}-0`, `${'0'.repeat(20)}.log`)
  const whole = fs.readFileSync(file)
  const bad = Buffer.from(whole)
  // The fourth of six equal batches.
  bad[(whole.length / 6) * 3 + byte]! ^= 0x40
  fs.writeFileSync(file, bad)
  cluster.start(2)
  cluster.run(1_000)
  expect(cluster.logEndOffset(2)).toBe(3)
  fs.writeFileSync(file, whole)
  cluster.converge()
  expectSameLogs(cluster)
})
