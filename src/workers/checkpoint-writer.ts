/**
 * CheckpointWriter: writes a broker's high watermarks down while it runs, apart from its thread.
 *
 * Without an fsync: it would make the file system commit its journal, with all data that was
 * written before it, and stop every thread that writes meanwhile, for hundreds of milliseconds
 * under load. After a loss of power the file is the old one, the new one or empty, and each is
 * safe: a high watermark that is too low is raised again by the leader. At a clean stop it is
 * written durably.
 */
import { rename, writeFile } from 'node:fs/promises'
import { type CheckpointKind, checkpointFilePath } from '../log/log-directory.ts'
import { offsetCheckpointText, type PartitionOffset } from '../log/offset-checkpoint.ts'

export class CheckpointWriter {
  readonly #file: string
  #waiting: readonly PartitionOffset[] | undefined
  #writing: Promise<void> | undefined
  #failure: unknown

  constructor(directory: string, kind: CheckpointKind) {
    this.#file = checkpointFilePath(directory, kind)
  }

  /** Error of the last write that failed, if any. */
  get failure(): unknown {
    return this.#failure
  }

  /** One write at a time; a newer one replaces one that still waits. */
  write(highWatermarks: readonly PartitionOffset[]): void {
    this.#waiting = highWatermarks
    this.#writing ??= this.#writeAll()
  }

  /** Resolves when nothing is being written any more. */
  async settle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting !== undefined) {
      const text = offsetCheckpointText(this.#waiting)
      this.#waiting = undefined
      try {
        await writeFile(`${this.#file}.tmp`, text)
        await rename(`${this.#file}.tmp`, this.#file)
      } catch (error) {
        this.#failure = error
      }
    }
    this.#writing = undefined
  }
}
