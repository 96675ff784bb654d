/**
 * A loaded cluster one of whose followers is frozen and let go: when each partition left the
 * in-sync replicas, was at the leader's log end again, and was taken in.
 */
import type { Cluster } from '../../src/cluster.ts'
import type { ClusterEvent } from '../../src/cluster-events.ts'
import { brokerId, type PartitionIndex } from '../../src/ids.ts'
import type { ReplicationEvent } from '../../src/replication/replication-event.ts'

export const leader = brokerId(1)
export const follower = brokerId(3)

const waitMsMax = 60_000

type Times = ReadonlyMap<PartitionIndex, number>

/** Times are of the leader's clock, ms since 1970. */
export interface Eviction {
  readonly frozenAtMs: number
  readonly leftAtMs: Times
  readonly requests: number
}

export interface Return {
  readonly resumedAtMs: number
  readonly reachedAtMs: Times
  readonly admittedAtMs: Times
  readonly requests: number
}

export class OutageStage {
  readonly #cluster: Cluster
  readonly #partitions: readonly PartitionIndex[]
  readonly #left = new Map<PartitionIndex, number>()
  readonly #reached = new Map<PartitionIndex, number>()
  readonly #admitted = new Map<PartitionIndex, number>()

  /** @param partitions all that the follower has a replica of */
  constructor(cluster: Cluster, partitions: readonly PartitionIndex[]) {
    this.#cluster = cluster
    this.#partitions = partitions
    cluster.onEvent((event: ClusterEvent) => {
      if (event.type === 'replication') this.#take(event.event)
    })
  }

  /** Freezes the follower; resolves when it has left all partitions. */
  async freeze(): Promise<Eviction> {
    this.#left.clear()
    const requests = this.#requests()
    await this.#cluster.pause(follower)
    const frozenAtMs = now()
    await until(() => this.#left.size === this.#partitions.length, 'left')
    return { frozenAtMs, leftAtMs: new Map(this.#left), requests: this.#requests() - requests }
  }

  /** Lets the follower go; resolves when it is back in all partitions. */
  async resume(): Promise<Return> {
    this.#reached.clear()
    this.#admitted.clear()
    const requests = this.#requests()
    const resumedAtMs = now()
    this.#cluster.resume(follower)
    await until(() => this.#admitted.size === this.#partitions.length, 'came back')
    return {
      resumedAtMs,
      reachedAtMs: new Map(this.#reached),
      admittedAtMs: new Map(this.#admitted),
      requests: this.#requests() - requests,
    }
  }

  #requests(): number {
    return this.#cluster.board.counter(leader, 'alterPartitionRequests')
  }

  #take(event: ReplicationEvent): void {
    const { type, partition, atMs } = event
    if (type === 'reachedLogEnd' && event.brokerId === follower) this.#reached.set(partition, atMs)
    if (type !== 'shrinkCommitted' && type !== 'expandCommitted') return
    const had = event.previous.includes(follower)
    const has = event.inSyncReplicas.includes(follower)
    if (had && !has) this.#left.set(partition, atMs)
    if (has && !had) this.#admitted.set(partition, atMs)
  }
}

/** @throws {Error} when it takes too long */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const untilMs = now() + waitMsMax
  while (!condition()) {
    if (now() > untilMs) throw new Error(`not every partition ${what} within ${waitMsMax} ms`)
    await pause(5)
  }
}

export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms))
}

export function now(): number {
  return performance.timeOrigin + performance.now()
}
