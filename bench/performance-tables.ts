/** The README's tables of performance, made from the committed results. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatNumber, machineText } from './finding-lines.ts'
import {
  type NamedFinding,
  type PerformanceRow,
  type PerformanceTable,
  performanceTables,
} from './performance-rows.ts'
import { readResults, type SuiteRun } from './results-file.ts'
import type { Finding } from './trial.ts'

const resultsFile = 'bench/results/performance.json'
const begin = '<!-- performance: made by npm run bench -- --tables -->'
const end = '<!-- /performance -->'

/**
 * The README with its tables as the results have them.
 *
 * @throws {Error} when the README has no place for them
 */
export function withPerformanceTables(readme: string, runs: readonly SuiteRun[]): string {
  const [from, to] = [readme.indexOf(begin), readme.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`README.md: no ${begin} … ${end} in it`)
  const tables = performanceTables.flatMap((table) => tableText(table, runs) ?? []).join('\n')
  return `${readme.slice(0, from + begin.length)}\n\n${tables}\n${readme.slice(to)}`
}

/**
 * @param repository its root
 * @returns the file of results that they are made from
 */
export function writePerformanceTables(repository: string): string {
  const file = join(repository, 'README.md')
  const results = join(repository, resultsFile)
  const { runs } = readResults(results)
  writeFileSync(file, withPerformanceTables(readFileSync(file, 'utf8'), runs))
  return results
}

/** Rows that nothing was measured for are left out, and so is a table without rows. */
function tableText(table: PerformanceTable, runs: readonly SuiteRun[]): string | undefined {
  const { title, rows } = table
  const told = rows.flatMap((row) => {
    const run = runs.find(({ suite }) => suite === row.suite)
    const cells = run && rowCells(row, run.findings)
    return cells === undefined ? [] : [cells]
  })
  if (told.length === 0) return undefined
  const cells = [['what', 'got', 'beside it, in alternation'], ...told]
  const widths = [0, 1, 2].map((at) => Math.max(...cells.map((row) => row[at]!.length)))
  const lines = cells.map(
    (row) => `| ${row.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |`,
  )
  lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`)
  return `${title}${machineOf(rows, runs)}:\n\n${lines.join('\n')}\n`
}

/** All machines that the rows were measured on; one, where nobody mixes them. */
function machineOf(rows: readonly PerformanceRow[], runs: readonly SuiteRun[]): string {
  const suites = new Set(rows.map(({ suite }) => suite))
  const machines = runs
    .filter(({ suite }) => suites.has(suite))
    .map(({ machine }) => machineText(machine))
  return machines.length === 0 ? '' : `; ${[...new Set(machines)].join('; ')}`
}

function rowCells(row: PerformanceRow, findings: readonly Finding[]): string[] | undefined {
  const got = row.got.map((named) => told(named, findings))
  if (got.includes(undefined)) return undefined
  const beside = [
    ratios(row, findings),
    ...(row.beside ?? []).map((named) => told(named, findings)),
  ].filter((text) => text !== undefined)
  return [row.what, got.join(', '), beside.join(', ')]
}

function told({ label, name }: NamedFinding, findings: readonly Finding[]): string | undefined {
  const found = findings.find((finding) => finding.name === name)
  if (found === undefined) return undefined
  const text = `${formatNumber(found.median)} ${found.unit}`
  return label === undefined ? text : `${label} ${text}`
}

function ratios(
  { got, ratioOf }: PerformanceRow,
  findings: readonly Finding[],
): string | undefined {
  if (ratioOf === undefined) return undefined
  const found = got.flatMap(({ name }) => {
    const { ratio } = findings.find((finding) => finding.name === name)!
    if (ratio === undefined) return []
    const [low, high] = ratio.spread
    return [`${formatNumber(ratio.median)} (${formatNumber(low)} to ${formatNumber(high)})`]
  })
  return found.length === 0 ? undefined : `${found.join(' and ')} ${ratioOf}`
}
