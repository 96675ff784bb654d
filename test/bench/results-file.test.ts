import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { mergeRuns, readResults, type SuiteRun, writeResults } from '../../bench/results-file.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const machine = { cpu: 'some', cpus: 2, node: 'v20', fileSystem: 'ext4' }
const runOf = (suite: string, commit: string): SuiteRun => {
  return { suite, commit, date: '2026-11-30', machine, full: true, findings: [] }
}

describe('a file of results', () => {
  it('is put together suite by suite, the later run of a suite in place of the earlier', () => {
    const merged = mergeRuns([runOf('b', '1'), runOf('c', '1')], [runOf('c', '2'), runOf('a', '2')])
    expect(merged.map(({ suite, commit }) => suite + commit)).toEqual(['a2', 'b1', 'c2'])
  })

  it('is read as it was written, and nothing else is taken for one', () => {
    const file = path.join(temporaryDirectory(), 'deep', 'results.json')
    const runs = [runOf('a', '1')]
    writeResults(file, runs)
    expect(readResults(file).runs).toEqual(runs)
    writeFileSync(file, '{"results":[]}')
    expect(() => readResults(file)).toThrow(/not a file of results/)
  })
})
