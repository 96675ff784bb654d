/**
 * What became of a round's frames, from the append of their group on until it is answered. Arrays
 * are reused from round to round.
 */
import { AppendOutcomes } from '../log/producers/append-outcomes.ts'
import { type FrameGroups, framesPerRoundMax } from './frame-groups.ts'

export class FrameOutcomes {
  /** For the append of one group; `keep` must follow before that of the next. */
  readonly ofGroup = new AppendOutcomes(framesPerRoundMax)
  /** By group: all its frames are in the log, and the batches tell their offsets. */
  readonly #isPlain = new Uint8Array(framesPerRoundMax)
  /** By frame. */
  readonly #errors = new Int32Array(framesPerRoundMax)
  readonly #duplicates = new Uint8Array(framesPerRoundMax)
  readonly #baseOffsets = new Float64Array(framesPerRoundMax)
  readonly #nextOffsets = new Float64Array(framesPerRoundMax)

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
