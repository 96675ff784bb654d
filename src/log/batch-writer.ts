/**
 * Writes batches that lie scattered in memory to one place of a file, with as few calls as
 * `limits.writeBytesMax` allows.
 */
import { limits } from '../limits.ts'
import { sizeInBytesAt } from './batch-header.ts'
import type { BatchRun } from './batch-memory.ts'
import { type FileSystem, writevViewsMax } from './file-system.ts'

/** Of one write of the thread. Made anew after each: to empty it would cost more. */
let views: Uint8Array[] = []
let viewsBytes = 0

/**
 * Writes batches `first` (inclusive) to `end` (exclusive) of the run at `filePosition`. Neighbours
 * in memory become one piece; a single piece is written without making a view.
 *
 * @throws what the file system throws; then any part may have been written.
 */
export function writeBatches(
  fs: FileSystem,
  fd: number,
  run: BatchRun,
  first: number,
  end: number,
  filePosition: number,
): void {
  const { memory, positions } = run
  let target = filePosition
  let at = first
  while (at < end) {
    const start = positions[at]
    let stop = start + sizeInBytesAt(memory, start)
    at += 1
    while (at < end && positions[at] === stop) {
      stop += sizeInBytesAt(memory, stop)
      at += 1
    }
    const length = stop - start
    if (viewsBytes > 0 && viewsBytes + length > limits.writeBytesMax) {
      target += writeViews(fs, fd, target)
    }
    if (viewsBytes === 0 && (at === end || length >= limits.writeBytesMax)) {
      writeWhole(fs, fd, memory.bytes, start, length, target)
      target += length
      continue
    }
    views.push(memory.bytes.subarray(start, stop))
    viewsBytes += length
    if (views.length === writevViewsMax) target += writeViews(fs, fd, target)
  }
  if (viewsBytes > 0) writeViews(fs, fd, target)
}

/** Writes all of a range; a short write is continued, and only a write of nothing is an error. */
export function writeWhole(
  fs: FileSystem,
  fd: number,
  bytes: Uint8Array,
  position: number,
  length: number,
  filePosition: number,
): void {
  let done = 0
  while (done < length) {
    const piece = Math.min(length - done, limits.writeBytesMax)
    const written = fs.write(fd, bytes, position + done, piece, filePosition + done)
    if (written <= 0) throw new Error(`wrote nothing of ${length - done} bytes`)
    done += written
  }
}

function writeViews(fs: FileSystem, fd: number, filePosition: number): number {
  try {
    const total = viewsBytes
    const written = fs.writev(fd, views, filePosition)
    if (written < total) finishViews(fs, fd, filePosition, written)
    return total
  } finally {
    views = []
    viewsBytes = 0
  }
}

/**
 * After a short `writev`: what is left goes piece by piece, and meets the error that cut it short.
 */
function finishViews(fs: FileSystem, fd: number, filePosition: number, written: number): void {
  let position = 0
  for (const view of views) {
    const skip = Math.min(view.length, Math.max(0, written - position))
    writeWhole(fs, fd, view, skip, view.length - skip, filePosition + position + skip)
    position += view.length
  }
}
