import { describe, expect, it } from 'vitest'
import { brokerId } from '../../src/ids.ts'
import { readerState } from '../../src/workers/progress-board.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'

const [leader, follower] = [brokerId(1), brokerId(3)]
const partitions = 8

/** One batch in every partition that only the leader and another follower have. */
function withBacklog(readBytes: number, valueBytes: number): WorkerCluster {
  const cluster = new WorkerCluster({
    assignments: Array.from({ length: partitions }, () => [1, 2, 3]),
    config: { 'replica.lag.time.max.ms': 500, 'catch.up.read.bytes': readBytes },
  })
  const { board } = cluster
  const isAttached = () => board.readerState(leader, follower) === readerState.idle
  cluster.until('the ring is joined', isAttached)
  return withoutFollower(cluster, valueBytes)
}

function withoutFollower(cluster: WorkerCluster, valueBytes: number): WorkerCluster {
  cluster.frozen.add(follower)
  for (let partition = 0; partition < partitions; partition++) {
    cluster.produce(partition, 1, valueBytes)
  }
  cluster.until('it has left', () => isrSizes(cluster).every((size) => size === 2))
  cluster.run(3_000)
  cluster.frozen.delete(follower)
  return cluster
}

function isrSizes(cluster: WorkerCluster): number[] {
  return Array.from({ length: partitions }, (_, partition) => cluster.isr(partition).length)
}

function caughtUp(cluster: WorkerCluster): number {
  let count = 0
  for (let partition = 0; partition < partitions; partition++) {
    if (cluster.logEndOffset(follower, partition) === 1) count++
  }
  return count
}

/** Partitions that each step of the follower read to the end. */
function readInEachStep(cluster: WorkerCluster): number[] {
  const read: number[] = []
  for (let before = 0; before < partitions; ) {
    cluster.clock.advance(5)
    cluster.step(follower)
    const now = caughtUp(cluster)
    if (now > before) read.push(now - before)
    before = now
    cluster.step(leader)
  }
  return read
}

describe('a step of catching up', () => {
  it('reads as many partitions as one read may be large', () => {
    const cluster = withBacklog(4_096, 900)
    expect(readInEachStep(cluster)).toEqual([4, 4])
    cluster.converge()
  })

  it('reads one when that is as large', () => {
    const cluster = withBacklog(4_096, 3_000)
    expect(readInEachStep(cluster)).toEqual(Array.from({ length: partitions }, () => 1))
    cluster.converge()
  })

  it('ends when the broker may append no more', () => {
    const cluster = withBacklog(4_096, 900)
    cluster.board.setThrottleBytesPerSec(follower, 10_000)
    expect(Math.max(...readInEachStep(cluster))).toBe(1)
    cluster.converge()
  })
})

describe('a follower at the log end', () => {
  it('is proposed in the very step in which the leader sees it, and all of one poll together', () => {
    const cluster = withBacklog(4_096, 300)
    const requests = cluster.alterRequests.length
    while (caughtUp(cluster) < partitions) {
      cluster.clock.advance(5)
      cluster.step(follower)
      if (caughtUp(cluster) < partitions) cluster.step(leader)
    }
    cluster.stepController()
    expect(cluster.alterRequests.length).toBe(requests)
    cluster.step(leader)
    cluster.stepController()
    expect(cluster.alterRequests.length).toBe(requests + 1)
    expect(isrSizes(cluster)).toEqual(Array.from({ length: partitions }, () => 3))
    cluster.converge()
  })
})
