/** Producers that never stop, and the check that nothing of what they were told is missing. */
import { expect, onTestFinished } from 'vitest'
import type { Producer } from '../../src/client/producer.ts'
import type { Cluster } from '../../src/cluster.ts'
import { committed, isWhole, logBytes, until } from './open-cluster.ts'

export const partitions = [0, 1, 2]

/**
 * Sends to every partition as fast as answers come, until it is stopped; remembers what was
 * acknowledged.
 */
export class Load {
  /** Values acknowledged, by partition and offset. */
  readonly acknowledged = partitions.map(() => new Map<number, string>())
  failed = 0
  readonly #producer: Producer
  readonly #running: Promise<void>[]
  #isStopped = false

  constructor(cluster: Cluster) {
    this.#producer = cluster.producer({ requestTimeoutMs: 5_000 })
    this.#running = partitions.map((partition) => this.#run(partition))
    onTestFinished(() => {
      this.#isStopped = true
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
    await this.#producer.close()
  }

  async #run(partition: number): Promise<void> {
    for (let round = 0; !this.#isStopped; round++) {
      const values = Array.from({ length: 10 }, (_, at) => `${partition}:${round}:${at}`)
      await Promise.all(
        values.map(async (value) => {
          try {
            const { offset } = await this.#producer.send({ topic: 't', partition, value })
            this.acknowledged[partition].set(offset, value)
          } catch {
            this.failed++
            await new Promise((resolve) => setImmediate(resolve))
          }
        }),
      )
    }
  }
}

/** Everything acknowledged is committed where the answer said; replicas agree byte for byte. */
export async function expectNothingLost(cluster: Cluster, load: Load): Promise<void> {
  await until('all replicas are in sync again', () => isWhole(cluster))
  for (const partition of partitions) {
    const values = await committed(cluster, partition)
    for (const [offset, value] of load.acknowledged[partition]) {
      expect(values[offset]).toBe(value)
    }
    expect(new Set(values).size).toBe(values.length)
    const [bytes, ...others] = logBytes(cluster, partition)
    for (const other of others) expect(other.equals(bytes)).toBe(true)
  }
}

export function acknowledgedCount(load: Load): number {
  return load.acknowledged.reduce((sum, { size }) => sum + size, 0)
}
