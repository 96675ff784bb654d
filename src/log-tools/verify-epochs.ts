/**
 * Leader epochs: those of the batches go up, and are the ones that the history in
 * `leader-epoch-checkpoint` gives to their offsets. A batch's epoch and offset lie outside its CRC;
 * this is what finds them changed.
 */
import type { EpochEntry } from './checkpoint-lines.ts'
import type { BatchFacts } from './verify-batch.ts'
import type { VerifyReport } from './verify-report.ts'

export interface EpochHistory {
  readonly file: string
  /** undefined: there is no file, or it cannot be read. */
  readonly entries: readonly EpochEntry[] | undefined
  /** Whether the file is not there. */
  readonly isMissing: boolean
  /** Where the log begins; undefined: only the checkpoints of its broker could tell. */
  readonly logStartOffset: number | undefined
}

export class EpochCheck {
  readonly #report: VerifyReport
  readonly #history: EpochHistory
  #latest = -1
  /** Entry that covers the batches now; -1: they lie before the first. */
  #at = -1
  /** The last disagreement, so that it is told once and not for each batch. */
  #told = ''

  constructor(report: VerifyReport, history: EpochHistory) {
    this.#report = report
    this.#history = history
    this.#checkEntries()
  }

  see(file: string, facts: BatchFacts): void {
    const { leaderEpoch, firstOffset, filePosition } = facts
    const place = { offset: firstOffset, position: filePosition }
    if (leaderEpoch < this.#latest) {
      const expected = `leader epoch ${this.#latest} or above, as before it`
      this.#report.add('leader-epoch', file, place, { expected, found: `${leaderEpoch}` })
    }
    // A batch whose epoch is too large shall not make those after it look too small.
    const covering = this.#coveringEpoch(facts)
    this.#latest = Math.max(this.#latest, covering ?? leaderEpoch)
    if (covering !== undefined) this.#compare(file, facts, covering)
    else if (leaderEpoch >= 0) this.#checkUncovered(file, facts)
  }

  /** One past the last offset of the log, if all of it was read. */
  end(logEndOffset: number): void {
    const last = this.#history.entries?.at(-1)
    if (last === undefined || last.startOffset <= logEndOffset) return
    this.#addEntry(last, `an offset up to ${logEndOffset}, where the log ends`)
  }

  /** Moves on to the entry that covers the batch; its start must be where a batch begins. */
  #coveringEpoch({ firstOffset, lastOffset }: BatchFacts): number | undefined {
    const { entries, logStartOffset } = this.#history
    if (entries === undefined) return undefined
    while (this.#at + 1 < entries.length && entries[this.#at + 1].startOffset <= firstOffset) {
      this.#at += 1
    }
    const next = entries[this.#at + 1]
    if (next !== undefined && next.startOffset <= lastOffset) {
      // Where the log begins within a batch, the first entry begins there too.
      const cut = logStartOffset === undefined || logStartOffset === next.startOffset
      if (this.#at < 0 && cut) return next.leaderEpoch
      this.#addEntry(next, `the first offset of a batch, as ${firstOffset}`)
    }
    return entries[this.#at]?.leaderEpoch
  }

  #compare(file: string, facts: BatchFacts, covering: number): void {
    const { leaderEpoch, firstOffset, filePosition } = facts
    if (leaderEpoch === covering) return
    const entry = `${this.#at}:${leaderEpoch}`
    if (this.#told === entry) return
    this.#told = entry
    const place = { offset: firstOffset, position: filePosition }
    const expected = `leader epoch ${covering}, as ${this.#history.file} has it for that offset`
    this.#report.add('leader-epoch', file, place, { expected, found: `${leaderEpoch}` })
  }

  /** A batch below the first entry lies below the log's start, or the history lacks its epoch. */
  #checkUncovered(file: string, { leaderEpoch, firstOffset, lastOffset }: BatchFacts): void {
    const { entries, isMissing, logStartOffset } = this.#history
    if (entries === undefined && !isMissing) return
    const first = entries?.[0]
    const below = first !== undefined && logStartOffset === undefined
    const dropped = logStartOffset !== undefined && firstOffset < logStartOffset
    const consistent = first === undefined || leaderEpoch <= first.leaderEpoch
    if ((below || dropped) && consistent) return
    if (this.#told === 'uncovered') return
    this.#told = 'uncovered'
    const expected = `an entry for offsets ${firstOffset} to ${lastOffset}, written by leader epoch ${leaderEpoch}`
    const found = first === undefined ? 'none' : `a first entry '${textOf(first)}'`
    this.#report.add(
      'epoch-checkpoint',
      this.#history.file,
      { offset: firstOffset },
      {
        expected: `${expected} in ${file}`,
        found,
      },
    )
  }

  #checkEntries(): void {
    const { entries, logStartOffset } = this.#history
    if (entries === undefined) return
    this.#report.counts.checkpointEntries += entries.length
    for (const [index, entry] of entries.entries()) {
      const before = entries[index - 1]
      if (before === undefined) continue
      const ascends =
        entry.leaderEpoch > before.leaderEpoch && entry.startOffset > before.startOffset
      if (!ascends) this.#addEntry(entry, `epoch and offset above '${textOf(before)}'`)
    }
    const first = entries[0]
    if (first === undefined || logStartOffset === undefined) return
    if (first.startOffset < logStartOffset) {
      this.#addEntry(first, `offset ${logStartOffset} or above, where the log begins`)
    }
  }

  #addEntry(entry: EpochEntry, expected: string): void {
    const place = { offset: entry.startOffset, position: entry.position }
    const found = `'${textOf(entry)}'`
    this.#report.add('epoch-checkpoint', this.#history.file, place, { expected, found })
  }
}

function textOf({ leaderEpoch, startOffset }: EpochEntry): string {
  return `${leaderEpoch} ${startOffset}`
}
