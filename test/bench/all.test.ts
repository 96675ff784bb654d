import { describe, expect, it } from 'vitest'
import { suites } from '../../bench/all.ts'
import { filePaths } from '../support/source-files.ts'

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
})
