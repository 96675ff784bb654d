/**
 * Cost as work grows: what three replicas take over 1 to 10,000 partitions, and the memory that a
 * partition takes. Each measurement is a process of its own; sizes go up, then down again.
 */
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { settleDisk } from '../../src/lab/disk-settle.ts'
import type { ThroughputResult } from '../../src/lab/result.ts'
import { type Finding, findingOf, ratioOf, type TrialOptions } from '../trial.ts'
import { cpuSecPerGigabyte } from './throughput.trial.ts'

const stage = fileURLToPath(new URL('curve-stage.js', import.meta.url))
const timeoutMs = 120_000
/** Of fewer the memory of each is that of the other noise in a process. */
const partitionsToldMin = 1_000

export async function partitionsCurveTrial({ full, progress }: TrialOptions): Promise<Finding[]> {
  const sizes = full ? [1, 10, 100, 1_000, 10_000] : [1, 1_000]
  const args = full ? [3, 800, 300e6] : [3, 400, 100e6]
  const results = new Map(sizes.map((partitions) => [partitions, [] as ThroughputResult[]]))
  for (const partitions of [...sizes, ...sizes.toReversed()]) {
    progress.phase(`${partitions} partitions`, null)
    await settleDisk(tmpdir())
    results.get(partitions)!.push(await throughputOf([partitions, ...args]))
  }
  const resident = (partitions: number): number[] => {
    return results.get(partitions)!.map(({ memory }) => memory.rssBytes)
  }
  const rounds = sizes.map((partitions) => results.get(partitions)!.flatMap((each) => each.rounds))
  const rates = rounds.map((all) => all.map(({ bytesPerSec }) => bytesPerSec / 1e6))
  return sizes.flatMap((partitions, at): Finding[] => {
    const name = nameOf(partitions)
    const finding = findingOf(name, 'MB/s', rates[at]!)
    const cpu = findingOf(`${name}, CPU`, 's/GB', rounds[at]!.map(cpuSecPerGigabyte))
    if (at === 0) return [finding, cpu]
    const told: Finding[] = [
      { ...finding, ratio: ratioOf(nameOf(sizes[at - 1]!), rates[at]!, rates[at - 1]!) },
      cpu,
    ]
    if (partitions < partitionsToldMin) return told
    const one = resident(1)
    const each = resident(partitions).map((bytes, pass) => (bytes - one[pass]!) / partitions)
    return [...told, findingOf(`${name}, memory of each`, 'bytes', each)]
  })
}

function nameOf(partitions: number): string {
  return `1 KiB records, 16 KiB batches over ${partitions.toLocaleString('en')}`
}

async function throughputOf(args: readonly number[]): Promise<ThroughputResult> {
  const options = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 1 << 26 } as const
  const command = [stage, ...args.map(String)]
  const { stdout } = await promisify(execFile)(process.execPath, command, options)
  const result = JSON.parse(stdout) as ThroughputResult
  const { acknowledged, verified } = result.records
  if (verified === acknowledged && acknowledged > 0) return result
  throw new Error(`${args[0]} partitions: ${JSON.stringify(result.records)}`)
}
