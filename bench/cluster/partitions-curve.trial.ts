/**
 * Cost as work grows: what three replicas take over 1 to 10,000 partitions, and the memory that a
 * partition takes. Each measurement is a process of its own, sizes in turn.
 */
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { settleDisk } from '../../src/lab/disk-settle.ts'
import type { ThroughputResult } from '../../src/lab/result.ts'
import { type Finding, findingOf, ratioOf, type TrialOptions } from '../trial.ts'
import { cpuSecPerGigabyte } from './throughput.trial.ts'

const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))
const timeoutMs = 120_000

export async function partitionsCurveTrial({ full, progress }: TrialOptions): Promise<Finding[]> {
  const sizes = full ? [1, 10, 100, 1_000, 10_000] : [1, 1_000]
  const [rounds, durationMs, maxBytes] = full ? [3, 2_000, 1.2e9] : [3, 500, 300e6]
  const results = sizes.map((): ThroughputResult[] => [])
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, partitions] of sizes.entries()) {
      progress.phase(`${partitions} partitions, ${round + 1} of ${rounds}`, null)
      await settleDisk(tmpdir())
      results[at]!.push(await throughputOf(partitions, { durationMs, maxBytes }))
    }
  }
  const rates = results.map((found) => found.map(({ bytesPerSec }) => bytesPerSec / 1e6))
  const resident = results.map((found) => found.map(({ memory }) => memory.rssBytes))
  return sizes.flatMap((partitions, at): Finding[] => {
    const name = nameOf(partitions)
    const finding = findingOf(name, 'MB/s', rates[at]!)
    if (at === 0) return [finding]
    const cpu = results[at]!.flatMap((result) => result.rounds.map(cpuSecPerGigabyte))
    const each = resident[at]!.map((bytes, round) => (bytes - resident[0]![round]!) / partitions)
    return [
      { ...finding, ratio: ratioOf(nameOf(sizes[at - 1]!), rates[at]!, rates[at - 1]!) },
      findingOf(`${name}, CPU`, 's/GB', cpu),
      // Of fewer the figure is that of the other noise in a process.
      ...(partitions < 1_000 ? [] : [findingOf(`${name}, memory of each`, 'bytes', each)]),
    ]
  })
}

function nameOf(partitions: number): string {
  return `1 KiB records, 16 KiB batches over ${partitions.toLocaleString('en')}`
}

async function throughputOf(
  partitions: number,
  { durationMs, maxBytes }: { readonly durationMs: number; readonly maxBytes: number },
): Promise<ThroughputResult> {
  const args = [
    ...[command, 'throughput', '--json', '--no-limit', '--partitions', String(partitions)],
    ...['--record-bytes', '1KiB', '--batch-bytes', '16KiB', '--seed', '1'],
    ...['--duration', `${durationMs}ms`, '--max-bytes', String(maxBytes)],
  ]
  const options = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 1 << 26 } as const
  const { stdout } = await promisify(execFile)(process.execPath, args, options)
  const result = JSON.parse(stdout) as ThroughputResult
  const { acknowledged, verified } = result.records
  if (verified === acknowledged && acknowledged > 0) return result
  throw new Error(`${partitions} partitions: ${JSON.stringify(result.records)}`)
}
