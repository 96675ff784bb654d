/**
 * CheckpointWriter: writes a broker's offset checkpoints while it runs. A broker thread must not wait for
 * an fsync, nor the application's event loop, so the text goes out through promises, one write a file at
 * a time; a newer text replaces one that is still waiting.
 */
import { open, rename } from 'node:fs/promises'
import path from 'node:path'
import { type CheckpointKind, checkpointFilePath } from '../log/log-directory.ts'
import { offsetCheckpointText, type PartitionOffset } from '../log/offset-checkpoint.ts'

export class CheckpointWriter {
  readonly #directory: string
  readonly #waiting = new Map<CheckpointKind, readonly PartitionOffset[]>()
  #writing: Promise<void> | undefined
  #failure: unknown

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Error of the last write that failed, if any. */
  get failure(): unknown {
    return this.#failure
  }

  write(kind: CheckpointKind, offsets: readonly PartitionOffset[]): void {
    this.#waiting.set(kind, offsets)
    this.#writing ??= this.#writeAll()
  }

  /** Resolves when nothing is being written any more. */
  async settle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  async #writeAll(): Promise<void> {
    for (;;) {
      const [next] = this.#waiting
      if (next === undefined) break
      const [kind, offsets] = next
      this.#waiting.delete(kind)
      try {
        await replace(checkpointFilePath(this.#directory, kind), offsetCheckpointText(offsets))
      } catch (error) {
        this.#failure = error
      }
    }
    this.#writing = undefined
  }
}

async function replace(file: string, text: string): Promise<void> {
  const temporary = `${file}.tmp`
  const handle = await open(temporary, 'w')
  try {
    await handle.writeFile(text)
    await handle.datasync()
  } finally {
    await handle.close()
  }
  await rename(temporary, file)
  const directory = await open(path.dirname(file), 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
