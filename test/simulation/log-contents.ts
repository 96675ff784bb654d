/** What lies in a partition's directory, read past all threads. */
import { posix } from 'node:path'
import {
  baseOffsetAt,
  checkBatch,
  leaderEpochAt,
  nextOffsetAt,
  sizeInBytesAt,
} from '../../src/log/batch-header.ts'
import { batchField } from '../../src/log/batch-layout.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { segmentBases, segmentPath } from '../../src/log/file-names.ts'
import type { MemoryFileSystem } from '../support/memory-file-system.ts'
import type { LogBatch } from './invariants/same-batches.ts'
import { brokerDirectory } from './simulated-broker.ts'

export interface LogContents {
  readonly batches: readonly LogBatch[]
  readonly logEndOffset: number
  /** What is wrong with it as a log; undefined: nothing. */
  readonly fault: string | undefined
  /** CRC of the batch that begins there. */
  crcAt(baseOffset: number): number | undefined
}

export function partitionDirectory(broker: number, topic: string, partition: number): string {
  return posix.join(brokerDirectory(broker), `${topic}-${partition}`)
}

/** @param endOffset batches at or above it don't count: they may be half written */
export function readContents(
  disk: MemoryFileSystem,
  directory: string,
  endOffset = Number.POSITIVE_INFINITY,
): LogContents {
  const batches: LogBatch[] = []
  const crcs = new Map<number, number>()
  let fault: string | undefined
  const bases = segmentBases(disk.list(directory) ?? [])
  let next = bases[0] ?? 0
  for (const base of bases) {
    if (base !== next && next < endOffset) fault ??= `segment ${base} after offset ${next}`
    const bytes = disk.readFile(segmentPath(directory, base, '.log')) ?? new Uint8Array(0)
    const memory = batchMemory(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length)
    for (let at = 0; at < bytes.length && next < endOffset; ) {
      const wrong = checkBatch(memory, at, bytes.length - at)
      if (wrong !== undefined || baseOffsetAt(memory, at) !== next) {
        fault ??= wrong ?? `offset ${baseOffsetAt(memory, at)} where ${next} is expected`
        break
      }
      const size = sizeInBytesAt(memory, at)
      const leaderEpoch = leaderEpochAt(memory, at)
      batches.push({ baseOffset: next, leaderEpoch, bytes: bytes.subarray(at, at + size) })
      crcs.set(next, memory.view.getUint32(at + batchField.crc))
      next = nextOffsetAt(memory, at)
      at += size
    }
  }
  return { batches, logEndOffset: next, fault, crcAt: (offset) => crcs.get(offset) }
}
