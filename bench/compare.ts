/**
 * What got slower or faster between two files of results, and what is within the noise: the spread
 * of both decides.
 */
import { studentT95 } from '../src/lab/statistics.ts'
import type { Machine, SuiteRun } from './results-file.ts'
import { type Finding, isRate } from './trial.ts'

export type Verdict = 'faster' | 'slower' | 'within noise' | 'one sample, not judged'

export interface Comparison {
  readonly suite: string
  readonly name: string
  readonly verdict: Verdict
  /** After over before: of the ratio to what was measured beside it where there is one. */
  readonly change: number
  /** How far `change` may be from 1 and mean nothing; infinite where nothing is known. */
  readonly noise: number
}

export interface ComparedRuns {
  readonly comparisons: readonly Comparison[]
  /** Why figures may differ though the code does not. */
  readonly caveats: readonly string[]
}

/** Of the normal distribution: a quartile in standard deviations, and a median's error in those. */
const quartileDeviations = 0.6745
const medianErrorDeviations = 1.2533

interface Estimate {
  readonly median: number
  /** Half of the interval that holds the true median 95 times in 100, were all samples alike. */
  readonly halfWidth: number
}

/** Findings of the same suite, name and unit; what only one of them has is left out. */
export function compareRuns(before: readonly SuiteRun[], after: readonly SuiteRun[]): ComparedRuns {
  const comparisons: Comparison[] = []
  const caveats = new Set<string>()
  for (const run of after) {
    const earlier = before.find(({ suite }) => suite === run.suite)
    if (earlier === undefined) continue
    for (const caveat of caveatsOf(earlier, run)) caveats.add(caveat)
    for (const finding of run.findings) {
      const old = earlier.findings.find(({ name, unit }) => {
        return name === finding.name && unit === finding.unit
      })
      if (old !== undefined) comparisons.push(compare(run.suite, old, finding))
    }
  }
  return { comparisons, caveats: [...caveats] }
}

function compare(suite: string, before: Finding, after: Finding): Comparison {
  // What was measured in alternation has had the same moods of the machine: the ratio tells more.
  const byRatio = before.ratio !== undefined && before.ratio.to === after.ratio?.to
  const [old, now] = [estimateOf(before, byRatio), estimateOf(after, byRatio)]
  const change = now.median / old.median
  const noise = Math.hypot(old.halfWidth, now.halfWidth) / Math.abs(old.median)
  return { suite, name: after.name, change, noise, verdict: verdictOf(change, noise, after.unit) }
}

function verdictOf(change: number, noise: number, unit: string): Verdict {
  if (!Number.isFinite(noise)) return 'one sample, not judged'
  if (!(Math.abs(change - 1) > noise)) return 'within noise'
  return change > 1 === isRate(unit) ? 'faster' : 'slower'
}

/**
 * From median, quartiles and their number. Never narrower than the quartiles themselves: many
 * samples of one run tell little of the next run.
 */
function estimateOf({ samples, ...finding }: Finding, byRatio: boolean): Estimate {
  const { median } = byRatio ? finding.ratio! : finding
  const [low, high] = byRatio ? finding.ratio!.spread : [finding.p25, finding.p75]
  if (samples < 2) return { median, halfWidth: Number.POSITIVE_INFINITY }
  const halfQuartiles = (high - low) / 2
  const deviation = halfQuartiles / quartileDeviations
  const error = (studentT95(samples - 1) * medianErrorDeviations * deviation) / Math.sqrt(samples)
  return { median, halfWidth: Math.max(halfQuartiles, error) }
}

function caveatsOf(before: SuiteRun, after: SuiteRun): string[] {
  const caveats: string[] = []
  const parts: readonly (keyof Machine)[] = ['cpu', 'cpus', 'node', 'fileSystem']
  for (const part of parts) {
    const [was, is] = [before.machine[part], after.machine[part]]
    if (was !== is) caveats.push(`another ${part}: ${was} before, ${is} now`)
  }
  if (before.full !== after.full) {
    caveats.push(
      `${before.full ? 'long' : 'short'} runs before, ${after.full ? 'long' : 'short'} now`,
    )
  }
  return caveats
}
