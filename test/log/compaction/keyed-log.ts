/** A log of keyed records on a disk in memory, and its compaction as an owner would drive it. */
import { ManualClock } from '../../../src/clock.ts'
import type { BatchOptions } from '../../../src/log/batch-encoder.ts'
import { batchMemory } from '../../../src/log/batch-memory.ts'
import { Cleaner } from '../../../src/log/compaction/cleaner.ts'
import type { CleanerResult } from '../../../src/log/compaction/cleaner-job.ts'
import type { FileSystem } from '../../../src/log/file-system.ts'
import type { PartitionLog } from '../../../src/log/partition-log.ts'
import type { ProduceRecord } from '../../../src/log/record.ts'
import { encodeBatch, recordsIn, runOf } from '../../support/batch-builder.ts'
import { MemoryFileSystem } from '../../support/memory-file-system.ts'
import { type LogSetup, openLog } from '../log-fixture.ts'

export const directory = '/b/t-0'

export function newDisk(): MemoryFileSystem {
  const fs = new MemoryFileSystem()
  fs.makeDirectory(directory)
  fs.syncDirectory('/')
  fs.syncDirectory('/b')
  return fs
}

export function openKeyed(fs: FileSystem, setup: LogSetup = {}): PartitionLog {
  const config = { compacts: true, deletes: false, segmentBytes: 400, indexIntervalBytes: 60 }
  return openLog({
    fs,
    directory,
    clock: new ManualClock(),
    ...setup,
    config: { ...config, ...setup.config },
  })
}

/** `a=1` is a record, `a=` a tombstone, `=1` a record without a key. */
export function keyed(text: string, timestampMs = 1_000): ProduceRecord {
  const [key, value] = text.split('=') as [string, string]
  return {
    key: key === '' ? null : Buffer.from(key),
    value: value === '' ? null : Buffer.from(value),
    timestampMs,
  }
}

/** One batch for each text; records in it stand apart by a space. */
export function put(
  log: PartitionLog,
  texts: readonly string[],
  options: BatchOptions = { compression: 'none' },
): void {
  for (const text of texts) {
    const records = text.split(' ').map((each) => keyed(each))
    log.append(runOf([encodeBatch(records, options)]), 0)
  }
}

/** Ends the segment at hand with one record of a key of its own. */
export function roll(log: PartitionLog): void {
  const before = log.segmentCount
  for (let at = 0; log.segmentCount === before; at += 1)
    put(log, [`roll-${log.logEndOffset}=${at}`])
}

export interface CompactOptions {
  readonly nowMs?: number
  readonly lastStableOffset?: number
  readonly mapBytes?: number
}

/** The whole of a compaction; undefined: there was nothing to do. */
export function compact(
  fs: FileSystem,
  log: PartitionLog,
  options: CompactOptions = {},
): CleanerResult | undefined {
  const lastStableOffset = options.lastStableOffset ?? log.logEndOffset
  const now = { nowMs: options.nowMs ?? 1_000_000, lastStableOffset }
  const job = log.compaction.plan(now, options.mapBytes ?? 1_000_000)
  if (job === undefined) return undefined
  const cleaner = new Cleaner(fs, job)
  while (cleaner.step() > 0);
  log.compaction.replace(cleaner.result)
  return cleaner.result
}

/** All records of the log as `offset:key=value`, over any gaps. */
export function contents(log: PartitionLog): string[] {
  const target = batchMemory(new ArrayBuffer(1024 * 1024))
  const found: string[] = []
  let offset = log.logStartOffset
  while (offset < log.logEndOffset) {
    const bytes = log.read(offset, log.logEndOffset, 500, target, 0)
    if (bytes === 0) break
    for (const { offset: at, key, value } of recordsIn(target, 0, bytes)) {
      if (at < offset) continue
      found.push(`${at}:${textOf(key)}=${textOf(value)}`)
    }
    offset = nextOffset(target.view, bytes)
  }
  return found
}

function nextOffset(view: DataView, bytes: number): number {
  let at = 0
  let next = 0
  while (at < bytes) {
    next = Number(view.getBigInt64(at)) + view.getInt32(at + 23) + 1
    at += view.getInt32(at + 8) + 12
  }
  return next
}

function textOf(bytes: Uint8Array | null): string {
  return bytes === null ? '' : Buffer.from(bytes).toString()
}

/** Without the records that `roll` wrote. */
export function withoutRolls(labels: readonly string[]): string[] {
  return labels.filter((label) => !label.includes('roll-'))
}
