/** Measures what `all.ts` lists; started by run.js once everything is compiled. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { measure } from 'mitata'
import { suites, trials } from './all.ts'
import type { Bench } from './bench.ts'
import { fileSystemOf } from './file-system-name.ts'
import type { Finding } from './trial.ts'

interface Measured {
  readonly suite: string
  readonly name: string
  /** Of the fastest quarter of samples: what the machine can do when nothing else disturbs it. */
  readonly nsPerRun: number
  readonly p99Ns: number
  readonly bytesPerSec?: number
  readonly itemsPerSec?: number
}

interface Found extends Finding {
  readonly suite: string
}

interface Results {
  readonly date: string
  readonly commit: string
  readonly machine: {
    readonly cpu: string
    readonly cpus: number
    readonly node: string
    /** Of the directory that the files are in. */
    readonly fileSystem: string
  }
  readonly full: boolean
  readonly results: readonly Measured[]
  readonly findings: readonly Found[]
}

const shortNs = 100e6
const fullNs = 2e9

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      full: { type: 'boolean', default: false },
      out: { type: 'string' },
      compare: { type: 'string' },
    },
  })
  const names = [...suites.map(([name]) => name), ...trials.map(({ name }) => name)]
  // A whole name means that one, and not those that contain it too.
  const isNamed = (name: string): boolean => {
    return positionals.some((part) => (names.includes(part) ? part === name : name.includes(part)))
  }
  const chosen = suites.filter(([name]) => positionals.length === 0 || isNamed(name))
  const chosenTrials = trials.filter(({ name, isLong }) => {
    return positionals.length === 0 ? values.full || isLong !== true : isNamed(name)
  })
  if (chosen.length + chosenTrials.length === 0) {
    throw new Error(`${positionals.join(' ')}: allowed are ${names.join(', ')}`)
  }
  const before = values.compare === undefined ? undefined : readResults(values.compare)
  const results: Measured[] = []
  for (const [suite, makeBenches] of chosen) {
    process.stdout.write(`\n${suite}\n`)
    for (const bench of makeBenches()) {
      const measured = await measureBench(suite, bench, values.full ? fullNs : shortNs)
      results.push(measured)
      process.stdout.write(`  ${line(measured, before)}\n`)
    }
  }
  const findings: Found[] = []
  for (const { name: suite, trial } of chosenTrials) {
    process.stdout.write(`\n${suite}\n`)
    for (const finding of await trial({ full: values.full })) {
      findings.push({ suite, ...finding })
      process.stdout.write(`  ${findingLine({ suite, ...finding }, before)}\n`)
    }
  }
  if (values.out !== undefined) save(values.out, values.full, results, findings)
}

async function measureBench(suite: string, bench: Bench, cpuTimeNs: number): Promise<Measured> {
  try {
    const stats = await measure(() => bench.run(), { min_cpu_time: cpuTimeNs })
    bench.check()
    const perSec = 1e9 / stats.p25
    return {
      suite,
      name: bench.name,
      nsPerRun: stats.p25,
      p99Ns: stats.p99,
      ...(bench.bytes === undefined ? {} : { bytesPerSec: bench.bytes * perSec }),
      ...(bench.items === undefined ? {} : { itemsPerSec: bench.items * perSec }),
    }
  } finally {
    bench.close?.()
  }
}

function line(measured: Measured, before: Results | undefined): string {
  const { suite, name, nsPerRun, bytesPerSec, itemsPerSec } = measured
  const cells = [name.padEnd(52), `${number(nsPerRun)} ns`.padStart(14)]
  cells.push(bytesPerSec === undefined ? ' '.repeat(12) : rate(bytesPerSec / 1e6, 'MB/s'))
  if (itemsPerSec !== undefined) cells.push(rate(itemsPerSec / 1e6, 'M/s'))
  const old = before?.results.find((result) => result.suite === suite && result.name === name)
  if (old !== undefined) cells.push(`${((old.nsPerRun / nsPerRun - 1) * 100).toFixed(1)} % faster`)
  return cells.join(' ').trimEnd()
}

function findingLine(found: Found, before: Results | undefined): string {
  const { suite, name, unit, median, p25, p75, ratio, note } = found
  const cells = [name.padEnd(52), `${number(median)} ${unit}`.padStart(18)]
  cells.push(`(${number(p25)} to ${number(p75)})`)
  if (ratio !== undefined) cells.push(`${number(ratio.median)} of ${ratio.to}`)
  if (note !== undefined) cells.push(note)
  const old = before?.findings?.find((each) => each.suite === suite && each.name === name)
  if (old !== undefined) cells.push(`before: ${number(old.median)}`)
  return cells.join(' ')
}

function rate(value: number, unit: string): string {
  return `${number(value)} ${unit}`.padStart(12)
}

function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

function save(
  file: string,
  full: boolean,
  results: readonly Measured[],
  findings: readonly Found[],
): void {
  const [first] = cpus()
  const fileSystem = fileSystemOf(tmpdir())
  const document: Results = {
    date: new Date().toISOString(),
    commit: commit(),
    machine: {
      cpu: first?.model ?? 'unknown',
      cpus: cpus().length,
      node: process.version,
      fileSystem,
    },
    full,
    results,
    findings,
  }
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(document, undefined, 2)}\n`)
  process.stdout.write(`\n${file}\n`)
}

function readResults(file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8')) as Results
}

function commit(): string {
  const git = (...args: string[]): string => {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  }
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no') !== ''
    return git('rev-parse', '--short=12', 'HEAD').trim() + (changed ? ', changed' : '')
  } catch {
    return 'unknown'
  }
}

try {
  await main()
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
