/** Recovery after a crash, against reading and CRC-checking the same bytes and nothing else. */
import { closeSync, mkdtempSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/clock.ts'
import { crc32c } from '../../src/log/crc32c.ts'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { expectEqual } from '../bench.ts'
import { alternate, type Contender, type Finding, type TrialOptions } from '../trial.ts'
import { sampleRun } from './batches.ts'

const MiB = 1024 * 1024
const config = { ...logConfigDefaults, segmentBytes: 128 * MiB }

export async function recoveryTrial({ full }: TrialOptions): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const batchKiB of [4, 16, 128]) {
    const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
    try {
      const bytes = writeLog(directory, batchKiB * 1024, (full ? 1024 : 256) * MiB)
      const options = { rounds: full ? 15 : 5, amount: bytes / 1e6, unit: 'MB/s' }
      const name = `batches of ${batchKiB} KiB`
      const pair = [readAndCheck(name, directory, bytes), recovery(name, directory, bytes)]
      findings.push(...(await alternate(pair, options)))
    } finally {
      rmSync(directory, { recursive: true })
    }
  }
  return findings
}

function writeLog(directory: string, batchBytes: number, totalBytes: number): number {
  const run = sampleRun(Math.floor(MiB / batchBytes), batchBytes)
  const clock = systemClock
  const options = { directory, topic: 'bench', partition: 0, config, clock, cleanShutdown: true }
  const log = PartitionLog.open(options)
  while (log.sizeBytes < totalBytes) log.append(run, 0)
  const { sizeBytes } = log
  log.close()
  return sizeBytes
}

function readAndCheck(name: string, directory: string, expectedBytes: number): Contender {
  const chunk = new Uint8Array(MiB)
  let bytes = 0
  let sum = 0
  return {
    name: `read and CRC, ${name}`,
    round: () => {
      bytes = 0
      for (const file of readdirSync(directory).filter((each) => each.endsWith('.log'))) {
        const path = join(directory, file)
        const fd = openSync(path, 'r')
        for (let left = statSync(path).size; left > 0; ) {
          const read = readSync(fd, chunk, 0, Math.min(left, chunk.length), null)
          sum ^= crc32c(chunk, 0, read)
          bytes += read
          left -= read
        }
        closeSync(fd)
      }
    },
    check: () => {
      expectEqual('bytes read', bytes, expectedBytes)
      expectEqual('a number', Number.isInteger(sum), true)
    },
  }
}

function recovery(name: string, directory: string, expectedBytes: number): Contender {
  let bytes = 0
  let cut = -1
  return {
    name: `recovery, ${name}`,
    round: () => {
      const summary = recoverLog(directory, { recoveryPoint: 0, logStartOffset: 0, config })
      bytes = summary.bytesScanned
      cut = summary.truncatedBytes
    },
    check: () => {
      expectEqual('bytes scanned', bytes, expectedBytes)
      expectEqual('bytes cut', cut, 0)
    },
  }
}
