/** A thousand 100-byte records an append, encoded and written, against the bare write. */
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Log } from '../../src/log/log.ts'
import type { RecordInput } from '../../src/log/record-input.ts'
import { expectEqual } from '../bench.ts'
import { alternate, type Contender, type Finding, type TrialOptions } from '../trial.ts'
import { sampleRecords } from './sample-log.ts'

/** Files start anew after it, so that all write to memory the system has used before. */
const appendsPerRound = 300

export async function appendRecordsTrial({ full }: TrialOptions): Promise<Finding[]> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  const bytes = sampleRecords(0)
  const texts = bytes.map(({ value }) => ({ value: Buffer.from(value!).toString('latin1') }))
  const ascii = texts.map(({ value }) => ({ value: value.replace(/[^ -~]/g, '.') }))
  const keyed = bytes.map(({ value }, at) => ({ key: `sensor-${at}`, value: value! }))
  try {
    const contenders = [
      rawWrites(join(directory, 'raw')),
      await appends('bytes', join(directory, 'a-0'), bytes),
      await appends('bytes with text keys', join(directory, 'b-0'), keyed),
      await appends('ASCII texts', join(directory, 'c-0'), ascii),
    ]
    const amount = (appendsPerRound * bytes.length) / 1e6
    return await alternate(contenders, { rounds: full ? 100 : 10, amount, unit: 'M records/s' })
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** As many bytes as the batch of a thousand such records has. */
const rawBytes = 108_800

function rawWrites(path: string): Contender {
  const file = openSync(path, 'w')
  const bytes = new Uint8Array(rawBytes)
  let written = 0
  return {
    name: 'write of the same bytes',
    prepare: () => ftruncateSync(file),
    round: () => {
      written = 0
      for (let at = 0; at < appendsPerRound; at += 1) {
        written += writeSync(file, bytes, 0, rawBytes, written)
      }
    },
    check: () => expectEqual('bytes written', written, appendsPerRound * rawBytes),
    close: () => closeSync(file),
  }
}

async function appends(
  what: string,
  directory: string,
  records: readonly RecordInput[],
): Promise<Contender> {
  const log = await Log.open(directory)
  return {
    name: `append(records), ${what}`,
    prepare: () => log.truncateTo(0),
    round: () => {
      for (let at = 0; at < appendsPerRound; at += 1) log.append(records)
    },
    check: () => expectEqual('records', log.logEndOffset, appendsPerRound * records.length),
    close: () => void log.close(),
  }
}
