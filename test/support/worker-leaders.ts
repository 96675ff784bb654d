/** Leaders of a WorkerCluster that fall silent, and followers that keep nothing of them. */
import { brokerId } from '../../src/ids.ts'
import type { WorkerCluster } from './worker-cluster.ts'

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
