/** Measures what `all.ts` lists; started by run.js once everything is compiled. */
import { existsSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { measure } from 'mitata'
import { createProgress } from '../src/cli/progress.ts'
import { suites, trials } from './all.ts'
import { parseBenchArguments } from './arguments.ts'
import type { Bench } from './bench.ts'
import { compareRuns } from './compare.ts'
import { comparedLines, findingLine, formatNumber } from './finding-lines.ts'
import { performancePage } from './page/performance-page.ts'
import { writePerformanceTables } from './performance-tables.ts'
import {
  mergeRuns,
  readResults,
  type SuiteRun,
  thisCommit,
  thisMachine,
  writeResults,
} from './results-file.ts'
import type { Finding, TrialOptions } from './trial.ts'

/** From where this file is once it is compiled. */
const repository = fileURLToPath(new URL('../../../', import.meta.url))
const silent = { phase() {}, status() {}, note() {}, stop() {} }
const shortNs = 100e6
const fullNs = 2e9

const names = [...suites.map(([name]) => name), ...trials.map(({ name }) => name)]

interface Measurement {
  readonly name: string
  findings(onFinding: (finding: Finding) => void): Promise<void>
}

async function main(): Promise<void> {
  const asked = parseBenchArguments(process.argv.slice(2), names)
  const { full, out, minutes } = asked
  if (asked.tables) {
    const file = writePerformanceTables(repository)
    return writePage(file, readResults(file).runs)
  }
  const before = asked.compare === undefined ? undefined : readResults(asked.compare)
  const progress = full ? createProgress({ stream: process.stderr }) : silent
  const options = { full, minutes, progress }
  const runs: SuiteRun[] = []
  for (const { name, findings } of chosen(asked.names, options)) {
    process.stdout.write(`\n${name}\n`)
    const found: Finding[] = []
    await findings((finding) => {
      found.push(finding)
      process.stdout.write(`  ${findingLine(finding)}\n`)
    })
    const date = new Date().toISOString()
    const about = { date, commit: thisCommit(), machine: thisMachine(), full }
    runs.push({ suite: name, ...about, findings: found })
    progress.stop()
    // After each, so that what was measured before somebody stops it is not lost.
    if (out !== undefined) save(out, asked.merge, runs)
  }
  if (out !== undefined) process.stdout.write(`\n${out}\n${pageBeside(out)}\n`)
  if (before === undefined) return
  const compared = compareRuns(before.runs, runs)
  process.stdout.write(`\nagainst ${asked.compare}\n${comparedLines(compared).join('\n')}\n`)
  const isSlower = compared.comparisons.some(({ verdict }) => verdict === 'slower')
  if (isSlower && asked.failOnSlower) process.exitCode = 1
}

function chosen(asked: readonly string[], options: TrialOptions): Measurement[] {
  const { full } = options
  // A whole name means that one, and not those that contain it too.
  const isNamed = (name: string): boolean => {
    return asked.some((part) => (names.includes(part) ? part === name : name.includes(part)))
  }
  const found: Measurement[] = []
  for (const [name, makeBenches] of suites) {
    if (asked.length > 0 && !isNamed(name)) continue
    found.push({
      name,
      async findings(onFinding) {
        for (const bench of makeBenches()) {
          onFinding(await measureBench(bench, full ? fullNs : shortNs))
        }
      },
    })
  }
  for (const { name, trial, isLong } of trials) {
    if (asked.length > 0 ? !isNamed(name) : isLong === true && !full) continue
    found.push({
      name,
      async findings(onFinding) {
        for (const finding of await trial(options)) onFinding(finding)
      },
    })
  }
  if (found.length === 0) throw new Error(`${asked.join(' ')}: allowed are ${names.join(', ')}`)
  return found
}

async function measureBench(bench: Bench, cpuTimeNs: number): Promise<Finding> {
  try {
    const stats = await measure(() => bench.run(), { min_cpu_time: cpuTimeNs })
    bench.check()
    const { p25, p50: median, p75 } = stats
    const samples = stats.samples.length
    const rates: string[] = []
    if (bench.bytes !== undefined) rates.push(`${formatNumber((bench.bytes * 1e3) / median)} MB/s`)
    if (bench.items !== undefined) rates.push(`${formatNumber((bench.items * 1e3) / median)} M/s`)
    const finding = { name: bench.name, unit: 'ns', median, p25, p75, samples }
    return rates.length === 0 ? finding : { ...finding, note: rates.join(', ') }
  } finally {
    bench.close?.()
  }
}

function pageBeside(file: string): string {
  return `${file.replace(/\.json$/, '')}.html`
}

function save(file: string, merge: boolean, runs: readonly SuiteRun[]): void {
  const earlier = merge && existsSync(file) ? readResults(file).runs : []
  const merged = mergeRuns(earlier, runs)
  writeResults(file, merged)
  writePage(file, merged)
}

function writePage(file: string, runs: readonly SuiteRun[]): void {
  writeFileSync(pageBeside(file), performancePage(runs))
}

try {
  await main()
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
