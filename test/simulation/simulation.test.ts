import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { repository } from '../support/source-files.ts'
import { Coverage } from './coverage.ts'
import { runHistory } from './history.ts'
import { runMany } from './many-histories.ts'
import { mutated } from './mutation-run.ts'
import { mutations } from './mutations.ts'

const histories = 2_000

describe('simulated histories', () => {
  it('break no invariant', { timeout: 900_000 }, () => {
    const { told } = runMany({ seed: 1, histories, steps: 40 }, () => {})
    expect(told).toEqual([])
  })

  it.each([
    ['an unclean leader that led and answered between two steps of the controller', 40053744, 32],
    ['a partition that is behind while metadata changes in every step', 3034324, 40],
    ['a report of a life that has lost what it told', 5094891, 36],
    ['a leader of epochs 1 and 3 that has not seen who led in 2', 5054200, 40],
    ['a disk lost after the leader counted it', 5098265, 40],
  ])('break none: %s', (_, seed, steps) => {
    expect(runHistory({ seed, steps }).violation).toBeUndefined()
  })

  it('are the same each time', () => {
    const counts = [1, 2].map(() => {
      const coverage = new Coverage()
      runHistory({ seed: 4, steps: 60 }, coverage)
      return [...coverage.counts]
    })
    expect(counts[0]).toEqual(counts[1])
  })

  it('take their faults from their steps alone, so that one can be left out', () => {
    const { faulty } = runHistory({ seed: 5, steps: 60 })
    const without = new Set(faulty)
    const coverage = new Coverage()
    const { faulty: same } = runHistory({ seed: 5, steps: 60, without }, coverage)
    expect(faulty.length).toBeGreaterThan(0)
    expect(same).toEqual(faulty)
    expect([...coverage.counts.keys()].filter((name) => name.startsWith('fault'))).toEqual([])
  })
})

describe('bugs put in on purpose', () => {
  it.each(mutations)('$name fits the source', (mutation) => {
    const text = readFileSync(join(repository, mutation.path), 'utf8')
    expect(mutated(text, mutation)).not.toBe(text)
  })
})
