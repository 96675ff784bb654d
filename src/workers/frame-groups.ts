/**
 * FrameGroups: one round's frames, chained into one list a partition in ring order, so that many
 * small batches of a partition become one write. All arrays are reused from round to round.
 */
import type { PartitionIndex } from '../ids.ts'
import type { BatchRun } from '../log/batch-memory.ts'
import type { BatchRing } from './batch-ring.ts'

export const framesPerRoundMax = 1_024

export class FrameGroups {
  /** Positions of its batches in ring memory, as `PartitionLog` takes them; filled by `select`. */
  readonly run: BatchRun
  readonly #ring: BatchRing
  readonly #framePosition = new Int32Array(framesPerRoundMax)
  readonly #nextFrame = new Int32Array(framesPerRoundMax)
  readonly #groupPartition = new Int32Array(framesPerRoundMax)
  readonly #groupFirst = new Int32Array(framesPerRoundMax)
  readonly #groupLast = new Int32Array(framesPerRoundMax)
  readonly #groupOfPartition: Int32Array
  readonly #roundOfPartition: Int32Array
  #round = 0
  #frameCount = 0
  #groupCount = 0

  constructor(ring: BatchRing, partitionsMax: number) {
    this.#ring = ring
    this.#groupOfPartition = new Int32Array(partitionsMax)
    this.#roundOfPartition = new Int32Array(partitionsMax)
    this.run = { memory: ring.memory, positions: new Int32Array(framesPerRoundMax), count: 0 }
  }

  begin(): void {
    this.#round = (this.#round + 1) | 0
    this.#frameCount = 0
    this.#groupCount = 0
  }

  get groupCount(): number {
    return this.#groupCount
  }

  get isFull(): boolean {
    return this.#frameCount === framesPerRoundMax
  }

  has(partition: PartitionIndex): boolean {
    return this.#roundOfPartition[partition] === this.#round
  }

  add(partition: PartitionIndex, position: number): void {
    const index = this.#frameCount++
    this.#framePosition[index] = position
    this.#nextFrame[index] = -1
    if (!this.has(partition)) {
      const group = this.#groupCount++
      this.#roundOfPartition[partition] = this.#round
      this.#groupOfPartition[partition] = group
      this.#groupPartition[group] = partition
      this.#groupFirst[group] = index
      this.#groupLast[group] = index
      return
    }
    const group = this.#groupOfPartition[partition]!
    this.#nextFrame[this.#groupLast[group]!] = index
    this.#groupLast[group] = index
  }

  partition(group: number): PartitionIndex {
    return this.#groupPartition[group]! as PartitionIndex
  }

  /** Fills `run` with the batches of a group. */
  select(group: number): BatchRun {
    const { run } = this
    run.count = 0
    for (let at = this.first(group); at >= 0; at = this.next(at)) {
      run.positions[run.count++] = this.#ring.batchPosition(this.position(at))
    }
    return run
  }

  /** First frame of a group; go on with `next` until it is negative. */
  first(group: number): number {
    return this.#groupFirst[group]!
  }

  next(at: number): number {
    return this.#nextFrame[at]!
  }

  /** Ring position of a frame. */
  position(at: number): number {
    return this.#framePosition[at]!
  }
}
