/**
 * The file that results are kept in: one run for each suite, with the machine, the date and the
 * commit of its own, so that a file can be put together suite by suite.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, platform, tmpdir, totalmem } from 'node:os'
import { dirname } from 'node:path'
import { fileSystemOf } from './file-system-name.ts'
import type { Finding } from './trial.ts'

export interface Machine {
  readonly cpu: string
  readonly cpus: number
  readonly memoryBytes?: number
  readonly node: string
  readonly platform?: string
  /** Of the directory that the files are in. */
  readonly fileSystem: string
  /** Version of Apache Kafka, where it was measured beside. */
  readonly kafka?: string
}

export interface SuiteRun {
  readonly suite: string
  readonly date: string
  readonly commit: string
  readonly machine: Machine
  readonly full: boolean
  readonly findings: readonly Finding[]
}

export interface ResultsFile {
  readonly schemaVersion: 1
  readonly runs: readonly SuiteRun[]
}

/** @throws {Error} when the file is not there or not one of ours */
export function readResults(file: string): ResultsFile {
  const found = JSON.parse(readFileSync(file, 'utf8')) as Partial<ResultsFile>
  if (found.schemaVersion !== 1 || !Array.isArray(found.runs)) {
    throw new Error(`${file}: not a file of results, schema version 1`)
  }
  return found as ResultsFile
}

/** Suites of `later` take the place of their earlier runs; the others stay. In order of name. */
export function mergeRuns(earlier: readonly SuiteRun[], later: readonly SuiteRun[]): SuiteRun[] {
  const bySuite = new Map([...earlier, ...later].map((run) => [run.suite, run]))
  return [...bySuite.values()].sort((one, other) => (one.suite < other.suite ? -1 : 1))
}

export function writeResults(file: string, runs: readonly SuiteRun[]): void {
  const document: ResultsFile = { schemaVersion: 1, runs }
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(document, undefined, 2)}\n`)
}

export function thisMachine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cpus: cpus().length,
    memoryBytes: totalmem(),
    node: process.version,
    platform: platform(),
    fileSystem: fileSystemOf(tmpdir()),
  }
}

/** Short name of what is checked out, and whether something was changed since. */
export function thisCommit(): string {
  const git = (...args: string[]): string => {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  }
  try {
    const changed =
      git('status', '--porcelain', '--untracked-files=no', '--', 'src', 'bench') !== ''
    return git('rev-parse', '--short=12', 'HEAD').trim() + (changed ? ', changed' : '')
  } catch {
    return 'unknown'
  }
}
