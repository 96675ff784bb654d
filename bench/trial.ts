/**
 * A question that takes more than a function called again and again: contenders that do the same
 * work in turns, something that is opened or recovered once. It measures by itself and answers with
 * findings.
 */
import type { StudyProgress } from '../src/lab/study-progress.ts'

export interface Finding {
  readonly name: string
  readonly unit: string
  readonly median: number
  /** Quartiles, and of how many samples. */
  readonly p25: number
  readonly p75: number
  readonly samples: number
  /** This over the base, in the same round: median and quartiles of all rounds. */
  readonly ratio?: {
    readonly to: string
    readonly median: number
    readonly spread: readonly [p25: number, p75: number]
  }
  readonly note?: string
}

/** Of a rate more is better, of everything else less: of times, of memory, of processor time. */
export function isRate(unit: string): boolean {
  return unit.endsWith('/s')
}

export interface TrialOptions {
  /** Steady numbers instead of quick ones. */
  readonly full: boolean
  /** How long what is to be sustained is sustained. */
  readonly minutes: number
  /** Where a long trial tells how far it is. */
  readonly progress: StudyProgress
}

export type Trial = (options: TrialOptions) => Promise<Finding[]>

export interface Contender {
  readonly name: string
  /** Before each round, and not counted. */
  prepare?(): void
  /** One round's work. What it returns is not looked at. */
  round(): unknown
  /** @throws {Error} when the work was not done */
  check(): void | Promise<void>
  close?(): void | Promise<void>
}

export interface AlternateOptions {
  readonly rounds: number
  /** What one round handles, in the unit that a rate is told by. */
  readonly amount: number
  readonly unit: string
}

/**
 * Every contender once a round, in an order that turns, so that none always comes after the same
 * and the machine's moods meet all alike. The first is the base of the ratios.
 */
export async function alternate(
  contenders: readonly Contender[],
  { rounds, amount, unit }: AlternateOptions,
): Promise<Finding[]> {
  const rates = contenders.map((): number[] => [])
  try {
    for (let round = -1; round < rounds; round += 1) {
      for (let turn = 0; turn < contenders.length; turn += 1) {
        const at = (turn + round + 1) % contenders.length
        const contender = contenders[at]!
        contender.prepare?.()
        const startedMs = performance.now()
        const promise = contender.round()
        if (promise instanceof Promise) await promise
        const elapsedMs = performance.now() - startedMs
        // The first round warms up.
        if (round >= 0) rates[at]!.push((amount / elapsedMs) * 1_000)
      }
    }
    for (const contender of contenders) await contender.check()
  } finally {
    for (const contender of contenders) await contender.close?.()
  }
  return contenders.map(({ name }, at) => {
    const finding = findingOf(name, unit, rates[at]!)
    if (at === 0) return finding
    return { ...finding, ratio: ratioOf(contenders[0]!.name, rates[at]!, rates[0]!) }
  })
}

/** Of what was measured in the same rounds. */
export function ratioOf(
  to: string,
  values: readonly number[],
  base: readonly number[],
): NonNullable<Finding['ratio']> {
  const ratios = values.map((value, round) => value / base[round]!)
  const { median, p25, p75 } = findingOf('', '', ratios)
  return { to, median, spread: [p25, p75] }
}

export function findingOf(
  name: string,
  unit: string,
  values: readonly number[],
  note?: string,
): Finding {
  const sorted = [...values].sort((one, other) => one - other)
  const quantile = (share: number): number => {
    const at = share * (sorted.length - 1)
    const low = sorted[Math.floor(at)]!
    return low + (sorted[Math.ceil(at)]! - low) * (at % 1)
  }
  const [p25, median, p75] = [quantile(0.25), quantile(0.5), quantile(0.75)]
  const finding = { name, unit, median, p25, p75, samples: sorted.length }
  return note === undefined ? finding : { ...finding, note }
}
