/**
 * LogStarts: Kafka's `log-start-offset-checkpoint` of a broker. Retention may only take files away
 * below what it says, since after a crash the log would otherwise begin where no file is; and it
 * must never say more than the log holds, so it goes back at once when a log is cut.
 */
import type { BackgroundFlush } from '../log/background-flush.ts'
import type { FileSystem } from '../log/file-system.ts'
import type { PartitionOffset } from '../log/offset-checkpoint.ts'
import { parsePartitionDirectoryName } from '../log/topic-name.ts'
import { RecoveryPointCheckpoint } from './recovery-point-checkpoint.ts'

export interface LogStartsParts {
  readonly fs: FileSystem
  readonly directory: string
  /** As written down before, by name. */
  readonly stored: ReadonlyMap<string, number>
  /** Where the logs that are open start now, by name. */
  readonly current: () => Iterable<readonly [string, number]>
  readonly background: BackgroundFlush | undefined
}

export class LogStarts {
  readonly #parts: LogStartsParts
  readonly #written: Map<string, number>
  readonly #checkpoint: RecoveryPointCheckpoint
  /** What is written down still has partitions that went. */
  #hasForgotten = false

  constructor(parts: LogStartsParts) {
    this.#parts = parts
    this.#written = new Map(parts.stored)
    const { fs, directory } = parts
    const source = {
      changed: () => this.#changed(),
      written: (offsets: readonly PartitionOffset[]) => this.#noteWritten(offsets),
    }
    this.#checkpoint = new RecoveryPointCheckpoint(fs, directory, source, 'logStartOffset')
  }

  /** Where the log starts for certain, whatever happens; 0: nothing is written down. */
  written(name: string): number {
    return this.#written.get(name) ?? 0
  }

  /** Writes them down if one has moved; nobody waits for the disk, if another thread can. */
  write(): void {
    if (this.#parts.background === undefined) this.#checkpoint.writeNow()
    else this.#parts.background.want(this.#checkpoint)
  }

  /** After a log was cut, so that it may start lower now. @throws {TidemarkError} of the disk */
  afterCut(name: string, logStartOffset: number): void {
    this.#checkpoint.drop()
    if (logStartOffset < this.written(name)) this.#checkpoint.writeNow()
  }

  /** The partition went; a log of the same name starts at 0. @throws {TidemarkError} of the disk */
  forget(name: string): void {
    this.#hasForgotten ||= this.#written.delete(name)
    this.#checkpoint.writeNow()
  }

  /** As they are to be written down when the broker stops. */
  entries(): PartitionOffset[] {
    return offsetsOf(this.#all())
  }

  #all(): Map<string, number> {
    // Of partitions that aren't open yet it stays as it was.
    const all = new Map(this.#written)
    for (const [name, offset] of this.#parts.current()) all.set(name, offset)
    return all
  }

  #changed(): PartitionOffset[] | undefined {
    let isMoved = this.#hasForgotten
    for (const [name, offset] of this.#parts.current()) {
      if (offset !== this.written(name)) isMoved = true
    }
    return isMoved ? this.entries() : undefined
  }

  #noteWritten(offsets: readonly PartitionOffset[]): void {
    this.#hasForgotten = false
    this.#written.clear()
    for (const { topic, partition, offset } of offsets) {
      this.#written.set(`${topic}-${partition}`, offset)
    }
  }
}

/** Logs that start at 0 need no line. */
function offsetsOf(starts: ReadonlyMap<string, number>): PartitionOffset[] {
  const offsets: PartitionOffset[] = []
  for (const [name, offset] of starts) {
    const partition = parsePartitionDirectoryName(name)
    if (partition !== undefined && offset > 0) offsets.push({ ...partition, offset })
  }
  return offsets
}
