import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writevSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/clock.ts'
import { type BatchMemory, type BatchRun, batchMemory } from '../../src/log/batch-memory.ts'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { type Bench, expectEqual } from '../bench.ts'
import { sampleBatch } from './batches.ts'

const batchBytes = 16 * 1024
/** The file starts anew at this size, so that both write to memory the system has used before. */
const fileBytesMax = 32 * 1024 * 1024

/** What does an append cost over the bare write of the same bytes? */
export function makeBenches(): Bench[] {
  return [1, 8].flatMap((batches) => [rawWrites(batches), appends(batches)])
}

function rawWrites(batches: number): Bench {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  const { memory, positions, sizeBytes } = sampleRun(batches)
  const views = Array.from(positions, (at) => memory.bytes.subarray(at, at + sizeBytes))
  const file = openSync(join(directory, 'raw.log'), 'w')
  const total = batches * sizeBytes
  let position = 0
  let written = 0
  return {
    name: `writev, ${batches} x 16 KiB`,
    bytes: total,
    run: () => {
      if (position + total > fileBytesMax) {
        ftruncateSync(file)
        position = 0
      }
      written = writevSync(file, views, position)
      position += written
      return written
    },
    check: () => expectEqual('bytes written', written, total),
    close: () => {
      closeSync(file)
      rmSync(directory, { recursive: true })
    },
  }
}

function appends(batches: number): Bench {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  const run = sampleRun(batches)
  const log = PartitionLog.open({
    directory: join(directory, 'bench-0'),
    topic: 'bench',
    partition: 0,
    config: { ...logConfigDefaults, segmentBytes: 2 * fileBytesMax },
    clock: systemClock,
    cleanShutdown: true,
  })
  const total = batches * run.sizeBytes
  const records = batches * run.recordCount
  let expectedEnd = 0
  return {
    name: `append, ${batches} x 16 KiB`,
    bytes: total,
    run: () => {
      if (log.sizeBytes + total > fileBytesMax) log.truncateFullyAndStartAt(log.logEndOffset)
      log.append(run, 0)
      expectedEnd += records
      return log.logEndOffset
    },
    check: () => {
      expectEqual('log end offset', log.logEndOffset, expectedEnd)
      const target = batchMemory(new ArrayBuffer(run.sizeBytes))
      const bytes = log.read(expectedEnd - 1, expectedEnd, run.sizeBytes, target, 0)
      expectEqual('bytes read back', bytes, run.sizeBytes)
    },
    close: () => {
      log.close({ flush: false })
      rmSync(directory, { recursive: true })
    },
  }
}

interface SampleRun extends BatchRun {
  readonly sizeBytes: number
  readonly recordCount: number
}

function sampleRun(count: number): SampleRun {
  const sample = sampleBatch(batchBytes, 1024)
  const memory: BatchMemory = batchMemory(new SharedArrayBuffer(count * batchBytes))
  const positions = Int32Array.from({ length: count }, (_, index) => index * batchBytes)
  for (const position of positions) {
    memory.bytes.set(sample.memory.bytes.subarray(0, sample.sizeBytes), position)
  }
  const { sizeBytes, recordCount } = sample
  return { memory, positions, count, sizeBytes, recordCount }
}
