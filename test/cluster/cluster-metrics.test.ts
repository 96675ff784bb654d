import { describe, expect, it } from 'vitest'
import type { Cluster } from '../../src/cluster.ts'
import { ClusterMetrics } from '../../src/cluster-metrics.ts'
import { brokerId } from '../../src/ids.ts'
import { MetadataImage } from '../../src/replication/controller/metadata-image.ts'
import { allocateLagTables } from '../../src/workers/lag-table.ts'
import { ProgressBoard } from '../../src/workers/progress-board.ts'
import { allocateProgressBoard } from '../../src/workers/progress-board-layout.ts'
import { openCluster } from './open-cluster.ts'

/** Series and their values, as Prometheus would read the text. */
async function scrape(cluster: Cluster, replicaLags = 20): Promise<Map<string, number>> {
  const text = await cluster.metrics({ replicaLags }).metrics()
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    series.map((line) => {
      const space = line.lastIndexOf(' ')
      return [line.slice(0, space), Number(line.slice(space + 1))]
    }),
  )
}

const manager = 'kafka_server_replicamanager'
const controller = 'kafka_controller_kafkacontroller'

describe('the metrics of a cluster', () => {
  it('tell a follower’s leaving and return as Kafka’s would', { timeout: 60_000 }, async () => {
    const config = { 'replica.lag.time.max.ms': 300, 'broker.session.timeout.ms': 30_000 }
    const { cluster } = await openCluster({ config })
    const partitions = 4
    await cluster.createTopic('orders', {
      ...{ partitions, replicationFactor: 3, leaders: 'one' },
      config: { 'min.insync.replicas': 2 },
    })
    const producer = cluster.producer({ acks: 1 })
    const send = async () => {
      const all = Array.from({ length: partitions }, (_, partition) =>
        producer.send({ topic: 'orders', partition, value: 'x'.repeat(100) }),
      )
      await Promise.all(all)
    }
    const inSync = () => cluster.describe('orders', partitions - 1).inSyncReplicas.length
    await send()
    const before = await scrape(cluster)
    expect(before.get(`${manager}_underreplicatedpartitions{broker="1"}`)).toBe(0)
    expect(before.get(`${manager}_partitioncount{broker="3"}`)).toBe(partitions)
    expect(before.get(`${controller}_activecontrollercount`)).toBe(1)
    await cluster.pause(3)
    while (
      cluster
        .partitionsOf('orders')!
        .some((p) => cluster.registration(p)!.inSyncReplicas.length > 2)
    ) {
      await send()
    }
    const departures = 'tidemark_isr_departures_total{broker="3",cause="frozen"}'
    // The leader hears of it a moment after this thread, or before, and tells of it.
    let without = await scrape(cluster, 2)
    while (without.get(departures) !== partitions) without = await scrape(cluster, 2)
    expect(without.get(`${manager}_isrshrinks_total{broker="1"}`)).toBe(partitions)
    expect(without.get(`${manager}_underreplicatedpartitions{broker="1"}`)).toBe(partitions)
    expect(without.get(`${manager}_atminisrpartitioncount{broker="1"}`)).toBe(partitions)
    expect(without.get(`${manager}_underminisrpartitioncount{broker="1"}`)).toBe(0)
    expect(without.get(`${manager}_leadercount{broker="1"}`)).toBe(partitions)
    const pair = '{leader="1",follower="3"}'
    expect(without.get(`tidemark_follower_partitions_behind${pair}`)).toBe(partitions)
    const lag = cluster.describe('orders', 0).replicas.find(({ brokerId: id }) => id === 3)!
    expect(without.get(`tidemark_follower_lag_records_max${pair}`)).toBe(lag.lagRecords)
    expect(without.get(`tidemark_follower_lag_seconds_max${pair}`)).toBeGreaterThan(0.3)
    expect(without.get(`tidemark_follower_lag_bytes${pair}`)).toBeGreaterThan(100)
    const replicas = [...without.keys()].filter((name) => name.startsWith('tidemark_replica_lag_r'))
    expect(replicas).toHaveLength(2)
    cluster.resume(3)
    while (inSync() < 3) await send()
    await producer.flush()
    while ((await scrape(cluster)).get(`${manager}_isrexpands_total{broker="1"}`) !== partitions) {
      await send()
    }
    const after = await scrape(cluster)
    const sent = after.get('kafka_server_brokertopicmetrics_messagesin_total{broker="1"}')
    expect(sent).toBe(
      cluster
        .partitionsOf('orders')!
        .reduce((sum, p) => sum + cluster.describeIndex(p).logEndOffset, 0),
    )
    expect(after.get(`${manager}_underreplicatedpartitions{broker="1"}`)).toBe(0)
  })

  it('tell of offline partitions and brokers, and of elections', { timeout: 60_000 }, async () => {
    const config = { 'broker.session.timeout.ms': 300, 'broker.heartbeat.interval.ms': 30 }
    const { cluster } = await openCluster({ brokers: 2, config })
    await cluster.createTopic('alone', { partitions: 2, replicationFactor: 1 })
    await cluster.createTopic('both', { partitions: 1, replicationFactor: 2, leaders: 'one' })
    await cluster.kill(1)
    const fenced = `${controller}_fencedbrokercount`
    let series = await scrape(cluster)
    const elections = 'tidemark_leader_elections_total'
    while (series.get(fenced) !== 1 || series.get(elections) === 0) series = await scrape(cluster)
    expect(series.get(`${controller}_activebrokercount`)).toBe(1)
    expect(series.get(`${controller}_offlinepartitionscount`)).toBe(1)
    expect(series.get(`${controller}_globalpartitioncount`)).toBe(3)
    expect(series.get(`${controller}_preferredreplicaimbalancecount`)).toBe(2)
    expect(series.get(elections)).toBe(1)
    expect(series.get('kafka_controller_controllerstats_uncleanleaderelections_total')).toBe(0)
    expect(series.get('tidemark_broker_running{broker="1"}')).toBe(0)
    expect(series.get(`${manager}_leadercount{broker="1"}`)).toBe(0)
    const { leader } = cluster.describe('both', 0)
    expect(leader).toBe(2)
    while (series.get(`${manager}_leadercount{broker="2"}`) !== 2) series = await scrape(cluster)
  })

  it('answer without a leader that is frozen', { timeout: 60_000 }, async () => {
    const { cluster } = await openCluster({ brokers: 2 })
    await cluster.createTopic('orders', { partitions: 1, replicationFactor: 2, leaders: 'one' })
    const led = `${manager}_leadercount{broker="1"}`
    while ((await scrape(cluster)).get(led) !== 1);
    await cluster.pause(1)
    const startMs = performance.now()
    const series = await scrape(cluster)
    expect(performance.now() - startMs).toBeLessThan(2_000)
    expect(series.has('tidemark_follower_partitions{leader="1",follower="2"}')).toBe(false)
    expect(series.get(led)).toBe(1)
    cluster.resume(1)
    while (!(await scrape(cluster)).has('tidemark_follower_partitions{leader="1",follower="2"}'));
  })
})

describe('a scrape', () => {
  it('of ten thousand partitions is as long as one of ten', async () => {
    const shape = { brokers: 3, partitionsMax: 10_000, clients: 1 }
    const board = new ProgressBoard(allocateProgressBoard(shape, 1_000))
    const image = new MetadataImage()
    const lines: number[] = []
    const metrics = new ClusterMetrics(board, allocateLagTables(3), () => image)
    const topicId = Buffer.alloc(16, 1).toString('base64url')
    image.replay({ type: 'topic', name: 'many', topicId }, 0)
    for (let partition = 0; partition < 10_000; partition += 1) {
      const replicas = [1, 2, 3].map(brokerId)
      image.replay(
        {
          ...{ type: 'partition', partitionId: partition, topicId, replicas, isr: replicas },
          ...{ removingReplicas: [], addingReplicas: [], leader: replicas[0]! },
          ...{ leaderEpoch: 0, partitionEpoch: 0 },
        },
        partition + 1,
      )
      if (partition !== 9 && partition !== 9_999) continue
      const text = await metrics.registry().metrics()
      expect(text).toContain(`${controller}_globalpartitioncount ${partition + 1}\n`)
      lines.push(text.split('\n').length)
    }
    expect(lines[0]).toBe(lines[1])
    expect(lines[0]).toBeLessThan(250)
  })

  it.each([-1, 65, 1.5])('refuses %d replicas of their own', (replicaLags) => {
    const board = new ProgressBoard(
      allocateProgressBoard({ brokers: 1, partitionsMax: 1, clients: 1 }, 1_000),
    )
    const metrics = new ClusterMetrics(board, allocateLagTables(1), () => new MetadataImage())
    expect(() => metrics.registry({ replicaLags })).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: `replicaLags = ${replicaLags}: allowed are 0 to 64`,
      }),
    )
  })
})
