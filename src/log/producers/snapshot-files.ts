/**
 * The snapshots in a partition's directory: `<offset>.snapshot`, the producers as the batches below
 * that offset tell them. Each has a CRC, and can be had again from the batches: none is needed.
 */
import { isTidemarkError } from '../../errors.ts'
import { writeWhole } from '../batch-writer.ts'
import { baseOffsetOfName, producerSnapshotSuffix, segmentPath } from '../file-names.ts'
import type { FileSystem } from '../file-system.ts'
import {
  decodeProducerSnapshot,
  encodeProducerSnapshot,
  type ProducerSnapshotEntry,
} from './producer-snapshot.ts'

/** Ascending. */
export function snapshotOffsets(names: readonly string[]): number[] {
  const offsets: number[] = []
  for (const name of names) {
    const offset = baseOffsetOfName(name, producerSnapshotSuffix)
    if (offset !== undefined) offsets.push(offset)
  }
  return offsets.sort((one, other) => one - other)
}

/**
 * Those to keep: of each segment's base, and the newest if no segment begins beyond it, which a
 * clean end leaves (Kafka: `removeStraySnapshots`). Both ascending.
 */
export function keptSnapshots(offsets: readonly number[], bases: readonly number[]): number[] {
  const isBase = new Set(bases)
  const newest = offsets.at(-1)
  return offsets.filter(
    (offset) => isBase.has(offset) || (offset === newest && offset >= (bases.at(-1) ?? 0)),
  )
}

export function snapshotPath(directory: string, offset: number): string {
  return segmentPath(directory, offset, producerSnapshotSuffix)
}

export function writeSnapshot(
  fs: FileSystem,
  path: string,
  entries: readonly ProducerSnapshotEntry[],
): void {
  const bytes = encodeProducerSnapshot(entries)
  const fd = fs.open(path, 'create')
  try {
    writeWhole(fs, fd, bytes, 0, bytes.length, 0)
  } finally {
    fs.close(fd)
  }
}

/** undefined: there is none, or it isn't whole, or it speaks of what can't be. */
export function readSnapshot(
  fs: FileSystem,
  path: string,
  offset: number,
): ProducerSnapshotEntry[] | undefined {
  const bytes = fs.readFile(path)
  if (bytes === undefined) return undefined
  try {
    const entries = decodeProducerSnapshot(bytes)
    return entries.every((entry) => isPossible(entry, offset)) ? entries : undefined
  } catch (error) {
    if (isTidemarkError(error, 'CORRUPT_FILE')) return undefined
    throw error
  }
}

function isPossible(entry: ProducerSnapshotEntry, offset: number): boolean {
  const { producerId, lastOffset, offsetDelta, currentTransactionFirstOffset } = entry
  return (
    Number.isSafeInteger(producerId) &&
    producerId >= 0 &&
    lastOffset < offset &&
    offsetDelta >= 0 &&
    currentTransactionFirstOffset < offset
  )
}
