/** Ready 16 KiB batches into a log, against the bare write of the same bytes. */
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writevSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/clock.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { expectEqual } from '../bench.ts'
import { alternate, type Contender, type Finding, type TrialOptions } from '../trial.ts'
import { type SampleRun, sampleRun } from './batches.ts'

const batchBytes = 16 * 1024
/** The file starts anew after it, so that all write to memory the system has used before. */
const roundBytes = 32 * 1024 * 1024

export async function appendTrial({ full }: TrialOptions): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const batches of [1, 8, 64]) {
    const sample = sampleRun(batches, batchBytes)
    const count = Math.floor(roundBytes / (batches * sample.sizeBytes))
    const options = { rounds: full ? 200 : 25, unit: 'MB/s' }
    const amount = (count * batches * sample.sizeBytes) / 1e6
    const pair = [rawWrites(sample, count), appends(sample, count)]
    findings.push(...(await alternate(pair, { ...options, amount })))
  }
  return findings
}

function rawWrites({ memory, positions, sizeBytes, count: batches }: SampleRun, count: number) {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  const views = Array.from(positions, (at) => memory.bytes.subarray(at, at + sizeBytes))
  const file = openSync(join(directory, 'raw.log'), 'w')
  let written = 0
  return {
    name: `writev, ${batches} x 16 KiB`,
    prepare: () => ftruncateSync(file),
    round: () => {
      written = 0
      for (let left = count; left > 0; left -= 1) written += writevSync(file, views, written)
    },
    check: () => expectEqual('bytes written', written, count * batches * sizeBytes),
    close: () => {
      closeSync(file)
      rmSync(directory, { recursive: true })
    },
  } satisfies Contender
}

function appends(run: SampleRun, count: number): Contender {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  const log = PartitionLog.open({
    directory: join(directory, 'bench-0'),
    topic: 'bench',
    partition: 0,
    config: { ...logConfigDefaults, segmentBytes: 2 * roundBytes },
    clock: systemClock,
    cleanShutdown: true,
  })
  let expectedEnd = 0
  return {
    name: `append, ${run.count} x 16 KiB`,
    prepare: () => {
      // One batch stays, and with it the history of epochs: a file the less to replace.
      if (log.logEndOffset === 0) log.append({ ...run, count: 1 }, 0)
      log.truncateTo(run.recordCount)
      expectedEnd = run.recordCount * (1 + count * run.count)
    },
    round: () => {
      for (let left = count; left > 0; left -= 1) log.append(run, 0)
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
