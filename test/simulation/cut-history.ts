/** Makes a failing history as short as it gets: the shortest prefix, then without idle faults. */
import type { InvariantViolation } from '../../src/replication/invariants/board-invariants.ts'
import { type HistoryOptions, type HistoryResult, runHistory } from './history.ts'

/** Faults that are tried to be left out, at most. */
const triesMax = 60

export interface CutHistory {
  readonly seed: number
  readonly steps: number
  readonly without: readonly number[]
  readonly violation: InvariantViolation
}

/** @param run a history that is known to fail, and with what result */
export function cutHistory(run: HistoryOptions, result: HistoryResult): CutHistory {
  const { seed } = run
  const fails = (steps: number, without: ReadonlySet<number>) => {
    const { violation } = runHistory({ seed, steps, without })
    return violation?.invariant === result.violation?.invariant ? violation : undefined
  }
  let violation = result.violation!
  const without = new Set(run.without)
  let steps = Math.min(run.steps, result.step + 1)
  for (let low = 0; low < steps; ) {
    const middle = (low + steps) >>> 1
    const found = fails(middle, without)
    if (found === undefined) low = middle + 1
    else {
      steps = middle
      violation = found
    }
  }
  const candidates = result.faulty.filter((step) => step < steps && !without.has(step)).reverse()
  for (const step of candidates.slice(0, triesMax)) {
    without.add(step)
    const found = fails(steps, without)
    if (found === undefined) without.delete(step)
    else violation = found
  }
  return { seed, steps, without: [...without].sort((a, b) => a - b), violation }
}
