/**
 * A cluster's metrics as a prom-client registry: Kafka's meters and gauges under the names that the
 * Prometheus JMX exporter gives them (its example configuration for Kafka: domain, type and name in
 * lower case, `PerSec` meters as `_total`, for `rate()`), and ours under `tidemark_`. Everything is
 * read when it is scraped: words of shared memory, the metadata image, and the leaders' lag tables.
 */
import type { Registry } from 'prom-client'
import type { ClusterEvent } from './cluster-events.ts'
import { ClusterLags } from './cluster-lags.ts'
import { counter, gauge, newRegistry } from './cluster-metric-series.ts'
import { ClusterTallies } from './cluster-tallies.ts'
import { TidemarkError } from './errors.ts'
import { type BrokerId, brokerId } from './ids.ts'
import type { MetadataImage } from './replication/controller/metadata-image.ts'
import { leaderNone } from './replication/registration.ts'
import { type LagTableBuffers, lagRowsMax } from './workers/lag-table.ts'
import { brokerState, type ProgressBoard } from './workers/progress-board.ts'
import type { BrokerCounter } from './workers/progress-board-layout.ts'

export interface MetricsOptions {
  /**
   * Replicas with series of their own, those longest behind of each leader: from 0 to 64 (default
   * 20). What all of them sum up to is always there.
   */
  readonly replicaLags?: number
}

interface MetricsSource {
  readonly board: ProgressBoard
  readonly image: () => MetadataImage
  readonly tallies: ClusterTallies
  readonly lags: ClusterLags
  readonly brokerIds: readonly BrokerId[]
}

const replicaLagsDefault = 20

const replicaManager = 'kafka_server_replicamanager'
const topicMetrics = 'kafka_server_brokertopicmetrics'
const controllerGauge = 'kafka_controller_kafkacontroller'

/** Meters of brokers: name, word of the board, Kafka's meaning. */
const brokerMeters: readonly (readonly [string, BrokerCounter, string])[] = [
  [`${replicaManager}_isrshrinks_total`, 'isrShrinks', 'Proposals to shrink that were committed'],
  [`${replicaManager}_isrexpands_total`, 'isrExpands', 'Proposals to expand that were committed'],
  [
    `${replicaManager}_failedisrupdates_total`,
    'failedIsrUpdates',
    'Proposals that were refused, or whose answer came too late',
  ],
  [`${topicMetrics}_messagesin_total`, 'appendedRecords', 'Records that producers appended'],
  [`${topicMetrics}_bytesin_total`, 'appendedBytes', 'Bytes of batches that producers appended'],
  [
    `${topicMetrics}_failedproducerequests_total`,
    'rejectedBatches',
    'Batches of producers that were refused',
  ],
  [
    'kafka_server_delayedproducemetrics_expires_total',
    'acksExpired',
    'Batches with acks=all that were not committed in time',
  ],
  [
    'tidemark_alter_partition_requests_total',
    'alterPartitionRequests',
    'Requests to the controller; each may carry many proposals',
  ],
  [
    'tidemark_high_watermark_advances_total',
    'highWatermarkAdvances',
    'Times that a high watermark moved',
  ],
  ['tidemark_ring_detaches_total', 'detaches', 'Followers sent to the files for being too slow'],
  ['tidemark_catch_up_reads_total', 'diskReads', "Reads of leaders' segment files"],
  ['tidemark_catch_up_read_bytes_total', 'diskReadBytes', "Bytes read of leaders' segment files"],
]

/** Gauges of brokers, 0 for one whose thread has ended. */
const brokerGauges: readonly (readonly [string, BrokerCounter, string])[] = [
  [`${replicaManager}_leadercount`, 'leaderCount', 'Partitions that the broker leads'],
  [
    `${replicaManager}_underreplicatedpartitions`,
    'underReplicated',
    'Led partitions with fewer in-sync replicas than replicas',
  ],
  [
    `${replicaManager}_underminisrpartitioncount`,
    'underMinInSync',
    'Led partitions with fewer in-sync replicas than min.insync.replicas',
  ],
  [
    `${replicaManager}_atminisrpartitioncount`,
    'atMinInSync',
    'Led partitions with as many in-sync replicas as min.insync.replicas',
  ],
  [
    'kafka_server_delayedoperationpurgatory_purgatorysize',
    'acksWaiting',
    'Batches with acks=all that wait for the high watermark',
  ],
]

/** What a cluster counts and where it looks when it is scraped. */
export class ClusterMetrics {
  readonly #source: MetricsSource

  /** @param image of the controller's log, as last heard of; asked for at each scrape */
  constructor(board: ProgressBoard, lags: LagTableBuffers, image: () => MetadataImage) {
    const brokerIds = Array.from({ length: lags.brokers }, (_, row) => brokerId(row + 1))
    this.#source = {
      board,
      image,
      brokerIds,
      tallies: new ClusterTallies(),
      lags: new ClusterLags(board, lags),
    }
  }

  /** Counts in an event of the cluster. */
  readonly take = (event: ClusterEvent): void => this.#source.tallies.take(event)

  /** @throws {TidemarkError} INVALID_ARGUMENT */
  registry({ replicaLags = replicaLagsDefault }: MetricsOptions = {}): Registry {
    if (!Number.isInteger(replicaLags) || replicaLags < 0 || replicaLags > lagRowsMax) {
      const detail = `replicaLags = ${replicaLags}: allowed are 0 to ${lagRowsMax}`
      throw new TidemarkError('INVALID_ARGUMENT', detail)
    }
    const registry = newRegistry()
    addBrokers(registry, this.#source)
    addController(registry, this.#source)
    addChanges(registry, this.#source)
    addLags(registry, this.#source, replicaLags)
    return registry
  }
}

function isAlive({ board }: MetricsSource, id: BrokerId): boolean {
  const state = board.state(id)
  return state === brokerState.running || state === brokerState.paused
}

function addBrokers(registry: Registry, source: MetricsSource): void {
  const { board } = source
  for (const [name, word, help] of brokerMeters) {
    counter(registry, name, help, ['broker'], (set) => {
      for (const id of source.brokerIds) set({ broker: id }, board.counter(id, word))
    })
  }
  counter(
    registry,
    `${topicMetrics}_replicationbytesin_total`,
    'Bytes of batches that the broker appended as a follower',
    ['broker'],
    (set) => {
      for (const id of source.brokerIds) {
        set({ broker: id }, board.counter(id, 'ringBytes') + board.counter(id, 'copiedBytes'))
      }
    },
  )
  for (const [name, word, help] of brokerGauges) {
    gauge(registry, name, help, ['broker'], (set) => {
      for (const id of source.brokerIds) {
        set({ broker: id }, isAlive(source, id) ? board.counter(id, word) : 0)
      }
    })
  }
  gauge(
    registry,
    `${replicaManager}_partitioncount`,
    'Replicas of the broker',
    ['broker'],
    (set) => {
      const counts = new Map(source.brokerIds.map((id) => [id, 0]))
      source.image().forEachPartition(({ replicas }) => {
        for (const id of replicas) counts.set(id, (counts.get(id) ?? 0) + 1)
      })
      for (const [id, count] of counts) set({ broker: id }, count)
    },
  )
  gauge(
    registry,
    'tidemark_broker_running',
    '1: its thread runs, frozen or not',
    ['broker'],
    (set) => {
      for (const id of source.brokerIds) set({ broker: id }, isAlive(source, id) ? 1 : 0)
    },
  )
}

function addController(registry: Registry, source: MetricsSource): void {
  const { tallies } = source
  const add = (name: string, help: string, value: () => number) => {
    gauge(registry, `${controllerGauge}_${name}`, help, [], (set) => set({}, value()))
  }
  const partitions = (counts: (leader: BrokerId, preferred: BrokerId) => boolean): number => {
    let count = 0
    source.image().forEachPartition(({ leader, replicas }) => {
      if (counts(leader, replicas[0]!)) count += 1
    })
    return count
  }
  add('activecontrollercount', '1: there is a controller', () =>
    tallies.isControllerActive ? 1 : 0,
  )
  add('offlinepartitionscount', 'Partitions that nobody leads', () => {
    return partitions((leader) => leader === leaderNone)
  })
  add('preferredreplicaimbalancecount', 'Partitions not led by their first replica', () => {
    return partitions((leader, preferred) => leader !== preferred)
  })
  add('globalpartitioncount', 'Partitions of the cluster', () => partitions(() => true))
  add('globaltopiccount', 'Topics of the cluster', () => [...source.image().topics()].length)
  add('activebrokercount', 'Brokers that are registered and not fenced', () => {
    return source
      .image()
      .brokers()
      .filter(({ fenced }) => !fenced).length
  })
  add('fencedbrokercount', 'Brokers that are registered and fenced', () => {
    return source
      .image()
      .brokers()
      .filter(({ fenced }) => fenced).length
  })
  const stats = 'kafka_controller_controllerstats'
  const unclean = 'Leaders elected from outside the in-sync and the eligible replicas'
  counter(registry, `${stats}_uncleanleaderelections_total`, unclean, [], (set) => {
    set({}, tallies.uncleanElections)
  })
  counter(registry, 'tidemark_leader_elections_total', 'Leaders elected', [], (set) => {
    set({}, tallies.elections)
  })
  counter(registry, 'tidemark_broker_fencings_total', 'Brokers fenced', [], (set) => {
    set({}, tallies.fencings)
  })
}

function addChanges(registry: Registry, { tallies }: MetricsSource): void {
  const left = 'Replicas that left the in-sync ones, by cause'
  counter(registry, 'tidemark_isr_departures_total', left, ['broker', 'cause'], (set) => {
    for (const [broker, causes] of tallies.departures) {
      for (const [cause, count] of causes) set({ broker, cause }, count)
    }
  })
  const flaps = 'Replicas that left the in-sync ones again after they had come back'
  counter(registry, 'tidemark_isr_flaps_total', flaps, ['broker'], (set) => {
    for (const [broker, count] of tallies.flaps) set({ broker }, count)
  })
}

function addLags(registry: Registry, { image, lags, board }: MetricsSource, rows: number): void {
  const pair = ['leader', 'follower']
  const replica = ['topic', 'partition', ...pair]
  const total = (name: string, help: string, pick: keyof Omit<Total, 'follower'>, scale = 1) => {
    gauge(registry, `tidemark_follower_${name}`, help, pair, async (set) => {
      for (const [leader, { totals }] of await lags.read()) {
        for (const each of totals) set({ leader, follower: each.follower }, each[pick] * scale)
      }
    })
  }
  total('partitions', 'Partitions that a broker follows from a leader', 'partitions')
  total('partitions_behind', 'Of these, those whose end it has not reached', 'behind')
  total('lag_records', 'Records that a follower lacks, over all partitions', 'records')
  total(
    'lag_records_max',
    'Records that it lacks in the partition where it lacks most',
    'recordsMax',
  )
  total('lag_bytes', 'Bytes that it lacks, estimated from the mean record', 'bytes')
  total('lag_seconds_max', 'Longest time since it was caught up', 'lagMsMax', 1e-3)
  const each = (name: string, help: string, value: (lag: Row) => number) => {
    gauge(registry, `tidemark_replica_${name}`, help, replica, async (set) => {
      for (const [leader, { worst }] of await lags.read()) {
        for (const lag of worst.slice(0, rows)) {
          const registration = image().partition(lag.partition)
          if (registration === undefined) continue
          const { topic, partition } = registration
          set({ topic, partition, leader, follower: lag.follower }, value(lag))
        }
      }
    })
  }
  each('lag_records', 'Records that a replica lacks; the longest behind', ({ records }) => records)
  each('lag_bytes', 'Bytes that a replica lacks, estimated', ({ bytes }) => bytes)
  each('lag_seconds', 'Time since a replica was caught up', ({ lagMs }) => lagMs / 1_000)
  const help = 'Records between what a replica has and the high watermark, the most of a broker'
  gauge(registry, 'kafka_server_replicafetchermanager_maxlag', help, ['broker'], (set) => {
    const most = new Map<BrokerId, number>()
    image().forEachPartition(({ index, leader, replicas }) => {
      if (leader === leaderNone) return
      const highWatermark = board.highWatermark(leader, index)
      for (const id of replicas) {
        if (id === leader) continue
        const lag = Math.max(0, highWatermark - board.logEndOffset(id, index))
        most.set(id, Math.max(most.get(id) ?? 0, lag))
      }
    })
    for (const [broker, lag] of most) set({ broker }, lag)
  })
}

type Reports = Awaited<ReturnType<ClusterLags['read']>>
type Report = Reports extends Map<BrokerId, infer Value> ? Value : never
type Total = Report['totals'][number]
type Row = Report['worst'][number]
