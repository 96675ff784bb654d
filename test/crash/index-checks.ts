/** Whether the indexes of segments that are no longer written to say what the data says. */
import { lastOffsetAt, maxTimestampAt, sizeInBytesAt } from '../../src/log/batch-header.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import {
  logSuffix,
  offsetIndexSuffix,
  segmentBases,
  segmentPath,
  timeIndexSuffix,
} from '../../src/log/file-names.ts'
import type { FileSystem } from '../../src/log/file-system.ts'
import { readInt64 } from '../../src/log/int64.ts'
import { offsetIndexEntryBytes } from '../../src/log/offset-index.ts'
import { timeIndexEntryBytes } from '../../src/log/time-index.ts'

interface Batch {
  readonly lastOffset: number
  readonly maxTimestampMs: number
}

/** @throws naming the file and the entry that no batch bears out. */
export function checkSealedIndexes(fs: FileSystem, directory: string): void {
  for (const base of segmentBases(fs.list(directory) ?? []).slice(0, -1)) {
    const batches = batchesByPosition(fs.readFile(segmentPath(directory, base, logSuffix))!)
    checkOffsetIndex(fs, segmentPath(directory, base, offsetIndexSuffix), base, batches)
    checkTimeIndex(fs, segmentPath(directory, base, timeIndexSuffix), base, batches)
  }
}

function batchesByPosition(bytes: Uint8Array): Map<number, Batch> {
  const memory = batchMemory(Uint8Array.from(bytes).buffer)
  const batches = new Map<number, Batch>()
  for (let at = 0; at < bytes.length; at += sizeInBytesAt(memory, at)) {
    const lastOffset = lastOffsetAt(memory, at)
    batches.set(at, { lastOffset, maxTimestampMs: maxTimestampAt(memory, at) })
  }
  return batches
}

function checkOffsetIndex(
  fs: FileSystem,
  path: string,
  base: number,
  batches: ReadonlyMap<number, Batch>,
): void {
  const view = viewOf(fs, path, offsetIndexEntryBytes)
  for (let at = 0; at < view.byteLength; at += offsetIndexEntryBytes) {
    const offset = base + view.getInt32(at)
    const position = view.getInt32(at + 4)
    if (batches.get(position)?.lastOffset === offset) continue
    throw new Error(`${path}: entry ${offset} at ${position} is not so`)
  }
}

/** An entry says that nothing up to its offset is newer, and that a batch has that time. */
function checkTimeIndex(
  fs: FileSystem,
  path: string,
  base: number,
  batches: ReadonlyMap<number, Batch>,
): void {
  const view = viewOf(fs, path, timeIndexEntryBytes)
  for (let at = 0; at < view.byteLength; at += timeIndexEntryBytes) {
    const timestampMs = readInt64(view, at)
    const offset = base + view.getInt32(at + 8)
    const upTo = [...batches.values()].filter(({ lastOffset }) => lastOffset <= offset)
    const newest = Math.max(-1, ...upTo.map(({ maxTimestampMs }) => maxTimestampMs))
    if (newest !== timestampMs) throw new Error(`${path}: ${timestampMs} at ${offset} is not so`)
  }
}

function viewOf(fs: FileSystem, path: string, entryBytes: number): DataView {
  const bytes = fs.readFile(path)
  if (bytes === undefined) throw new Error(`${path}: missing`)
  if (bytes.length % entryBytes !== 0) throw new Error(`${path}: ${bytes.length} bytes`)
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
