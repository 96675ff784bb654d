/**
 * Which leader epoch wrote which offsets of a log (Kafka: `LeaderEpochFileCache`): a row of
 * (epoch, start offset), both ascending; an epoch ends where the next begins, the last at the log's
 * end.
 *
 * The file is replaced at each change, so other threads read a whole one. Whether that waits for
 * the disk is another question: each batch carries its epoch, so recovery restores the entries of
 * all that lies above the recovery point from the data. Hence `flush` must come before a recovery
 * point is raised, and nothing else has to wait (cf. KAFKA-16541: a torn file after loss of power).
 *
 * An epoch that has no record yet is kept in memory only: an opening would drop it again, and when
 * thousands of partitions change hands there would be a file to write for each.
 */
import path from 'node:path'
import { TidemarkError } from '../errors.ts'
import {
  corruptEntry,
  nonNegativeInteger,
  readCheckpointFile,
  syncReplacedFile,
  writeCheckpointFile,
} from './checkpoint-file.ts'
import { leaderEpochFileName } from './file-names.ts'
import { type FileSystem, realFileSystem } from './file-system.ts'

export interface LeaderEpochEntry {
  readonly leaderEpoch: number
  readonly startOffset: number
}

export interface EpochEnd {
  /** -1: nothing known. */
  readonly leaderEpoch: number
  /** Exclusive; -1: nothing known. */
  readonly endOffset: number
}

const unknownEnd: EpochEnd = { leaderEpoch: -1, endOffset: -1 }

export class LeaderEpochs {
  #entries: LeaderEpochEntry[]
  readonly #file: string
  readonly #fs: FileSystem
  /** Kept beside the entries: the append path compares it for each batch. */
  #latest: number
  #needsFlush = false
  /** So many of the entries the file has: all, or all but the last. */
  #onFile: number
  /** Rises with each change, so that a sync elsewhere knows whether it covered the last. */
  #version = 0

  private constructor(file: string, fs: FileSystem, entries: LeaderEpochEntry[]) {
    this.#file = file
    this.#fs = fs
    this.#entries = entries
    this.#onFile = entries.length
    this.#latest = entries.at(-1)?.leaderEpoch ?? -1
  }

  /** @throws {TidemarkError} CORRUPT_FILE for a file that isn't what it should be. */
  static open(
    directory: string,
    fs: FileSystem = realFileSystem,
    isThere: boolean = true,
  ): LeaderEpochs {
    const entries = isThere ? readLeaderEpochs(directory, fs) : []
    return new LeaderEpochs(path.join(directory, leaderEpochFileName), fs, entries)
  }

  get entries(): readonly LeaderEpochEntry[] {
    return this.#entries
  }

  /** -1: none. */
  get latest(): number {
    return this.#latest
  }

  /** The latest epoch is not in the file: `assign` must come before its first record. */
  get isAhead(): boolean {
    return this.#onFile < this.#entries.length
  }

  /**
   * `leaderEpoch` begins at `startOffset`, the log's end, without a record so far. Who reads the
   * file meanwhile must know of the epoch by himself. Returns whether it is news.
   */
  begin(leaderEpoch: number, startOffset: number): boolean {
    return this.#put(leaderEpoch, startOffset, false)
  }

  /**
   * Notes that `leaderEpoch` begins at `startOffset`. The newest knowledge wins: entries that say
   * otherwise are dropped. The latest epoch again, with a higher start: nothing to note.
   */
  assign(leaderEpoch: number, startOffset: number): boolean {
    return this.#put(leaderEpoch, startOffset, true)
  }

  #put(leaderEpoch: number, startOffset: number, hasRecords: boolean): boolean {
    if (!(leaderEpoch >= 0 && startOffset >= 0)) {
      throw new TidemarkError(
        'INVALID_ARGUMENT',
        `leader epoch ${leaderEpoch} at offset ${startOffset}: neither may be negative`,
      )
    }
    const last = this.#entries.at(-1)
    if (last !== undefined && leaderEpoch === last.leaderEpoch && startOffset >= last.startOffset) {
      if (hasRecords && this.isAhead) this.#write()
      return false
    }
    const kept = this.#entries.filter(
      (entry) => entry.leaderEpoch < leaderEpoch && entry.startOffset < startOffset,
    )
    const isInMemory = !hasRecords && kept.length === this.#onFile
    kept.push({ leaderEpoch, startOffset })
    if (isInMemory) this.#set(kept)
    else this.#replace(kept)
    return true
  }

  /**
   * Where `leaderEpoch`, or the largest epoch known below it, ends; for the latest epoch that is
   * `logEndOffset`. An epoch below all known ends where the first known begins; one above all is
   * unknown (-1, -1).
   */
  endOffsetFor(leaderEpoch: number, logEndOffset: number): EpochEnd {
    return epochEndOf(this.#entries, leaderEpoch, logEndOffset)
  }

  /** Epoch that wrote `offset`; undefined before the first entry. */
  epochForOffset(offset: number): number | undefined {
    return this.#entries.findLast((entry) => entry.startOffset <= offset)?.leaderEpoch
  }

  /** Drops entries that begin at or above `offset`. */
  truncateFromEnd(offset: number): void {
    const last = this.#entries.at(-1)
    if (offset < 0 || last === undefined || last.startOffset < offset) return
    this.#replace(this.#entries.filter((entry) => entry.startOffset < offset))
  }

  /** Drops what lies below `offset`; the epoch that covers it begins there now. */
  truncateFromStart(offset: number): void {
    const covering = this.#entries.findLastIndex((entry) => entry.startOffset <= offset)
    if (covering < 0 || (covering === 0 && this.#entries[0].startOffset === offset)) return
    if (this.#entries[covering].startOffset === offset) {
      this.#replace(this.#entries.slice(covering))
      return
    }
    const { leaderEpoch } = this.#entries[covering]
    this.#replace([{ leaderEpoch, startOffset: offset }, ...this.#entries.slice(covering + 1)])
  }

  clear(): void {
    this.replaceAll([])
  }

  /** Takes a whole history, ascending; writes only if it says something else. */
  replaceAll(entries: readonly LeaderEpochEntry[]): void {
    const same =
      entries.length === this.#entries.length &&
      entries.every(({ leaderEpoch, startOffset }, at) => {
        const own = this.#entries[at]
        return own.leaderEpoch === leaderEpoch && own.startOffset === startOffset
      })
    if (!same) this.#replace([...entries])
  }

  /** The file may not be on disk yet, though this object hasn't changed it. */
  markUnflushed(): void {
    this.#needsFlush = true
  }

  /** Waits until the disk has the entries; the file says them already. */
  flush(): void {
    if (!this.#needsFlush) return
    syncReplacedFile(this.#fs, this.#file)
    this.#needsFlush = false
  }

  /** The file and its version, if it must be synced; for somebody who does that elsewhere. */
  unflushed(): { readonly file: string; readonly version: number } | undefined {
    return this.#needsFlush ? { file: this.#file, version: this.#version } : undefined
  }

  markFlushed(version: number): void {
    if (this.#version === version) this.#needsFlush = false
  }

  #set(entries: LeaderEpochEntry[]): void {
    this.#entries = entries
    this.#latest = entries.at(-1)?.leaderEpoch ?? -1
  }

  #replace(entries: LeaderEpochEntry[]): void {
    // What went, or all that did, was the last and in memory only.
    const isSame = this.isAhead && entries.length === this.#onFile
    const isTheFile = isSame && entries.every((entry, at) => entry === this.#entries[at])
    this.#set(entries)
    if (!isTheFile) this.#write()
  }

  #write(): void {
    this.#onFile = this.#entries.length
    this.#needsFlush = true
    this.#version += 1
    const lines = this.#entries.map((entry) => `${entry.leaderEpoch} ${entry.startOffset}`)
    writeCheckpointFile(this.#fs, this.#file, lines, { durable: false })
  }
}

/** `LeaderEpochs.endOffsetFor` over entries that were read from another log. */
export function epochEndOf(
  entries: readonly LeaderEpochEntry[],
  leaderEpoch: number,
  logEndOffset: number,
): EpochEnd {
  const latest = entries.at(-1)?.leaderEpoch ?? -1
  if (leaderEpoch < 0 || leaderEpoch > latest) return unknownEnd
  if (leaderEpoch === latest) return { leaderEpoch, endOffset: logEndOffset }
  const next = entries.findIndex((entry) => entry.leaderEpoch > leaderEpoch)
  const endOffset = entries[next].startOffset
  if (next === 0) return { leaderEpoch, endOffset }
  return { leaderEpoch: entries[next - 1].leaderEpoch, endOffset }
}

/**
 * Entries as the file has them now; for threads that do not own the log. No file: none.
 *
 * @throws {TidemarkError} CORRUPT_FILE for a file that isn't what it should be.
 */
export function readLeaderEpochs(
  directory: string,
  fs: FileSystem = realFileSystem,
): LeaderEpochEntry[] {
  const file = path.join(directory, leaderEpochFileName)
  const entries: LeaderEpochEntry[] = []
  for (const [index, line] of (readCheckpointFile(fs, file) ?? []).entries()) {
    const [epoch, start, ...more] = line.split(' ')
    const leaderEpoch = nonNegativeInteger(epoch ?? '')
    const startOffset = nonNegativeInteger(start ?? '')
    const last = entries.at(-1)
    if (
      leaderEpoch === undefined ||
      startOffset === undefined ||
      more.length > 0 ||
      (last !== undefined && (last.leaderEpoch >= leaderEpoch || last.startOffset > startOffset))
    ) {
      throw corruptEntry(file, index, line)
    }
    entries.push({ leaderEpoch, startOffset })
  }
  return entries
}
