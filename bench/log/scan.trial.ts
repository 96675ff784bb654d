/** All of a log of 100-byte records from its first to its last: by batches, and by records. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Log } from '../../src/log/log.ts'
import { expectEqual } from '../bench.ts'
import { alternate, type Finding, type TrialOptions } from '../trial.ts'
import { fillLog } from './sample-log.ts'

const MB = 1_000_000

export async function scanTrial({ full }: TrialOptions): Promise<Finding[]> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  const log = await Log.open(join(directory, 'scan-0'), { 'batch.size': 16 * 1024 })
  try {
    fillLog(log, (full ? 1_000 : 150) * MB)
    const { sizeBytes, logEndOffset } = log
    const rounds = full ? 20 : 10
    let bytes = 0
    let records = 0
    const byBatches = {
      name: 'scan batches, CRC checked',
      round: () => {
        bytes = 0
        for (const batch of log.batches()) bytes += batch.sizeBytes
      },
      check: () => expectEqual('bytes', bytes, sizeBytes),
    }
    const byRecords = {
      name: 'scan 100 B records, CRC checked and decoded',
      round: () => {
        records = 0
        for (const { value } of log.records()) records += value!.length / 100
      },
      check: () => expectEqual('records', records, logEndOffset),
    }
    // More than one round until the loops are compiled as they will stay.
    for (let warm = 0; warm < 3; warm += 1) {
      byBatches.round()
      byRecords.round()
    }
    return [
      ...(await alternate([byBatches], { rounds, amount: sizeBytes / 1e9, unit: 'GB/s' })),
      ...(await alternate([byRecords], {
        rounds,
        amount: logEndOffset / 1e6,
        unit: 'M records/s',
      })),
    ]
  } finally {
    await log.close()
    rmSync(directory, { recursive: true })
  }
}
