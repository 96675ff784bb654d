/**
 * Kafka's `recovery-point-offset-checkpoint` of a broker: at once and durably where an append must
 * not come before it, else without making the thread wait.
 *
 * The second way writes a temporary file, has it synced in another thread, and gives it the name
 * afterwards. What is written down meanwhile by the first way is newer, so the temporary file is
 * dropped then. Nobody syncs the new name: after a crash the file before it is as good, for each
 * recovery point that went back was written down at once.
 */
import type { TidemarkError } from '../errors.ts'
import type { Flushable, SyncOutcome, SyncRequest } from '../log/background-flush.ts'
import { writeWhole } from '../log/batch-writer.ts'
import type { FileSystem } from '../log/file-system.ts'
import { checkpointFilePath } from '../log/log-directory.ts'
import {
  offsetCheckpointText,
  type PartitionOffset,
  writeOffsetCheckpoint,
} from '../log/offset-checkpoint.ts'
import { storageError } from '../log/storage-error.ts'

export interface RecoveryPointSource {
  /** Recovery points as they are now; undefined: as they were last written. */
  changed(): readonly PartitionOffset[] | undefined
  /** They are in the file. */
  written(points: readonly PartitionOffset[]): void
}

export class RecoveryPointCheckpoint implements Flushable {
  /** The file cannot be written. The one before is right, though old. */
  failure: TidemarkError | undefined = undefined
  /** Asked by the clock, not by itself. */
  readonly wantsFlush = false
  readonly #fs: FileSystem
  readonly #file: string
  readonly #temporary: string
  readonly #source: RecoveryPointSource
  /** What the temporary file says, unless it is out of date. */
  #underWay: readonly PartitionOffset[] | undefined = undefined
  #isOut = false

  /** @param kind which of a broker's checkpoints it is; all that are kept alike */
  constructor(
    fs: FileSystem,
    directory: string,
    source: RecoveryPointSource,
    kind: 'recoveryPoint' | 'logStartOffset' = 'recoveryPoint',
  ) {
    this.#fs = fs
    this.#file = checkpointFilePath(directory, kind)
    this.#temporary = `${this.#file}.next`
    this.#source = source
  }

  /** Waits for the disk. @throws {TidemarkError} KAFKA_STORAGE_ERROR */
  writeNow(): void {
    this.drop()
    const points = this.#source.changed()
    if (points === undefined) return
    writeOffsetCheckpoint(this.#fs, this.#file, points)
    this.#source.written(points)
  }

  /** What is under way is out of date. */
  drop(): void {
    this.#underWay = undefined
  }

  beginFlush(): SyncRequest | undefined {
    if (this.#isOut || this.failure !== undefined) return undefined
    const points = this.#source.changed()
    if (points === undefined) return undefined
    this.#attempt(() => this.#writeTemporary(points))
    if (this.failure !== undefined) return undefined
    this.#isOut = true
    this.#underWay = points
    return { files: [this.#temporary], directories: [] }
  }

  endFlush({ failure, absent }: SyncOutcome): void {
    const points = this.#underWay
    this.drop()
    this.#isOut = false
    if (points === undefined) return
    this.#attempt(() => {
      if (failure !== undefined) throw new Error(failure.message)
      if (absent.length > 0) throw new Error('it is gone')
      this.#fs.rename(this.#temporary, this.#file)
      this.#source.written(points)
    })
  }

  #writeTemporary(points: readonly PartitionOffset[]): void {
    const bytes = Buffer.from(offsetCheckpointText(points))
    const fd = this.#fs.open(this.#temporary, 'create')
    try {
      writeWhole(this.#fs, fd, bytes, 0, bytes.length, 0)
    } finally {
      this.#fs.close(fd)
    }
  }

  #attempt(action: () => void): void {
    try {
      action()
    } catch (cause) {
      this.failure = storageError('cannot write', this.#temporary, cause)
    }
  }
}
