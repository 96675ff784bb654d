/**
 * Reads a log's files from a thread that does not own the log, while the owner appends, rolls and
 * drops segments. Owner and reader share nothing but the files and the end offset that the reader
 * is told: bytes at or above it may be half written.
 *
 * The CRC is not checked here; whoever appends what was read checks it (`checkBatch`). After the
 * log was truncated the reader must be told (`forget`): offsets below the new end may mean other
 * batches.
 */
import type { BatchMemory } from './batch-memory.ts'
import { logSuffix, offsetIndexSuffix, segmentBases, segmentPath } from './file-names.ts'
import { type FileSystem, realFileSystem } from './file-system.ts'
import { lookupOffsetIndex } from './offset-index.ts'
import { OpenFile, OpenFiles } from './open-files.ts'
import {
  ReadPlan,
  type ReadRequest,
  runNow,
  type SegmentPosition,
  segmentGone,
} from './read-plan.ts'
import { storageError, systemErrorCode } from './storage-error.ts'

export interface SegmentReaderOptions {
  /** Shared by all readers of a thread; own ones otherwise. */
  readonly files?: OpenFiles
  readonly fs?: FileSystem
}

export class SegmentReader {
  readonly directory: string
  readonly #files: OpenFiles
  readonly #plan = new ReadPlan()
  readonly #answer = (request: ReadRequest): number => this.#do(request)
  #file: OpenFile | undefined = undefined
  #fileBase = -1

  private constructor(directory: string, files: OpenFiles) {
    this.directory = directory
    this.#files = files
  }

  /** Opens nothing yet. */
  static open(directory: string, options: SegmentReaderOptions = {}): SegmentReader {
    const files = options.files ?? new OpenFiles(options.fs ?? realFileSystem)
    return new SegmentReader(directory, files)
  }

  /** Where the next batch begins after what was read last; undefined before. */
  get place(): SegmentPosition | undefined {
    return this.#plan.place
  }

  /**
   * Copies whole batches from the files to `target`, the first being the one that holds `offset`,
   * and returns their bytes. 0: nothing whole lies between `offset` and `endOffset` (exclusive). At
   * most `maxBytes`, unless the first batch alone is larger.
   *
   * @throws {TidemarkError} OFFSET_OUT_OF_RANGE when the offset's segment is gone; CORRUPT_MESSAGE;
   *   RECORD_TOO_LARGE when the first batch doesn't fit in the target; KAFKA_STORAGE_ERROR.
   */
  read(
    offset: number,
    endOffset: number,
    maxBytes: number,
    target: BatchMemory,
    targetPosition: number,
  ): number {
    const range = { offset, endOffset, maxBytes, target, targetPosition }
    try {
      return runNow(this.#plan.read(range), this.#answer)
    } catch (cause) {
      throw storageError('cannot read', this.directory, cause)
    }
  }

  /** `read`, told by somebody who knows where the batch with that base offset lies. */
  readFrom(
    offset: number,
    place: SegmentPosition,
    endOffset: number,
    maxBytes: number,
    target: BatchMemory,
    targetPosition: number,
  ): number {
    this.#plan.hint(offset, place)
    return this.read(offset, endOffset, maxBytes, target, targetPosition)
  }

  /** Drops what it knows of the files; after the log was truncated. */
  forget(): void {
    this.#plan.forget()
    this.close()
  }

  close(): void {
    if (this.#file !== undefined) this.#files.close(this.#file)
    this.#file = undefined
    this.#fileBase = -1
  }

  #do(request: ReadRequest): number {
    const { fs } = this.#files
    if (request.kind === 'list') {
      // A file that it has open may have been replaced by a compacted one of that name.
      this.close()
      request.bases = segmentBases(fs.list(this.directory) ?? [])
      return 0
    }
    if (request.kind === 'search') {
      const path = segmentPath(this.directory, request.base, offsetIndexSuffix)
      const bytes = fs.readFile(path)
      return bytes === undefined ? 0 : lookupOffsetIndex(bytes, request.offset - request.base)
    }
    const fd = this.#descriptorOf(request.base)
    if (fd === segmentGone) return segmentGone
    const { bytes, bytesPosition, length, filePosition } = request
    return fs.read(fd, bytes, bytesPosition, length, filePosition)
  }

  #descriptorOf(base: number): number {
    if (base !== this.#fileBase) {
      this.close()
      this.#file = new OpenFile(segmentPath(this.directory, base, logSuffix), 'read')
      this.#fileBase = base
    }
    try {
      return this.#files.descriptor(this.#file!)
    } catch (cause) {
      if (systemErrorCode(cause) === 'ENOENT') return segmentGone
      throw cause
    }
  }
}
