/**
 * A segment that a compaction writes: data and indexes under names that end in `.cleaned`, until
 * the log's owner takes them.
 */
import { lastOffsetAt, maxTimestampAt, sizeInBytesAt } from '../batch-header.ts'
import type { BatchMemory } from '../batch-memory.ts'
import { writeWhole } from '../batch-writer.ts'
import {
  cleanedSuffix,
  logSuffix,
  offsetIndexSuffix,
  segmentPath,
  timeIndexSuffix,
} from '../file-names.ts'
import type { FileSystem } from '../file-system.ts'
import { OffsetIndex } from '../offset-index.ts'
import { TimeIndex } from '../time-index.ts'
import { writeFile } from '../whole-file.ts'

const bufferBytes = 1024 * 1024

export class CleanedSegment {
  readonly baseOffset: number
  sizeBytes = 0
  readonly #fs: FileSystem
  readonly #directory: string
  readonly #indexIntervalBytes: number
  readonly #fd: number
  readonly #buffer = new Uint8Array(bufferBytes)
  #buffered = 0
  readonly #offsets = new OffsetIndex()
  readonly #times = new TimeIndex()
  #maxTimestampMs = -1
  #maxTimestampOffset: number
  #isOpen = true

  constructor(fs: FileSystem, directory: string, baseOffset: number, indexIntervalBytes: number) {
    this.#fs = fs
    this.#directory = directory
    this.baseOffset = baseOffset
    this.#maxTimestampOffset = baseOffset
    this.#indexIntervalBytes = indexIntervalBytes
    this.#fd = fs.open(this.#path(logSuffix), 'create')
  }

  append(memory: BatchMemory, position: number): void {
    this.#note(lastOffsetAt(memory, position), maxTimestampAt(memory, position))
    const size = sizeInBytesAt(memory, position)
    if (this.#buffered + size > bufferBytes) this.#flush()
    if (size > bufferBytes) {
      writeWhole(this.#fs, this.#fd, memory.bytes, position, size, this.sizeBytes)
    } else {
      this.#buffer.set(memory.bytes.subarray(position, position + size), this.#buffered)
      this.#buffered += size
    }
    this.sizeBytes += size
  }

  /** Completes the files and waits until the disk has their bytes. */
  finish(): void {
    this.#flush()
    this.#fs.dataSync(this.#fd)
    this.abandon()
    // Indexes without data under such a name are taken for those of data that has its own already.
    this.#fs.syncDirectory(this.#directory)
    this.#times.maybeAppend(this.#maxTimestampMs, this.#maxTimestampOffset - this.baseOffset)
    this.writeFile(offsetIndexSuffix, this.#offsets.encode(0))
    this.writeFile(timeIndexSuffix, this.#times.encode(0))
  }

  /** A whole file beside the data. */
  writeFile(suffix: string, bytes: Uint8Array): void {
    writeFile(this.#fs, this.#path(suffix), bytes, { durable: true })
  }

  /** Closes; what was written is left to whoever cleans up. */
  abandon(): void {
    if (this.#isOpen) this.#fs.close(this.#fd)
    this.#isOpen = false
  }

  #note(lastOffset: number, maxTimestampMs: number): void {
    if (maxTimestampMs > this.#maxTimestampMs) {
      this.#maxTimestampMs = maxTimestampMs
      this.#maxTimestampOffset = lastOffset
    }
    if (this.sizeBytes - this.#offsets.lastPosition <= this.#indexIntervalBytes) return
    this.#offsets.append(lastOffset - this.baseOffset, this.sizeBytes)
    this.#times.maybeAppend(this.#maxTimestampMs, this.#maxTimestampOffset - this.baseOffset)
  }

  #flush(): void {
    const { length } = this.#buffer
    if (this.#buffered === 0) return
    const at = this.sizeBytes - this.#buffered
    writeWhole(this.#fs, this.#fd, this.#buffer, 0, Math.min(length, this.#buffered), at)
    this.#buffered = 0
  }

  #path(suffix: string): string {
    return segmentPath(this.#directory, this.baseOffset, suffix) + cleanedSuffix
  }
}
