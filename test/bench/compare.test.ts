import { describe, expect, it } from 'vitest'
import { compareRuns } from '../../bench/compare.ts'
import { comparedLines } from '../../bench/finding-lines.ts'
import type { SuiteRun } from '../../bench/results-file.ts'
import { type Finding, findingOf, ratioOf } from '../../bench/trial.ts'

const machine = { cpu: 'some', cpus: 2, node: 'v20', fileSystem: 'ext4' }

function runOf(findings: readonly Finding[], changes: Partial<SuiteRun> = {}): SuiteRun {
  const run = { suite: 'log/append', date: '2026-11-30', commit: 'abc', machine, full: true }
  return { ...run, findings, ...changes }
}

/** Samples around a middle, evenly from 5 % below it to 5 % above. */
function around(middle: number, samples = 11): number[] {
  return Array.from({ length: samples }, (_, at) => {
    return middle * (0.95 + (0.1 * at) / Math.max(1, samples - 1))
  })
}

function verdictOf(before: Finding, after: Finding) {
  const { comparisons } = compareRuns([runOf([before])], [runOf([after])])
  expect(comparisons).toHaveLength(1)
  return comparisons[0]!.verdict
}

describe('two findings', () => {
  it.each([
    ['MB/s', 100, 120, 'faster'],
    ['MB/s', 100, 80, 'slower'],
    ['MB/s', 100, 102, 'within noise'],
    ['M records/s', 4, 3, 'slower'],
    ['ms', 10, 12, 'slower'],
    ['ms', 10, 8, 'faster'],
    ['ms', 10, 10.2, 'within noise'],
    ['ns', 100, 70, 'faster'],
    ['s/GB', 2, 3, 'slower'],
    ['bytes a log', 4000, 3000, 'faster'],
  ])('in %s: %f, then %f: %s', (unit, before, after, verdict) => {
    expect(
      verdictOf(findingOf('x', unit, around(before)), findingOf('x', unit, around(after))),
    ).toBe(verdict)
  })

  it('need more to differ the fewer samples there are', () => {
    const few = [100, 102, 104]
    const more = few.map((value) => value * 1.05)
    expect(verdictOf(findingOf('x', 'ms', few), findingOf('x', 'ms', more))).toBe('within noise')
    const many = Array.from({ length: 10 }, () => few).flat()
    const manyMore = Array.from({ length: 10 }, () => more).flat()
    expect(verdictOf(findingOf('x', 'ms', many), findingOf('x', 'ms', manyMore))).toBe('slower')
  })

  it('differ by the spread of both, whichever of them is the wide one', () => {
    const narrow = findingOf('x', 'ms', [9.99, 10, 10, 10, 10.01])
    const wide = findingOf('x', 'ms', [5, 8, 13, 16, 19])
    expect(verdictOf(narrow, wide)).toBe('within noise')
    expect(verdictOf(wide, narrow)).toBe('within noise')
    expect(verdictOf(narrow, findingOf('x', 'ms', [12.99, 13, 13, 13, 13.01]))).toBe('slower')
  })

  it('are not judged by one sample', () => {
    const [one, two] = [findingOf('x', 'ms', [10]), findingOf('x', 'ms', [20])]
    expect(verdictOf(one, two)).toBe('one sample, not judged')
    expect(verdictOf(one, findingOf('x', 'ms', around(20)))).toBe('one sample, not judged')
  })

  it('are held against each other by what was measured beside them', () => {
    // The whole machine is slower now, the ratio is what it was.
    const found = (scale: number, ratio: number): Finding => {
      const limits = around(100 * scale)
      const values = limits.map((limit) => limit * ratio)
      return { ...findingOf('x', 'MB/s', values), ratio: ratioOf('limit', values, limits) }
    }
    expect(verdictOf(found(1, 0.8), found(0.5, 0.8))).toBe('within noise')
    expect(verdictOf(found(1, 0.8), found(2, 0.6))).toBe('slower')
    const other: Finding = { ...found(0.5, 0.8), ratio: ratioOf('other', [0.8], [1]) }
    expect(verdictOf(found(1, 0.8), other)).toBe('slower')
  })
})

describe('two files', () => {
  const finding = findingOf('x', 'ms', around(10))

  it('are compared in what they share by suite, name and unit', () => {
    const before = [
      runOf([finding, findingOf('y', 'ms', [1, 2])]),
      runOf([finding], { suite: 'a' }),
    ]
    const after = [
      runOf([finding, findingOf('y', 'MB/s', [1, 2])]),
      runOf([finding], { suite: 'b' }),
    ]
    const { comparisons } = compareRuns(before, after)
    expect(comparisons.map(({ suite, name }) => `${suite} ${name}`)).toEqual(['log/append x'])
  })

  it('of other machines or other lengths are told to be so', () => {
    const other = { machine: { ...machine, node: 'v22' }, full: false }
    const { caveats } = compareRuns([runOf([finding])], [runOf([finding], other)])
    expect(caveats).toEqual(['another node: v20 before, v22 now', 'long runs before, short now'])
    expect(compareRuns([runOf([finding])], [runOf([finding])]).caveats).toEqual([])
  })

  it('are told with what got slower first', () => {
    const slower = findingOf('y', 'ms', around(20))
    const before = [runOf([finding, findingOf('y', 'ms', around(10))])]
    const lines = comparedLines(compareRuns(before, [runOf([finding, slower])]))
    expect(lines).toEqual([
      'slower:',
      expect.stringMatching(/^ {2}log\/append: y +\+100\.0 % {2}noise \d+\.\d %$/),
      'within noise:',
      expect.stringMatching(/^ {2}log\/append: x +\+0\.0 %/),
    ])
    expect(comparedLines(compareRuns([], before))).toEqual([
      '  nothing in it that was measured now',
    ])
  })
})
