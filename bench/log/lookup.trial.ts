/** One record of a large log by its offset, and the offset of a time; the process warm. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Log } from '../../src/log/log.ts'
import { expectEqual } from '../bench.ts'
import { type Finding, findingOf, type TrialOptions } from '../trial.ts'
import { fillLog } from './sample-log.ts'

const MB = 1_000_000

export async function lookupTrial({ full }: TrialOptions): Promise<Finding[]> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  const log = await Log.open(join(directory, 'lookup-0'), { 'batch.size': 16 * 1024 })
  const gigabytes = full ? 1 : 0.15
  try {
    fillLog(log, gigabytes * 1_000 * MB)
    // Most of it in a sealed segment, the indexes of which are read by the page.
    log.truncateTo(log.logEndOffset - 1_000)
    const of = `in ${gigabytes} GB of 100 B records`
    const samples = full ? 100_000 : 20_000
    const byOffset = measure(samples, log.logEndOffset, (offset) => {
      const [record] = log.records({ fromOffset: offset, toOffset: offset + 1 })
      expectEqual('offset', record!.offset, offset)
    })
    const byTime = measure(samples, log.logEndOffset, (timestampMs) => {
      expectEqual('offset', log.offsetForTimestamp(timestampMs)!.offset, timestampMs)
    })
    return [
      findingOf(`record by offset ${of}`, 'µs', byOffset),
      findingOf(`offset by timestamp ${of}`, 'µs', byTime),
    ]
  } finally {
    await log.close()
    rmSync(directory, { recursive: true })
  }
}

/** Microseconds of each lookup of a number below `end`, all over the range. */
function measure(samples: number, end: number, look: (number: number) => void): number[] {
  const taken: number[] = []
  let state = 1
  for (let round = -samples / 4; round < samples; round += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const number = Math.floor((state / 2 ** 32) * end)
    const startedNs = process.hrtime.bigint()
    look(number)
    const elapsedNs = Number(process.hrtime.bigint() - startedNs)
    if (round >= 0) taken.push(elapsedNs / 1_000)
  }
  return taken
}
