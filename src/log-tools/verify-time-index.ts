/**
 * A time index against its segment: each entry names the earliest batch that is newer than all
 * before it, by its largest timestamp and last offset (or, as brokers before 4.0 wrote it, by the
 * offset of the record that has it). The last entry of a segment that is done names its newest.
 */
import { timeIndexEntryBytes } from '../log/time-index.ts'
import { type TimeIndexEntry, timeIndexEntries } from './index-entries.ts'
import type { BatchFacts } from './verify-batch.ts'
import { checkEntryBytes } from './verify-offset-index.ts'
import type { VerifyReport } from './verify-report.ts'

export class TimeIndexCheck {
  readonly #report: VerifyReport
  readonly #file: string
  readonly #baseOffset: number
  readonly #entries: readonly TimeIndexEntry[]
  /** By offset, for as long as no batch has borne them out. */
  readonly #open: TimeIndexEntry[]
  #at = 0
  #maxTimestampMs = -1
  /** A batch was lost: the newest timestamp may have been in it. */
  #uncertain = false

  constructor(report: VerifyReport, file: string, baseOffset: number, bytes: Uint8Array) {
    this.#report = report
    this.#file = file
    this.#baseOffset = baseOffset
    this.#entries = timeIndexEntries(bytes)
    this.#open = [...this.#entries].sort((a, b) => a.relativeOffset - b.relativeOffset)
    report.counts.indexEntries += this.#entries.length
    checkEntryBytes(report, 'time-index', file, bytes.length, timeIndexEntryBytes)
    this.#checkOrder()
  }

  see({ firstOffset, lastOffset, maxTimestampMs, maxTimestampOffset }: BatchFacts): void {
    const newer = maxTimestampMs > this.#maxTimestampMs || this.#uncertain
    for (; this.#at < this.#open.length; this.#at += 1) {
      const entry = this.#open[this.#at]
      const offset = this.#baseOffset + entry.relativeOffset
      if (offset > lastOffset) break
      const place = offset === lastOffset || offset === maxTimestampOffset
      if (offset < firstOffset || !place || !newer || entry.timestampMs !== maxTimestampMs) {
        const expected = `a batch's largest timestamp where it is newer than all before: ${Math.max(this.#maxTimestampMs, maxTimestampMs)} ms up to offset ${lastOffset}`
        this.#add(entry, expected)
      }
    }
    this.#maxTimestampMs = Math.max(this.#maxTimestampMs, maxTimestampMs)
  }

  /** A batch about which nothing is known, up to an offset that isn't known either. */
  lose(): void {
    this.#uncertain = true
  }

  /** `isDone`: nothing is appended to the segment any more, so its index has its last entry. */
  end(isDone: boolean): void {
    if (this.#uncertain) return
    for (; this.#at < this.#open.length; this.#at += 1) {
      this.#add(this.#open[this.#at], 'an offset that the segment has')
    }
    const last = this.#entries.at(-1)
    const lastMs = last?.timestampMs ?? -1
    if (!isDone || lastMs >= this.#maxTimestampMs) return
    const expected = `a last entry for the newest timestamp, ${this.#maxTimestampMs} ms`
    const found = last === undefined ? 'no entry' : `${lastMs} ms`
    this.#report.add(
      'time-index',
      this.#file,
      last === undefined ? {} : { position: last.filePosition },
      { expected, found },
    )
  }

  #checkOrder(): void {
    let before: TimeIndexEntry | undefined
    for (const entry of this.#entries) {
      if (!entry.isExact) this.#add(entry, 'a timestamp within 2^53 ms')
      const ascends =
        before === undefined ||
        (entry.timestampMs > before.timestampMs && entry.relativeOffset > before.relativeOffset)
      if (!ascends) this.#add(entry, 'timestamps and offsets that ascend')
      before = entry
    }
  }

  #add({ filePosition, timestampMs, relativeOffset }: TimeIndexEntry, expected: string): void {
    const offset = this.#baseOffset + relativeOffset
    this.#report.add(
      'time-index',
      this.#file,
      { offset, position: filePosition },
      { expected, found: `${timestampMs} ms at offset ${offset}` },
    )
  }
}
