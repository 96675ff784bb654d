/**
 * Which replicas stand outside the committed ISR of their partition, per follower. Lets a poll of a
 * follower look at just those, however many partitions it follows.
 */

import type { BrokerId } from '../ids.ts'
import { limits } from '../limits.ts'
import { replicaStride } from './led-partitions.ts'

export class Outsiders {
  /** Per broker: replica indexes (`partition * stride + slot`), dense. */
  readonly #lists: (Int32Array | undefined)[] = []
  readonly #counts = new Int32Array(limits.brokersMax + 1)
  /** Per replica: its place in the list of its broker, -1 if it is not outside. */
  readonly #place: Int32Array
  /** Per replica: 1 once it has been at the leader's end since it left. */
  readonly #hasReachedEnd: Uint8Array
  readonly #partitionsMax: number

  constructor(partitionsMax: number) {
    this.#partitionsMax = partitionsMax
    this.#place = new Int32Array(partitionsMax * replicaStride).fill(-1)
    this.#hasReachedEnd = new Uint8Array(partitionsMax * replicaStride)
  }

  count(broker: BrokerId): number {
    return this.#counts[broker]
  }

  /** Replica index at a place from 0 to `count(broker) - 1`; the order is arbitrary. */
  at(broker: BrokerId, place: number): number {
    return this.#listOf(broker)[place]
  }

  /** Remembers that the replica has been at the leader's end; true the first time since it left. */
  reachesEnd(index: number): boolean {
    if (this.#hasReachedEnd[index] === 1) return false
    this.#hasReachedEnd[index] = 1
    return true
  }

  hasReachedEnd(index: number): boolean {
    return this.#hasReachedEnd[index] === 1
  }

  add(broker: BrokerId, index: number): void {
    if (this.#place[index] >= 0) return
    const list = this.#listOf(broker)
    this.#place[index] = this.#counts[broker]
    list[this.#counts[broker]] = index
    this.#counts[broker] += 1
    this.#hasReachedEnd[index] = 0
  }

  remove(broker: BrokerId, index: number): void {
    const place = this.#place[index]
    if (place < 0) return
    const list = this.#listOf(broker)
    this.#counts[broker] -= 1
    const moved = list[this.#counts[broker]]
    list[place] = moved
    this.#place[moved] = place
    this.#place[index] = -1
  }

  #listOf(broker: BrokerId): Int32Array {
    const list = this.#lists[broker] ?? new Int32Array(this.#partitionsMax)
    this.#lists[broker] = list
    return list
  }
}
