import { describe, expect, it } from 'vitest'
import { TidemarkError } from '../../src/errors.ts'
import { diskFailureOf } from '../../src/workers/disk-failure.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { expectNothingLost, expectSameLogs } from '../support/worker-logs.ts'

const config = { 'broker.session.timeout.ms': 9_000, 'replica.lag.time.max.ms': 30_000 }

function newCluster(): WorkerCluster {
  const cluster = new WorkerCluster({ config, topic: { 'min.insync.replicas': '2' } })
  cluster.run(100)
  cluster.produce(0, 2)
  cluster.settle()
  return cluster
}

describe.each(['EIO', 'ENOSPC'])('a broker whose disk fails with %s', (code) => {
  it('as a leader stops itself; another leads long before its session would end', () => {
    const cluster = newCluster()
    cluster.disk(1).failWrites(code)
    const refused = cluster.produce(0, 1)
    const tookMs = cluster.until('another leads', () => cluster.leader() > 1, 9_000)
    expect(tookMs).toBeLessThan(50)
    expect(cluster.isAlive(1)).toBe(false)
    expect(cluster.isr()).toEqual([2, 3])
    cluster.run(50)
    const kept = cluster.produce(0, 3)
    cluster.settle()
    expect(cluster.answer(kept)).toMatchObject({ error: 'NONE', baseOffset: 2 })
    expect(cluster.answer(refused)).toMatchObject({ error: 'KAFKA_STORAGE_ERROR' })
    expectNothingLost(cluster)
  })

  it('as a follower stops itself and is out of the ISR at once; nobody waits for it', () => {
    const cluster = newCluster()
    cluster.disk(3).failWrites(code)
    const ticket = cluster.produce(0, 1)
    const tookMs = cluster.until('it has left', () => cluster.isr().length === 2, 9_000)
    expect(tookMs).toBeLessThan(50)
    cluster.settle()
    expect(cluster.answer(ticket)).toMatchObject({ error: 'NONE' })
    expect(cluster.isAlive(3)).toBe(false)
  })

  it('comes back when its disk is mended, with identical logs', () => {
    const cluster = newCluster()
    cluster.disk(1).failWrites(code)
    cluster.produce(0, 1)
    cluster.until('another leads', () => cluster.leader() > 1, 9_000)
    cluster.run(50)
    cluster.produce(0, 3)
    cluster.start(1)
    cluster.converge()
    cluster.news.length = 0
    expectSameLogs(cluster)
  })

  it('at its first record as a leader, which writes an epoch down, stops itself too', () => {
    const cluster = newCluster()
    cluster.disk(2).failWrites(code)
    cluster.disk(1).failWrites(code)
    cluster.produce(0, 1)
    cluster.until('2 leads', () => cluster.leader() === 2, 9_000)
    cluster.run(100)
    expect(cluster.isAlive(2)).toBe(true)
    cluster.produce(0, 1)
    cluster.until('3 leads', () => cluster.leader() === 3, 9_000)
    expect([1, 2, 3].map((broker) => cluster.isAlive(broker))).toEqual([false, false, true])
    expectNothingLost(cluster)
  })
})

describe('what counts as a failure of the own disk', () => {
  it('a storage error and a failed system call, nothing else', () => {
    const ours = new TidemarkError('KAFKA_STORAGE_ERROR', 'x')
    expect(diskFailureOf(ours)).toBe(ours)
    const system = Object.assign(new Error('EROFS'), { errno: -30, syscall: 'open' })
    expect(diskFailureOf(system)).toMatchObject({ code: 'KAFKA_STORAGE_ERROR', cause: system })
    for (const other of [
      new TidemarkError('CORRUPT_MESSAGE'),
      new TypeError('a bug'),
      'text',
      undefined,
    ]) {
      expect(diskFailureOf(other)).toBeUndefined()
    }
  })
})
