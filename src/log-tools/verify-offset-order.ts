/** Offsets of a log go up, and without a gap where it was never compacted. */

import type { BatchFacts } from './verify-batch.ts'
import type { VerifyReport } from './verify-report.ts'

export class OffsetOrder {
  readonly #report: VerifyReport
  /** Below it compaction may have left gaps. */
  readonly #gapsBelow: number
  /** -1: nothing is known. */
  #next = -1
  /** After a batch out of place: where the next one begins if only that one was. */
  #alternative = -1

  constructor(report: VerifyReport, gapsBelow: number) {
    this.#report = report
    this.#gapsBelow = gapsBelow
  }

  /** One past the last offset seen; -1: none yet. */
  get nextOffset(): number {
    return this.#next
  }

  /** Whether offsets from there on may be missing. */
  mayLack(offset: number): boolean {
    return offset < this.#gapsBelow
  }

  /** A segment file begins. `complete`: all of the one before was read. */
  beginSegment(file: string, baseOffset: number, complete: boolean): void {
    const next = this.#next
    const gap = baseOffset > next && complete && !this.mayLack(next)
    if (next >= 0 && (baseOffset < next || gap)) {
      const expected = `a segment that begins at ${next}, where the one before ends`
      this.#report.add('offset-order', file, {}, { expected, found: `base offset ${baseOffset}` })
    }
    this.#next = baseOffset
    this.#alternative = -1
  }

  /** A batch whose offsets cannot be trusted: what follows may begin anywhere above. */
  lose(): void {
    this.#alternative = Number.NaN
  }

  see(file: string, { firstOffset, lastOffset, filePosition }: BatchFacts): void {
    const next = this.#next
    const alternative = this.#alternative
    const length = lastOffset + 1 - firstOffset
    const lost = Number.isNaN(alternative)
    this.#alternative = -1
    const inPlace =
      firstOffset === next ||
      firstOffset === alternative ||
      (firstOffset > next && (lost || this.mayLack(next)))
    if (!inPlace) {
      const place = { offset: firstOffset, position: filePosition }
      const expected = this.mayLack(next) ? `offset ${next} or above` : `offset ${next}`
      const found = `offsets ${firstOffset} to ${lastOffset}`
      this.#report.add('offset-order', file, place, { expected, found })
      this.#alternative = next + length
    }
    this.#next = lastOffset + 1
  }
}
