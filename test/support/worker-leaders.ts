/** Leaders of a WorkerCluster that fall silent, and followers that keep nothing of them. */
import { brokerId } from '../../src/ids.ts'
import { WorkerCluster } from './worker-cluster.ts'

/** Lets the session of a silent leader end. */
export function untilElected(cluster: WorkerCluster, old = 1): void {
  cluster.until('another leads', () => ![old, -1].includes(cluster.leader()), 5_000)
  cluster.run(50)
}

/** Followers go on polling and take nothing more: their throttle is in debt. */
export function stall(cluster: WorkerCluster, ...followers: number[]): void {
  for (const each of followers) cluster.board.setThrottleBytesPerSec(brokerId(each), 1)
  cluster.run(200)
  cluster.produce(0, 1)
  cluster.run(20)
}

export function release(cluster: WorkerCluster, ...followers: number[]): void {
  for (const each of followers) cluster.board.setThrottleBytesPerSec(brokerId(each), 0)
}

/** Broker 3 ended with one record and has left the in-sync replicas; it lacks these batches. */
export function endedBehind(...batches: readonly number[]): WorkerCluster {
  const cluster = new WorkerCluster({ config: { 'replica.lag.time.max.ms': 300 } })
  cluster.run(50)
  cluster.produce(0, 1)
  cluster.settle()
  cluster.kill(3)
  for (const records of batches) cluster.produce(0, records)
  cluster.until('3 has left', () => cluster.isr().length === 2, 5_000)
  return cluster
}
