import { describe, expect, it } from 'vitest'
import { brokerId } from '../../src/ids.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { FaultWords } from '../../src/workers/fault-words.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { work } from '../support/worker-load.ts'
import { expectNothingLost, expectSameLogs } from '../support/worker-logs.ts'

const seeds = Array.from({ length: 25 }, (_, index) => 7_000 + index)

function newCluster(): WorkerCluster {
  return new WorkerCluster({
    assignments: [
      [1, 2, 3],
      [2, 3, 1],
      [3, 1, 2],
    ],
    topic: { 'min.insync.replicas': '2', 'segment.bytes': '32768' },
    config: {
      'catch.up.read.bytes': 4_096,
      'replica.lag.time.max.ms': 300,
      'replica.fetch.backoff.ms': 50,
      'broker.session.timeout.ms': 500,
      'broker.heartbeat.interval.ms': 50,
    },
  })
}

/** At most one broker is away at a time: that is what two in-sync replicas bear. */
class Faults {
  readonly #cluster: WorkerCluster
  readonly #random: SeededRandom
  readonly #words: FaultWords
  #victim = 0

  constructor(cluster: WorkerCluster, random: SeededRandom) {
    this.#cluster = cluster
    this.#random = random
    this.#words = new FaultWords(cluster.board)
  }

  begin(): void {
    const victim = 1 + this.#random.nextBelow(3)
    this.#victim = victim
    switch (this.#random.nextBelow(5)) {
      case 0:
        this.#cluster.kill(victim)
        break
      case 1:
        this.#cluster.cutOff.add(victim)
        break
      case 2:
        this.#setCuts(victim, 1 + this.#random.nextBelow(3))
        break
      case 3:
        this.#cluster.disk(victim).failWrites(this.#random.nextBelow(2) === 0 ? 'EIO' : 'ENOSPC')
        break
      default:
        this.#cluster.frozen.add(victim)
    }
  }

  end(): void {
    this.#cluster.cutOff.clear()
    this.#cluster.frozen.clear()
    this.#setCuts(this.#victim, 0)
    if (!this.#cluster.isAlive(this.#victim)) this.#cluster.start(this.#victim)
    // One that never wrote didn't notice: its disk is as it was.
    else this.#cluster.disk(this.#victim).failWrites(undefined)
  }

  #setCuts(victim: number, bits: number): void {
    for (let other = 1; other <= 3; other++) {
      if (other === victim) continue
      this.#words.setFetchCut(brokerId(other), brokerId(victim), bits)
      this.#words.setFetchCut(brokerId(victim), brokerId(other), bits)
    }
  }
}

describe('one fault after another', () => {
  it.each(seeds)('loses nothing that was acknowledged; logs end up the same, seed %i', (seed) => {
    const random = new SeededRandom(seed)
    const cluster = newCluster()
    const faults = new Faults(cluster, random)
    for (let round = 0; round < 4; round++) {
      work(cluster, random, 20 + random.nextBelow(60))
      faults.begin()
      work(cluster, random, random.nextBelow(60))
      if (random.nextBelow(3) > 0) {
        for (let part = 0; part < 5; part++) {
          cluster.run(random.nextBelow(400), 10)
          work(cluster, random, 10)
        }
      }
      faults.end()
      cluster.converge()
      expectNothingLost(cluster)
    }
    cluster.news.length = 0
    expectSameLogs(cluster)
    expect(cluster.acknowledged.some(({ error }) => error === 'NONE')).toBe(true)
    // Closes their files.
    for (const broker of [1, 2, 3]) cluster.kill(broker)
  })
})
