import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import type { WorkerCluster } from './worker-cluster.ts'

/** Random load and steps; small and large batches, several in a round. */
export function work(cluster: WorkerCluster, random: SeededRandom, steps: number): void {
  for (let at = 0; at < steps; at++) {
    const choice = random.nextBelow(10)
    if (choice < 4) {
      const bytes = [10, 200, 2_000, 15_000][random.nextBelow(4)]!
      cluster.produce(random.nextBelow(cluster.partitions), 1 + random.nextBelow(3), bytes / 3)
    } else if (choice < 9) cluster.step(1 + random.nextBelow(cluster.brokers))
    else {
      cluster.clock.advance(random.nextBelow(20))
      cluster.round()
    }
    cluster.checkHighWatermarks()
  }
}
