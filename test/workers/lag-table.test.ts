import { describe, expect, it } from 'vitest'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { LagReporter } from '../../src/workers/lag-reporter.ts'
import { LagTable, lagRowsMax, type ReplicaLag } from '../../src/workers/lag-table.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'

const leader = brokerId(1)

describe('a lag table', () => {
  it('is asked, served and read, each leader’s apart', () => {
    const { memory } = new WorkerCluster()
    const [table, other] = [
      new LagTable(memory.lags, leader),
      new LagTable(memory.lags, brokerId(2)),
    ]
    expect(table.openRequest).toBeUndefined()
    const request = table.request()
    expect(table.isServed(request)).toBe(false)
    expect([table.openRequest, other.openRequest]).toEqual([request, undefined])
    const total = {
      ...{ follower: brokerId(3), partitions: 5, behind: 2 },
      ...{ records: 2 ** 40, recordsMax: 2 ** 39, bytes: 2 ** 50, lagMsMax: 12.5 },
    }
    const row: ReplicaLag = {
      ...{ partition: partitionIndex(4), follower: brokerId(3) },
      ...{ records: 7, bytes: 700, lagMs: 12.5 },
    }
    table.serve(request, { totals: [total], worst: Array(lagRowsMax + 5).fill(row) })
    expect(table.isServed(request)).toBe(true)
    expect(table.openRequest).toBeUndefined()
    expect(table.read()).toEqual({ totals: [total], worst: Array(lagRowsMax).fill(row) })
    expect(other.read()).toEqual({ totals: [], worst: [] })
    table.serve(table.request(), { totals: [], worst: [] })
    expect(table.read()).toEqual({ totals: [], worst: [] })
  })
})

describe('a leader’s report', () => {
  function reportOf(cluster: WorkerCluster, broker = 1) {
    const { link, leaders, sight } = cluster.node(broker)
    const id = brokerId(broker)
    const table = new LagTable(cluster.memory.lags, id)
    const reporter = new LagReporter({ brokerId: id, table, image: link.image, leaders, sight })
    expect(reporter.maybeServe(cluster.clock.nowMs())).toBe(false)
    table.request()
    expect(reporter.maybeServe(cluster.clock.nowMs())).toBe(true)
    return table.read()
  }

  it('has what each follower lacks in records, bytes and time, the longest behind first', () => {
    const replicas = [1, 2, 3]
    const cluster = new WorkerCluster({ assignments: [replicas, replicas, [2, 3, 1]] })
    cluster.run(50)
    cluster.frozen.add(3)
    cluster.produce(1, 3, 1_000)
    cluster.run(40)
    cluster.produce(0, 5, 1_000)
    cluster.run(60)
    const { totals, worst } = reportOf(cluster)
    expect(totals).toMatchObject([
      { follower: 2, partitions: 2, behind: 0, records: 0, bytes: 0, lagMsMax: 0 },
      { follower: 3, partitions: 2, behind: 2, records: 8, recordsMax: 5 },
    ])
    expect(worst.map(({ partition, records }) => [partition, records])).toEqual([
      [0, 5],
      [1, 3],
    ])
    for (const { partition, follower, lagMs, bytes, records } of worst) {
      const lag = cluster.node(1).leaders.lag(partition, follower, cluster.clock.nowMs())
      expect(lagMs).toBe(lag!.timeMs)
      expect(lagMs).toBeGreaterThanOrEqual(100)
      expect(bytes).toBeGreaterThan(records * 1_000)
    }
    expect(totals[1]!.bytes).toBe(worst[0]!.bytes + worst[1]!.bytes)
    // Behind by more records, and for a shorter time.
    cluster.frozen.add(2)
    cluster.produce(0, 50, 1_000)
    cluster.run(30)
    const later = reportOf(cluster).worst.map(({ follower, partition }) => [follower, partition])
    expect(later).toEqual([
      [3, 0],
      [3, 1],
      [2, 0],
    ])
    expect(reportOf(cluster, 2).totals.map(({ partitions }) => partitions)).toEqual([1, 1])
  })
})
