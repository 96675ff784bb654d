/**
 * Walks the batches of a segment file in order, reading it in large chunks. A batch that a chunk
 * cuts is read again with the next, so that no payload is moved about in memory.
 */
import { limits } from '../limits.ts'
import { type BatchFault, checkBatch, checkBatchFraming, sizeInBytesAt } from './batch-header.ts'
import { type BatchMemory, batchMemory } from './batch-memory.ts'
import type { FileSystem } from './file-system.ts'

const chunkBytes = 1024 * 1024
/** Headers alone are looked for in small reads when the batches are large. */
const headerChunkBytes = 16 * 1024

export interface ScanOptions {
  readonly startPosition: number
  /** Exclusive; usually the file's size. */
  readonly endPosition: number
  /** Whether the CRC and all the header says is checked, or only the framing. */
  readonly verify: boolean
  /** Without `verify`: bytes of one read; default 16 KiB. */
  readonly readBytes?: number
}

export interface ScanResult {
  /** End of the last whole, good batch. */
  readonly position: number
  /** Why the walk ended before `endPosition`. */
  readonly fault: BatchFault | undefined
  readonly bytesRead: number
}

/**
 * `filePosition` is the batch's place in the file. Returning false ends the walk before the batch.
 */
export type BatchVisitor = (memory: BatchMemory, position: number, filePosition: number) => boolean

export function scanSegment(
  fs: FileSystem,
  fd: number,
  { startPosition, endPosition, verify, readBytes = headerChunkBytes }: ScanOptions,
  visit: BatchVisitor,
): ScanResult {
  let chunk = takeChunk(verify ? chunkBytes : readBytes)
  let position = startPosition
  let bytesRead = 0
  while (position < endPosition) {
    const wanted = Math.min(chunk.bytes.length, endPosition - position)
    const available = fs.read(fd, chunk.bytes, 0, wanted, position)
    bytesRead += available
    let at = 0
    let fault: BatchFault | undefined
    for (;;) {
      fault = verify
        ? checkBatch(chunk, at, available - at)
        : checkBatchFraming(chunk, at, available - at)
      if (fault !== undefined) break
      const size = sizeInBytesAt(chunk, at)
      if (position + at + size > endPosition) {
        fault = 'bytes-cut'
        break
      }
      if (!visit(chunk, at, position + at)) return { position: position + at, fault, bytesRead }
      at += size
      // Headers only: the batch may end beyond the chunk.
      if (at >= available) break
    }
    position += at
    if (fault === undefined) continue
    const cut = fault === 'header-cut' || fault === 'bytes-cut'
    if (!cut || available < wanted) return { position, fault, bytesRead }
    if (at > 0) continue
    // One batch larger than the chunk, or a tail shorter than a header.
    const needed = fault === 'bytes-cut' ? sizeInBytesAt(chunk, 0) : wanted
    if (needed > endPosition - position || needed <= chunk.bytes.length) {
      return { position, fault, bytesRead }
    }
    chunk = takeChunk(needed)
  }
  return { position, fault: undefined, bytesRead }
}

let chunkKept: BatchMemory | undefined

/** The thread's chunk, unless more is needed; a larger one isn't kept. */
function takeChunk(bytes: number): BatchMemory {
  if (bytes > chunkBytes) return batchMemory(new ArrayBuffer(Math.min(bytes, limits.batchBytesMax)))
  chunkKept ??= batchMemory(new ArrayBuffer(chunkBytes))
  const { bytes: kept, view } = chunkKept
  return bytes === chunkBytes ? chunkKept : { bytes: kept.subarray(0, bytes), view }
}
