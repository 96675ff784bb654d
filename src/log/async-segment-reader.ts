/**
 * `SegmentReader` for a thread that must not wait for the disk: the same procedure, its file calls
 * made through promises. One read at a time.
 */
import { type FileHandle, open, readdir, readFile } from 'node:fs/promises'
import { invariant } from '../invariant.ts'
import type { BatchMemory } from './batch-memory.ts'
import { logSuffix, offsetIndexSuffix, segmentBases, segmentPath } from './file-names.ts'
import { lookupOffsetIndex } from './offset-index.ts'
import { ReadPlan, type ReadRequest, segmentGone } from './read-plan.ts'
import { storageError, systemErrorCode } from './storage-error.ts'

export class AsyncSegmentReader {
  readonly directory: string
  readonly #plan = new ReadPlan()
  #handle: FileHandle | undefined = undefined
  #handleBase = -1
  #reading = false

  private constructor(directory: string) {
    this.directory = directory
  }

  /** Opens nothing yet. */
  static open(directory: string): AsyncSegmentReader {
    return new AsyncSegmentReader(directory)
  }

  /** As `SegmentReader.read`; the target must not be used before the promise is settled. */
  async read(
    offset: number,
    endOffset: number,
    maxBytes: number,
    target: BatchMemory,
    targetPosition: number,
  ): Promise<number> {
    invariant(!this.#reading, 'a reader reads one thing at a time')
    this.#reading = true
    try {
      const steps = this.#plan.read({ offset, endOffset, maxBytes, target, targetPosition })
      let step = steps.next(0)
      while (step.done !== true) step = steps.next(await this.#do(step.value))
      return step.value
    } catch (cause) {
      throw storageError('cannot read', this.directory, cause)
    } finally {
      this.#reading = false
    }
  }

  /** Drops what it knows of the files; after the log was truncated. */
  async forget(): Promise<void> {
    this.#plan.forget()
    await this.close()
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    this.#handleBase = -1
    await handle?.close()
  }

  async #do(request: ReadRequest): Promise<number> {
    if (request.kind === 'list') {
      // A file that it has open may have been replaced by a compacted one of that name.
      await this.close()
      const names = await orWhenAbsent(readdir(this.directory), [])
      request.bases = segmentBases(names)
      return 0
    }
    if (request.kind === 'search') {
      const path = segmentPath(this.directory, request.base, offsetIndexSuffix)
      const bytes = await orWhenAbsent<Uint8Array | undefined>(readFile(path), undefined)
      return bytes === undefined ? 0 : lookupOffsetIndex(bytes, request.offset - request.base)
    }
    const { base, bytes, bytesPosition, length, filePosition } = request
    if (base !== this.#handleBase) {
      await this.close()
      this.#handle = await orWhenAbsent<FileHandle | undefined>(
        open(segmentPath(this.directory, base, logSuffix), 'r'),
        undefined,
      )
      if (this.#handle === undefined) return segmentGone
      this.#handleBase = base
    }
    const { bytesRead } = await this.#handle!.read(bytes, bytesPosition, length, filePosition)
    return bytesRead
  }
}

async function orWhenAbsent<T>(result: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await result
  } catch (cause) {
    if (systemErrorCode(cause) === 'ENOENT') return otherwise
    throw cause
  }
}
