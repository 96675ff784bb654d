/** Both indexes of a segment that is not written to any more, looked up in their files. */
import { offsetIndexSuffix, segmentPath, timeIndexSuffix } from './file-names.ts'
import { IndexFile } from './index-file.ts'
import { offsetIndexEntryBytes } from './offset-index.ts'
import type { OpenFiles } from './open-files.ts'
import { type TimeEntries, timeIndexEntryBytes } from './time-index.ts'

export class SealedIndexes implements TimeEntries {
  readonly #offsets: IndexFile
  readonly #times: IndexFile
  readonly #baseOffset: number

  constructor(files: OpenFiles, directory: string, baseOffset: number) {
    this.#baseOffset = baseOffset
    const offsetPath = segmentPath(directory, baseOffset, offsetIndexSuffix)
    const timePath = segmentPath(directory, baseOffset, timeIndexSuffix)
    this.#offsets = new IndexFile(files, offsetPath, offsetIndexEntryBytes)
    this.#times = new IndexFile(files, timePath, timeIndexEntryBytes)
  }

  get timeEntries(): number {
    return this.#times.count
  }

  /** Position of the batch of the greatest entry at or below `offset`; 0 without one. */
  lookup(offset: number): number {
    const relativeOffset = offset - this.#baseOffset
    let low = 0
    let high = this.#offsets.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#offsets.int32At(middle, 0) <= relativeOffset) low = middle + 1
      else high = middle
    }
    return low === 0 ? 0 : Math.max(0, this.#offsets.int32At(low - 1, 4))
  }

  timestampMsOf(entry: number): number {
    return this.#times.int64At(entry)
  }

  offsetOf(entry: number): number {
    return this.#baseOffset + this.#times.int32At(entry, 8)
  }

  close(): void {
    this.#offsets.close()
    this.#times.close()
  }
}
