import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { topicName } from '../support/worker-brokers.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { endedBehind } from '../support/worker-leaders.ts'
import { expectSameLogs, logBytes } from '../support/worker-logs.ts'

const zero = partitionIndex(0)

/** As DeleteRecords or retention do it at the leader. */
function startAt(cluster: WorkerCluster, offset: number, broker = 1): void {
  cluster.node(broker).store.advanceLogStart(zero, offset)
}

function logStart(cluster: WorkerCluster, broker: number): number {
  const start = cluster.node(broker).store.log(zero).logStartOffset
  expect(cluster.board.logStartOffset(brokerId(broker), zero)).toBe(start)
  return start
}

function notes(cluster: WorkerCluster): string[] {
  return cluster.news.flatMap((each) => each.catchUpNotes.map(({ kind }) => kind))
}

function segmentFile(cluster: WorkerCluster, broker: number): string {
  return path.join(cluster.directory(broker), `${topicName}-0`, '00000000000000000000.log')
}

describe('what a follower takes over besides batches', () => {
  it('92. reaches the high watermark of the last batch though none comes after it', () => {
    const cluster = new WorkerCluster()
    cluster.run(50)
    cluster.produce(0, 3)
    cluster.settle()
    cluster.run(150)
    expect([1, 2, 3].map((broker) => cluster.highWatermark(broker))).toEqual([3, 3, 3])
  })

  it('is the log start too, without any append, and never above its high watermark', () => {
    const cluster = new WorkerCluster({ config: { 'replica.lag.time.max.ms': 60_000 } })
    cluster.run(50)
    cluster.produce(0, 3)
    cluster.produce(0, 3)
    cluster.settle()
    // Follower 3 sleeps through the rise of its high watermark.
    cluster.frozen.add(3)
    cluster.run(150)
    startAt(cluster, 5)
    cluster.run(150)
    expect([logStart(cluster, 2), logStart(cluster, 3)]).toEqual([5, 0])
    cluster.frozen.delete(3)
    cluster.run(250)
    expect(logStart(cluster, 3)).toBe(5)
    expectSameLogs(cluster)
  })

  it('costs nothing while nothing happens', () => {
    const cluster = new WorkerCluster()
    cluster.produce(0, 3)
    cluster.settle()
    cluster.run(500)
    const follower = cluster.node(2)
    const { board } = follower
    const before = board.highWatermark
    let looks = 0
    board.highWatermark = (...args) => {
      looks++
      return before.apply(board, args)
    }
    cluster.run(1_000)
    expect([looks, follower.idleMs(cluster.clock.nowMs()) > 50]).toEqual([0, true])
  })
})

describe('54. OffsetOutOfRange', () => {
  it('low: the leader no longer holds what comes next; the follower starts over there', () => {
    const cluster = endedBehind(1, 1)
    cluster.run(50)
    startAt(cluster, 2)
    cluster.start(3)
    cluster.converge()
    expect([logStart(cluster, 3), cluster.logEndOffset(3)]).toEqual([2, 3])
    expect(notes(cluster)).toEqual(['startedOver'])
    expect(logBytes(cluster, 1).includes(logBytes(cluster, 3))).toBe(true)
    expect(logBytes(cluster, 3).length).toBeGreaterThan(0)
  })

  it('low: nothing at all is left at the leader', () => {
    const cluster = endedBehind(2)
    cluster.run(50)
    startAt(cluster, 3)
    cluster.start(3)
    cluster.converge()
    expect([logStart(cluster, 3), cluster.logEndOffset(3)]).toEqual([3, 3])
    cluster.run(200)
    expect(cluster.highWatermark(3)).toBe(3)
  })

  it('high: the leader comes back without its log; the follower truncates to nothing', () => {
    const cluster = new WorkerCluster({ brokers: 2 })
    cluster.run(50)
    cluster.produce(0, 3)
    cluster.settle()
    cluster.kill(2)
    cluster.until('2 has left', () => cluster.isr().length === 1, 20_000)
    cluster.kill(1)
    fs.rmSync(cluster.directory(1), { recursive: true })
    cluster.start(1)
    cluster.until('1 leads again', () => cluster.leader() === 1, 20_000)
    cluster.start(2)
    cluster.converge()
    expect([cluster.logEndOffset(2), logStart(cluster, 2), cluster.highWatermark(2)]).toEqual([
      0, 0, 0,
    ])
  })
})

describe('36. AppendRecordsAsFollowerBelowLogStartOffset', () => {
  it('an empty log takes the batch within which the leader’s log starts, and starts there', () => {
    const cluster = new WorkerCluster({ config: { 'replica.lag.time.max.ms': 300 } })
    cluster.run(50)
    cluster.kill(3)
    cluster.produce(0, 4)
    cluster.produce(0, 4)
    cluster.until('3 has left', () => cluster.isr().length === 2, 20_000)
    cluster.settle()
    startAt(cluster, 6)
    cluster.start(3)
    cluster.converge()
    cluster.run(200)
    // The batch holds offsets 4 to 7.
    expect([logStart(cluster, 3), cluster.logEndOffset(3)]).toEqual([6, 8])
    expect(cluster.failures()).toEqual([])
    expect(logBytes(cluster, 1).subarray(-logBytes(cluster, 3).length)).toEqual(
      logBytes(cluster, 3),
    )
  })
})

describe('a leader whose file is damaged', () => {
  it('is asked again after replica.fetch.backoff.ms, not at every step, until it mends', () => {
    const cluster = new WorkerCluster({
      config: { 'replica.lag.time.max.ms': 300, 'replica.fetch.backoff.ms': 200 },
    })
    cluster.run(50)
    cluster.kill(3)
    cluster.produce(0, 4)
    cluster.until('3 has left', () => cluster.isr().length === 2, 20_000)
    cluster.settle()
    const file = segmentFile(cluster, 1)
    const whole = fs.readFileSync(file)
    const damaged = Buffer.from(whole)
    damaged[damaged.length - 1]! ^= 1
    fs.writeFileSync(file, damaged)
    cluster.start(3)
    cluster.run(2_000)
    const { length } = notes(cluster)
    expect(length).toBeGreaterThanOrEqual(8)
    expect(length).toBeLessThanOrEqual(11)
    expect([cluster.logEndOffset(3), cluster.isr()]).toEqual([0, [1, 2]])
    fs.writeFileSync(file, whole)
    cluster.converge(1_000)
    expectSameLogs(cluster)
  })
})
