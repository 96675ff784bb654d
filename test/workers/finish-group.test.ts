import { describe, expect, it } from 'vitest'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { FinishGroup } from '../../src/workers/finish-group.ts'
import { readerState } from '../../src/workers/progress-board.ts'
import type { WorkerClusterOptions } from '../support/worker-brokers.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'

const [leader, follower] = [brokerId(1), brokerId(3)]
const [one, two] = [partitionIndex(1), partitionIndex(2)]
const batches = 12

/** A follower that lacks a dozen batches, three reads, in each of so many partitions. */
function withBacklog(partitions: number, config: WorkerClusterOptions['config'] = {}) {
  const cluster = new WorkerCluster({
    assignments: Array.from({ length: partitions }, () => [1, 2, 3]),
    config: { 'replica.lag.time.max.ms': 500, 'catch.up.read.bytes': 4_096, ...config },
  })
  const isAttached = () => cluster.board.readerState(leader, follower) === readerState.idle
  cluster.until('the ring is joined', isAttached)
  cluster.frozen.add(follower)
  produceAll(cluster, batches)
  const isOut = () => isrSizes(cluster).every((size) => size === 2)
  cluster.until('it has left', isOut)
  cluster.run(3_000)
  cluster.frozen.delete(follower)
  return cluster
}

function produceAll(cluster: WorkerCluster, count: number): void {
  for (let partition = 0; partition < cluster.partitions; partition++) {
    for (let batch = 0; batch < count; batch++) cluster.produce(partition, 1, 900)
  }
}

function isrSizes(cluster: WorkerCluster): number[] {
  return Array.from({ length: cluster.partitions }, (_, at) => cluster.isr(at).length)
}

function atEnd(cluster: WorkerCluster): number {
  let count = 0
  for (let at = 0; at < cluster.partitions; at++) {
    if (cluster.logEndOffset(follower, at) === cluster.logEndOffset(leader, at)) count++
  }
  return count
}

/** How many partitions come to the end in each step of the follower that brings any there. */
function arrivals(cluster: WorkerCluster, stepMs: number): number[] {
  const arrived: number[] = []
  for (let before = 0, steps = 0; before < cluster.partitions; steps++) {
    if (steps > 10_000) throw new Error('it does not arrive')
    cluster.clock.advance(stepMs)
    cluster.step(follower)
    const now = atEnd(cluster)
    if (now > before) arrived.push(now - before)
    before = now
    cluster.step(leader)
  }
  return arrived
}

describe('partitions that several reads bring to the end', () => {
  it('arrive together, as many as a step reads', () => {
    const cluster = withBacklog(12)
    // Four last batches are as much as one read may be.
    expect(arrivals(cluster, 0.1)).toEqual([4, 4, 4])
    cluster.converge()
  })

  it('are proposed in a few requests', () => {
    const cluster = withBacklog(40, { 'catch.up.read.bytes': 16_384 })
    const before = cluster.alterRequests.length
    const areBack = () => isrSizes(cluster).every((size) => size === 3)
    cluster.until('all are back', areBack, 10_000, 0.5)
    expect(cluster.alterRequests.length - before).toBeLessThanOrEqual(3)
    cluster.converge()
  })

  it('do not wait long for others', () => {
    const cluster = withBacklog(12)
    // Three reads and the last batch take 40 ms: nobody waits for a second partition.
    expect(arrivals(cluster, 10).slice(0, -1)).not.toContain(4)
    cluster.converge()
  })

  it('are left once only, though as much again comes in every step', () => {
    const cluster = withBacklog(1)
    let steps = 0
    // Without a controller nobody becomes a member, who would not be held.
    for (; atEnd(cluster) === 0 && steps < 100; steps++) {
      cluster.clock.advance(1)
      cluster.step(leader)
      cluster.step(follower)
      produceAll(cluster, 3)
    }
    expect(steps).toBeLessThan(20)
    cluster.converge()
  })
})

describe('a member of the in-sync replicas that the ring no longer serves', () => {
  it('reads to the end at once', () => {
    const config = { 'replica.lag.time.max.ms': 3_600_000, 'catch.up.read.bytes': 4_096 }
    const cluster = new WorkerCluster({ assignments: [[1, 2, 3]], config })
    const { board } = cluster
    const isAttached = () => board.readerState(leader, follower) === readerState.idle
    cluster.until('the ring is joined', isAttached)
    cluster.clock.advance(2_500)
    cluster.step(follower)
    board.moveReader(leader, follower, readerState.idle, readerState.detached)
    produceAll(cluster, 4)
    cluster.step(leader)
    cluster.step(follower)
    cluster.step(leader)
    cluster.step(follower)
    expect(cluster.isr(0)).toContain(follower)
    expect(atEnd(cluster)).toBe(1)
  })
})

describe('the group itself', () => {
  it('is due when it is full or its first has waited', () => {
    const group = new FinishGroup(64)
    expect(group.isDue(1_000)).toBe(false)
    group.add(one, 1_000)
    expect([group.isDue(1_029), group.isDue(1_030)]).toEqual([false, true])
    for (let at = 2; at < 17; at++) group.add(partitionIndex(at), 1_010)
    expect(group.isDue(1_010)).toBe(true)
    expect(group.take()).toHaveLength(16)
    expect([group.isEmpty, group.isDue(9_999)]).toEqual([true, false])
  })

  it('lets each wait once until it is forgotten', () => {
    const group = new FinishGroup(64)
    group.add(one, 0)
    expect([group.isOpenTo(one), group.isWaiting(one)]).toEqual([false, true])
    group.take()
    expect([group.isOpenTo(one), group.isWaiting(one)]).toEqual([false, false])
    group.forget(one)
    expect(group.isOpenTo(one)).toBe(true)
  })

  it('does not give out what was forgotten, and nothing twice', () => {
    const group = new FinishGroup(64)
    group.add(one, 0)
    group.add(two, 0)
    group.forget(one)
    group.forget(two)
    group.add(two, 0)
    expect(group.take()).toEqual([two])
  })
})
