/** Runs histories one after the other and sums up what they showed. */
import { Coverage } from './coverage.ts'
import { type CutHistory, cutHistory } from './cut-history.ts'
import { type HistoryOptions, runHistory } from './history.ts'

/** Only so many are cut and told of; all are counted. */
const toldMax = 10

export interface ManyHistories {
  readonly seed: number
  readonly histories: number
  readonly steps: number
  readonly without?: ReadonlySet<number>
  /** Ends after the first violation. */
  readonly untilViolation?: boolean
  readonly trace?: (line: string) => void
}

export interface Summary {
  histories: number
  steps: number
  violations: number
  readonly told: CutHistory[]
  readonly counts: [string, number][]
}

/** @param onProgress called after each history */
export function runMany(many: ManyHistories, onProgress: (summary: Summary) => void): Summary {
  const coverage = new Coverage(many.trace)
  const summary: Summary = { histories: 0, steps: 0, violations: 0, told: [], counts: [] }
  for (let at = 0; at < many.histories; at++) {
    const { steps, without } = many
    const run: HistoryOptions = {
      seed: many.seed + at,
      steps,
      ...(without === undefined ? {} : { without }),
    }
    const result = runHistory(run, coverage)
    summary.histories++
    summary.steps += Math.min(steps, result.step + 1)
    if (result.violation !== undefined) {
      summary.violations++
      if (summary.told.length < toldMax) summary.told.push(cutHistory(run, result))
    }
    onProgress(summary)
    if (summary.violations > 0 && many.untilViolation === true) break
  }
  summary.counts.push(...coverage.counts)
  return summary
}
