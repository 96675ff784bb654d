/** Many small batches at once: rounds grow with what waits, and costs go by the round. */
import { describe, expect, it } from 'vitest'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { expectSameLogs } from '../support/worker-logs.ts'

const partitions = [0, 1, 2]
const batches = 3_000

/** Lengths in calls of what a broker's disk is given of batches. */
function watchWrites(cluster: WorkerCluster, broker: number): number[] {
  const views: number[] = []
  const disk = cluster.disk(broker)
  const inner = disk.writev.bind(disk)
  disk.writev = (fd, given, filePosition) => {
    views.push(given.length)
    return inner(fd, given, filePosition)
  }
  return views
}

function backlog(acks: -1 | 1): { cluster: WorkerCluster; tickets: number[] } {
  const cluster = new WorkerCluster({
    assignments: partitions.map(() => [1, 2, 3]),
    ackCapacity: 4_096,
    config: { 'ring.bytes': 4 * 1024 * 1024 },
  })
  const tickets = Array.from({ length: batches }, (_, at) => cluster.produce(at % 3, 1, 100, acks))
  return { cluster, tickets }
}

describe('a backlog of small batches', () => {
  it('is one round and one write a partition, at the leader and at followers', () => {
    const { cluster } = backlog(-1)
    for (const broker of [1, 2, 3]) {
      const views = watchWrites(cluster, broker)
      cluster.step(broker)
      expect(views).toEqual([1_000, 1_000, 1_000])
    }
    expect(partitions.map((partition) => cluster.logEndOffset(3, partition))).toEqual([
      1_000, 1_000, 1_000,
    ])
    const { leaders } = cluster.node(1)
    const advances = leaders.counters.highWatermarkAdvances
    cluster.step(1)
    expect(partitions.map((partition) => cluster.highWatermark(1, partition))).toEqual([
      1_000, 1_000, 1_000,
    ])
    // A poll has one offset a partition, however many batches it brings.
    expect(leaders.counters.highWatermarkAdvances - advances).toBe(3)
    cluster.settle()
    expectSameLogs(cluster)
  })

  it('is answered batch by batch, with the offset of each', () => {
    const { cluster, tickets } = backlog(-1)
    for (const broker of [1, 2, 3, 1]) cluster.step(broker)
    cluster.pollAcks()
    expect(cluster.unanswered).toBe(0)
    const byTicket = new Map(cluster.acknowledged.map((each) => [each.ticket, each]))
    for (const [at, ticket] of tickets.entries()) {
      const answer = byTicket.get(ticket)
      expect([answer?.error, answer?.baseOffset]).toEqual(['NONE', Math.floor(at / 3)])
    }
  })

  it('may be one batch each of very many partitions', () => {
    const count = 1_300
    const cluster = new WorkerCluster({
      assignments: Array.from({ length: count }, () => [1, 2]),
      ackCapacity: 4_096,
      partitionsMax: 2_048,
      config: { 'ring.bytes': 4 * 1024 * 1024 },
    })
    for (let partition = 0; partition < count; partition++) cluster.produce(partition, 2)
    for (const broker of [1, 2, 1]) cluster.step(broker)
    cluster.pollAcks()
    expect(cluster.unanswered).toBe(0)
    expect(new Set(cluster.acknowledged.map(({ error }) => error))).toEqual(new Set(['NONE']))
    for (let partition = 0; partition < count; partition++) {
      expect(cluster.logEndOffset(2, partition)).toBe(2)
    }
  })
})
