/**
 * A segment's aborted transactions, in order of their markers (Kafka: `TransactionIndex`,
 * `AbortedTxn`). The file exists only where there is one. 34 bytes an entry: i16 version 0, i64
 * producer id, first offset, offset of the marker, last stable offset after it.
 */
import { writeWhole } from '../batch-writer.ts'
import { segmentPath, transactionIndexSuffix } from '../file-names.ts'
import type { FileSystem } from '../file-system.ts'
import { isExactInt64, readInt64, writeInt64 } from '../int64.ts'

export interface AbortedTransaction {
  readonly producerId: number
  readonly firstOffset: number
  /** Of its marker. */
  readonly lastOffset: number
  /** Up to here all transactions were decided when the marker was written. */
  readonly lastStableOffset: number
}

export interface TransactionIndexEntry extends AbortedTransaction {
  /** Of the entry in its file. */
  readonly filePosition: number
  readonly version: number
}

export const transactionIndexEntryBytes = 34
const entryVersion = 0

/** The entries as they stand there; nothing here judges them. */
export function transactionIndexEntries(bytes: Uint8Array): TransactionIndexEntry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const count = Math.floor(bytes.length / transactionIndexEntryBytes)
  return Array.from({ length: count }, (_, index) => {
    const filePosition = index * transactionIndexEntryBytes
    return {
      filePosition,
      version: view.getInt16(filePosition),
      producerId: readInt64(view, filePosition + 2),
      firstOffset: readInt64(view, filePosition + 10),
      lastOffset: readInt64(view, filePosition + 18),
      lastStableOffset: readInt64(view, filePosition + 26),
    }
  })
}

/**
 * Whether a file can be the index of the segment at `baseOffset` (Kafka: `sanityCheck`): whole
 * entries of a version that is known, with markers that ascend from the segment's base.
 */
export function isTransactionIndex(bytes: Uint8Array, baseOffset: number): boolean {
  if (bytes.length % transactionIndexEntryBytes !== 0) return false
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let before = baseOffset - 1
  for (const entry of transactionIndexEntries(bytes)) {
    const { filePosition, version, producerId, firstOffset, lastOffset, lastStableOffset } = entry
    for (const field of [2, 10, 18, 26]) {
      if (!isExactInt64(view, filePosition + field)) return false
    }
    if (version !== entryVersion || producerId < 0 || lastOffset <= before) return false
    if (firstOffset < 0 || firstOffset > lastOffset) return false
    if (lastStableOffset < 0 || lastStableOffset > lastOffset + 1) return false
    before = lastOffset
  }
  return true
}

/** Entries after those that the file has. Makes the file when there is none. */
export function appendToTransactionIndex(
  fs: FileSystem,
  directory: string,
  baseOffset: number,
  transactions: readonly AbortedTransaction[],
): void {
  const path = segmentPath(directory, baseOffset, transactionIndexSuffix)
  const end = fs.sizeOf(path)
  const bytes = encodeTransactionIndex(transactions)
  const fd = fs.open(path, end === undefined ? 'create' : 'update')
  try {
    writeWhole(fs, fd, bytes, 0, bytes.length, end ?? 0)
  } finally {
    fs.close(fd)
  }
}

/** Cuts the entries whose markers lie at or above `offset`. Returns whether anything was cut. */
export function truncateTransactionIndex(
  fs: FileSystem,
  directory: string,
  baseOffset: number,
  offset: number,
): boolean {
  const path = segmentPath(directory, baseOffset, transactionIndexSuffix)
  const bytes = fs.readFile(path)
  if (bytes === undefined) return false
  const first = transactionIndexEntries(bytes).find(({ lastOffset }) => lastOffset >= offset)
  const whole = bytes.length - (bytes.length % transactionIndexEntryBytes)
  const end = first?.filePosition ?? whole
  if (end === bytes.length) return false
  const fd = fs.open(path, 'update')
  try {
    fs.truncate(fd, end)
  } finally {
    fs.close(fd)
  }
  return true
}

/**
 * The aborted transactions that have records from `fromOffset` on and below `endOffset`, in order
 * of their markers (Kafka: `collectAbortedTxns`). `baseOffsets`: ascending, of the segments that
 * have an index.
 */
export function collectAbortedTransactions(
  fs: FileSystem,
  directory: string,
  baseOffsets: readonly number[],
  fromOffset: number,
  endOffset: number,
): AbortedTransaction[] {
  const found: AbortedTransaction[] = []
  const first = baseOffsets.findLastIndex((base) => base <= fromOffset)
  for (const base of baseOffsets.slice(Math.max(0, first))) {
    const bytes = fs.readFile(segmentPath(directory, base, transactionIndexSuffix))
    // A segment may be removed meanwhile.
    for (const entry of bytes === undefined ? [] : transactionIndexEntries(bytes)) {
      const { producerId, firstOffset, lastOffset, lastStableOffset } = entry
      if (lastOffset >= fromOffset && firstOffset < endOffset) {
        found.push({ producerId, firstOffset, lastOffset, lastStableOffset })
      }
      // What is aborted later began at or above this, so beyond the range.
      if (lastStableOffset >= endOffset) return found
    }
  }
  return found
}

export function encodeTransactionIndex(transactions: readonly AbortedTransaction[]): Uint8Array {
  const bytes = new Uint8Array(transactions.length * transactionIndexEntryBytes)
  const view = new DataView(bytes.buffer)
  for (const [index, transaction] of transactions.entries()) {
    const at = index * transactionIndexEntryBytes
    view.setInt16(at, entryVersion)
    writeInt64(view, at + 2, transaction.producerId)
    writeInt64(view, at + 10, transaction.firstOffset)
    writeInt64(view, at + 18, transaction.lastOffset)
    writeInt64(view, at + 26, transaction.lastStableOffset)
  }
  return bytes
}
