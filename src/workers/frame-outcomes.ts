/**
 * What became of a round's frames, from the append of their group on until it is answered. Arrays
 * are reused from round to round.
 */
import { AppendOutcomes } from '../log/producers/append-outcomes.ts'
import type { FrameGroups } from './frame-groups.ts'

export class FrameOutcomes {
  /** Frames, and so groups, there is room for. */
  readonly capacity: number
  /** For the append of one group; `keep` must follow before that of the next. */
  readonly ofGroup: AppendOutcomes
  /** By group: all its frames are in the log, and the batches tell their offsets. */
  readonly #isPlain: Uint8Array
  /** By group: its log didn't take it. */
  readonly #isRefused: Uint8Array
  /** By frame. */
  readonly #errors: Int32Array
  readonly #duplicates: Uint8Array
  readonly #baseOffsets: Float64Array
  readonly #nextOffsets: Float64Array

  constructor(capacity: number) {
    this.capacity = capacity
    this.ofGroup = new AppendOutcomes(capacity)
    this.#isPlain = new Uint8Array(capacity)
    this.#isRefused = new Uint8Array(capacity)
    this.#errors = new Int32Array(capacity)
    this.#duplicates = new Uint8Array(capacity)
    this.#baseOffsets = new Float64Array(capacity)
    this.#nextOffsets = new Float64Array(capacity)
  }

  setRefused(group: number, isRefused: boolean): void {
    this.#isRefused[group] = isRefused ? 1 : 0
  }

  isRefused(group: number): boolean {
    return this.#isRefused[group] === 1
  }

  keep(groups: FrameGroups, group: number): void {
    const { areAllPlain, errors, duplicates, baseOffsets, nextOffsets } = this.ofGroup
    this.#isPlain[group] = areAllPlain ? 1 : 0
    if (areAllPlain) return
    let place = 0
    for (let at = groups.first(group); at >= 0; at = groups.next(at)) {
      this.#errors[at] = errors[place]!
      this.#duplicates[at] = duplicates[place]!
      this.#baseOffsets[at] = baseOffsets[place]!
      this.#nextOffsets[at] = nextOffsets[place]!
      place += 1
    }
  }

  isPlain(group: number): boolean {
    return this.#isPlain[group] === 1
  }

  /** Number of the error for which a frame was refused; 0: its batch is in the log. */
  error(at: number): number {
    return this.#errors[at]!
  }

  /** Whether the batch was in the log already. */
  isDuplicate(at: number): boolean {
    return this.#duplicates[at] === 1
  }

  baseOffset(at: number): number {
    return this.#baseOffsets[at]!
  }

  endOffset(at: number): number {
    return this.#nextOffsets[at]!
  }
}
