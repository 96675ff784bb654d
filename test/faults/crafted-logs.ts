/** Replicas whose logs are written by hand before their brokers start. */
import fs from 'node:fs'
import path from 'node:path'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { runOfRecords, textRecord } from '../support/batch-builder.ts'
import { topicName } from '../support/worker-brokers.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'

/** Records of an epoch, one a batch; 0: the epoch began and wrote nothing. */
export type Tenure = readonly [leaderEpoch: number, records: number]

export interface DivergedLogs {
  readonly leader: readonly Tenure[]
  readonly follower: readonly Tenure[]
}

/**
 * Broker 1 leads, in a later epoch than all that is written; broker 2 has just started, and nothing
 * has passed between them yet. Values tell epoch and offset, so that equal ones have one history.
 */
export function diverged(logs: DivergedLogs): WorkerCluster {
  const cluster = new WorkerCluster({
    brokers: 2,
    config: {
      'broker.session.timeout.ms': 200,
      'broker.heartbeat.interval.ms': 50,
      'replica.lag.time.max.ms': 200,
    },
  })
  const latest = Math.max(...[...logs.leader, ...logs.follower].map(([epoch]) => epoch))
  while (cluster.registration().leaderEpoch < latest || cluster.leader() !== 1) {
    const old = cluster.leader()
    cluster.kill(old)
    cluster.until('the other leads', () => cluster.leader() === 3 - old)
    cluster.start(old)
    cluster.converge()
  }
  cluster.kill(2)
  cluster.until('broker 1 is alone', () => cluster.isr().length === 1)
  cluster.kill(1)
  cluster.until('nobody leads', () => cluster.leader() === -1)
  craftLog(cluster, 1, logs.leader)
  craftLog(cluster, 2, logs.follower)
  cluster.start(1)
  cluster.until('broker 1 leads again', () => cluster.leader() === 1 && cluster.isFollowed())
  cluster.start(2)
  return cluster
}

function craftLog(cluster: WorkerCluster, broker: number, tenures: readonly Tenure[]): void {
  const directory = path.join(cluster.directory(broker), `${topicName}-0`)
  fs.rmSync(directory, { recursive: true })
  const log = PartitionLog.open({
    directory,
    topic: topicName,
    partition: 0,
    config: logConfigDefaults,
    clock: cluster.clock,
    cleanShutdown: true,
  })
  for (const [leaderEpoch, records] of tenures) {
    log.leaderEpochs.assign(leaderEpoch, log.logEndOffset)
    for (let left = records; left > 0; left--) {
      const record = textRecord(`epoch ${leaderEpoch}, offset ${log.logEndOffset}`, 1_000)
      log.append(runOfRecords([record]), leaderEpoch)
    }
  }
  log.close()
}
