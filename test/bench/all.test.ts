import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { suites, trials } from '../../bench/all.ts'
import { filePaths, repository } from '../support/source-files.ts'

describe.each(suites)('bench of %s', (_, makeBenches) => {
  it('does its work, so that its numbers mean something', () => {
    const benches = makeBenches()
    expect(benches.length).toBeGreaterThan(0)
    for (const bench of benches) {
      try {
        bench.run()
        bench.run()
        bench.check()
      } finally {
        bench.close?.()
      }
    }
  })
})

describe('the list of benches', () => {
  it('names every bench file', () => {
    const files = filePaths('bench').filter((path) => path.endsWith('.bench.ts'))
    expect(files.map((path) => path.slice('bench/'.length, -'.bench.ts'.length)).sort()).toEqual(
      suites.map(([name]) => name).sort(),
    )
  })

  it('takes its trials from every trial file', () => {
    const files = filePaths('bench').filter((path) => path.endsWith('.trial.ts'))
    const list = readFileSync(join(repository, 'bench/all.ts'), 'utf8')
    const missing = files.filter((path) => !list.includes(`'./${path.slice('bench/'.length)}'`))
    expect(files.length).toBeGreaterThan(0)
    expect(missing).toEqual([])
  })

  it('has one name for each', () => {
    const names = [...suites.map(([name]) => name), ...trials.map(({ name }) => name)]
    expect(new Set(names).size).toBe(names.length)
  })
})
