/** Batches made and read back for the model of a log, compared by their bytes. */
import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import {
  baseOffsetAt,
  checkBatch,
  leaderEpochAt,
  nextOffsetAt,
  sizeInBytesAt,
  stampBatch,
} from '../../src/log/batch-header.ts'
import { type BatchMemory, type BatchRun, batchMemory } from '../../src/log/batch-memory.ts'
import type { PartitionLog } from '../../src/log/partition-log.ts'
import { encodeBatch, runOf } from '../support/batch-builder.ts'
import type { ModelBatch } from './log-history.ts'

const target = batchMemory(new SharedArrayBuffer(64 * 1024))

/** What `PartitionLog` and `SegmentReader` have in common. */
export interface BatchSource {
  read(
    offset: number,
    endOffset: number,
    maxBytes: number,
    target: BatchMemory,
    targetPosition: number,
  ): number
}

export interface MadeBatches {
  /** Not stamped. */
  readonly run: BatchRun
  /** As they must be on disk. */
  readonly batches: readonly ModelBatch[]
}

/** Up to four batches of up to four records, values of 1 to 60 bytes, times near `timestampMs`. */
export function makeBatches(
  random: SeededRandom,
  firstOffset: number,
  leaderEpoch: number,
  timestampMs: number,
): MadeBatches {
  const encoded: BatchMemory[] = []
  for (let left = 1 + random.nextBelow(4); left > 0; left -= 1) {
    const records = Array.from({ length: 1 + random.nextBelow(4) }, () => ({
      key: null,
      value: randomBytes(random, 1 + random.nextBelow(60)),
      timestampMs: timestampMs - random.nextBelow(20),
    }))
    const compression = random.nextBelow(5) === 0 ? 'lz4' : 'none'
    encoded.push(encodeBatch(records, { compression }))
  }
  const batches: ModelBatch[] = []
  let offset = firstOffset
  for (const { bytes } of encoded) {
    const copy = Uint8Array.from(bytes)
    const memory = batchMemory(copy.buffer)
    stampBatch(memory, 0, offset, leaderEpoch)
    batches.push(batchAt(memory, 0))
    offset = nextOffsetAt(memory, 0)
  }
  return { run: runOf(encoded, random.nextBelow(2) * 5), batches }
}

/** The same batches, stamped, for a follower's door. */
export function stampedRunOf(batches: readonly ModelBatch[]): BatchRun {
  return runOf(batches.map(({ bytes }) => batchMemory(Uint8Array.from(bytes).buffer)))
}

/**
 * Reads everything from log start to log end, in portions of random size.
 *
 * @throws when a batch fails its checks or they leave the log's bounds.
 */
export function readBatches(log: PartitionLog, random: SeededRandom): ModelBatch[] {
  const batches: ModelBatch[] = []
  let offset = log.logStartOffset
  while (offset < log.logEndOffset) {
    const some = readSome(log, offset, log.logEndOffset, random.nextBelow(2_000))
    // Nothing more: the offsets up to the end were never given to a record.
    if (some.length === 0) break
    batches.push(...some)
    offset = some.at(-1)!.nextOffset
  }
  return batches
}

export function readSome(
  source: BatchSource,
  offset: number,
  endOffset: number,
  maxBytes: number,
): ModelBatch[] {
  const bytes = source.read(offset, endOffset, maxBytes, target, 0)
  const batches: ModelBatch[] = []
  let expected = -1
  for (let at = 0; at < bytes; ) {
    const fault = checkBatch(target, at, bytes - at)
    if (fault !== undefined) throw new Error(`read at ${offset}: batch fails: ${fault}`)
    const batch = batchAt(target, at)
    if (batch.baseOffset < expected) throw new Error(`read at ${offset}: offsets go back`)
    expected = batch.nextOffset
    batches.push(batch)
    at += batch.bytes.length
  }
  return batches
}

function batchAt(memory: BatchMemory, position: number): ModelBatch {
  const size = sizeInBytesAt(memory, position)
  return {
    baseOffset: baseOffsetAt(memory, position),
    nextOffset: nextOffsetAt(memory, position),
    leaderEpoch: leaderEpochAt(memory, position),
    bytes: Uint8Array.from(memory.bytes.subarray(position, position + size)),
  }
}

function randomBytes(random: SeededRandom, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let at = 0; at < length; at += 1) bytes[at] = random.nextUint32()
  return bytes
}
