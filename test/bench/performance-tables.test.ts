import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { trials } from '../../bench/all.ts'
import { performanceTables } from '../../bench/performance-rows.ts'
import { withPerformanceTables } from '../../bench/performance-tables.ts'
import { readResults, type SuiteRun } from '../../bench/results-file.ts'
import { repository } from '../support/source-files.ts'

const readme = readFileSync(path.join(repository, 'README.md'), 'utf8')
const { runs } = readResults(path.join(repository, 'bench/results/performance.json'))

describe('the tables of performance in the README', () => {
  it('are what the committed results give', () => {
    expect(withPerformanceTables(readme, runs)).toBe(readme)
  })

  it('have a row for whatever was measured, and only rows that a trial can fill', () => {
    const told = new Set(performanceTables.flatMap(({ rows }) => rows.map(({ suite }) => suite)))
    const names = new Set(trials.map(({ name }) => name))
    const isKnown = (suite: string) => names.has(suite) || suite.startsWith('kafka/')
    expect([...told].filter((suite) => !isKnown(suite))).toEqual([])
    const measured = runs.filter(({ suite }) => told.has(suite))
    expect(measured.filter((run) => rowsIn(withPerformanceTables(readme, [run])) === 0)).toEqual([])
  })

  it('tell figure, ratio and spread of a finding, and leave out what was not measured', () => {
    const what = '1 KiB records, 16 KiB batches, 100 partitions'
    const run: SuiteRun = {
      suite: 'cluster/throughput-16k-100',
      date: '2026-11-30',
      commit: 'abc',
      machine: { cpu: 'some', cpus: 2, node: 'v20.1', fileSystem: 'ext4 (rw)' },
      full: true,
      findings: [
        {
          ...{ name: what, unit: 'MB/s', median: 512.3, p25: 500, p75: 520, samples: 7 },
          ratio: { to: 'limit', median: 0.8531, spread: [0.84, 0.87] },
        },
      ],
    }
    const text = withPerformanceTables(readme, [run])
    expect(text).toContain(`| ${what} | 512 MB/s | 0.853 (0.840 to 0.870) of the physical limit |`)
    expect(text).toContain('; 2 cores (some), ext4, Node 20.1:')
    expect(rowsIn(text)).toBe(1)
    expect(text).not.toContain('The log alone; ')
  })
})

function rowsIn(text: string): number {
  const section = /<!-- performance.*?-->(.*)<!-- \/performance -->/s.exec(text)![1]!
  return [...section.matchAll(/^\| (?!what |-)/gm)].length
}
