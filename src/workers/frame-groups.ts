/**
 * FrameGroups: one round's frames, chained into one list a partition in ring order, so that many
 * small batches of a partition become one write. All arrays are reused from round to round, and
 * grow to the bound only where so much came at once: what never sees a backlog keeps small ones.
 */
import type { PartitionIndex } from '../ids.ts'
import type { BatchRun } from '../log/batch-memory.ts'
import type { BatchRing } from './batch-ring.ts'

const framesPerRoundMax = 4_096
/** What every reader of a ring has room for from the start. */
const framesPerRoundMin = 1_024

export class FrameGroups {
  readonly #ring: BatchRing
  #run: BatchRun
  #framePosition = new Int32Array(framesPerRoundMin)
  #nextFrame = new Int32Array(framesPerRoundMin)
  #groupPartition = new Int32Array(framesPerRoundMin)
  #groupFirst = new Int32Array(framesPerRoundMin)
  #groupLast = new Int32Array(framesPerRoundMin)
  readonly #groupOfPartition: Int32Array
  readonly #roundOfPartition: Int32Array
  #round = 0
  #frameCount = 0
  #groupCount = 0

  constructor(ring: BatchRing, partitionsMax: number) {
    this.#ring = ring
    this.#groupOfPartition = new Int32Array(partitionsMax)
    this.#roundOfPartition = new Int32Array(partitionsMax)
    this.#run = { memory: ring.memory, positions: new Int32Array(framesPerRoundMin), count: 0 }
  }

  /** Frames, and so groups, there is room for now. */
  get capacity(): number {
    return this.#framePosition.length
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
    if (this.#frameCount === this.capacity) this.#grow()
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

  /**
   * Positions of a group's batches in ring memory, as `PartitionLog` takes them. Good until the
   * next call.
   */
  select(group: number): BatchRun {
    const run = this.#run
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

  #grow(): void {
    const capacity = Math.min(2 * this.capacity, framesPerRoundMax)
    this.#framePosition = grown(this.#framePosition, capacity)
    this.#nextFrame = grown(this.#nextFrame, capacity)
    this.#groupPartition = grown(this.#groupPartition, capacity)
    this.#groupFirst = grown(this.#groupFirst, capacity)
    this.#groupLast = grown(this.#groupLast, capacity)
    this.#run = { memory: this.#ring.memory, positions: new Int32Array(capacity), count: 0 }
  }
}

function grown(words: Int32Array, capacity: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(capacity)
  larger.set(words)
  return larger
}
