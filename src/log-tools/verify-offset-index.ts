/**
 * An offset index against its segment: each entry names a batch's first byte and last offset
 * (Kafka: `OffsetIndex.sanityCheck` and its dump tool). An entry less is no fault, as it is sparse.
 */

import { offsetIndexEntryBytes } from '../log/offset-index.ts'
import { type OffsetIndexEntry, offsetIndexEntries } from './index-entries.ts'
import type { WalkEnd } from './segment-walk.ts'
import type { BatchFacts } from './verify-batch.ts'
import type { VerifyReport } from './verify-report.ts'

export class OffsetIndexCheck {
  readonly #report: VerifyReport
  readonly #file: string
  readonly #baseOffset: number
  /** Entries that no batch has borne out yet, by the position that they name. */
  readonly #open = new Map<number, OffsetIndexEntry>()
  readonly #entries: readonly OffsetIndexEntry[]

  constructor(report: VerifyReport, file: string, baseOffset: number, bytes: Uint8Array) {
    this.#report = report
    this.#file = file
    this.#baseOffset = baseOffset
    this.#entries = offsetIndexEntries(bytes)
    report.counts.indexEntries += this.#entries.length
    checkEntryBytes(report, 'offset-index', file, bytes.length, offsetIndexEntryBytes)
    for (const entry of this.#entries) {
      if (this.#open.has(entry.position)) this.#add(entry, 'positions that ascend')
      this.#open.set(entry.position, entry)
    }
  }

  see(facts: BatchFacts): void {
    const entry = this.#open.get(facts.filePosition)
    if (entry === undefined) return
    this.#open.delete(facts.filePosition)
    if (this.#baseOffset + entry.relativeOffset === facts.lastOffset) return
    this.#add(entry, `offset ${facts.lastOffset}, the last of the batch there`)
  }

  /** Where the next batch begins for certain; undefined: no entry beyond `position`. */
  nextPosition(position: number): number | undefined {
    return this.#entries.find((entry) => entry.position > position)?.position
  }

  /** A batch about which nothing is known stands there. */
  lose(filePosition: number): void {
    this.#open.delete(filePosition)
  }

  /** `position`: how far the segment was read. */
  end({ position, fileBytes }: WalkEnd): void {
    for (const entry of this.#open.values()) {
      const unread = entry.position >= position && entry.position < fileBytes
      if (!unread) this.#add(entry, 'the position of a batch')
    }
    let before: OffsetIndexEntry | undefined
    for (const entry of this.#entries) {
      const falls =
        before !== undefined &&
        before.position > entry.position &&
        before.relativeOffset > entry.relativeOffset
      if (falls) this.#add(entry, 'offsets and positions that ascend')
      before = entry
    }
  }

  #add({ filePosition, relativeOffset, position }: OffsetIndexEntry, expected: string): void {
    const offset = this.#baseOffset + relativeOffset
    const found = `offset ${offset} at position ${position}`
    this.#report.add(
      'offset-index',
      this.#file,
      { offset, position: filePosition },
      { expected, found },
    )
  }
}

/** An index file consists of whole entries. */
export function checkEntryBytes(
  report: VerifyReport,
  check: 'offset-index' | 'time-index' | 'transaction-index',
  file: string,
  fileBytes: number,
  entryBytes: number,
): void {
  const rest = fileBytes % entryBytes
  if (rest === 0) return
  const expected = `entries of ${entryBytes} bytes each`
  report.add(check, file, { position: fileBytes - rest }, { expected, found: `${rest} bytes` })
}
