/** Numbers about numbers: summaries over partitions, medians with intervals over repetitions. */
import { invariant } from '../invariant.ts'
import type { Interval, MedianTail } from './result.ts'
import { SeededRandom } from './statistics-random.ts'

export interface Summary {
  readonly count: number
  readonly min: number
  readonly median: number
  readonly mean: number
  readonly max: number
}

type Numbers = ArrayLike<number>

/** Order statistics by linear interpolation (R's type 7). `sorted` is ascending and not empty. */
export function quantileOfSorted(sorted: Numbers, quantile: number): number {
  invariant(sorted.length > 0, 'a quantile of no values')
  invariant(quantile >= 0 && quantile <= 1, 'a quantile is from 0 to 1')
  const place = (sorted.length - 1) * quantile
  const below = Math.floor(place)
  const above = Math.min(below + 1, sorted.length - 1)
  const low = sorted[below]!
  return low + (sorted[above]! - low) * (place - below)
}

/** Each of `quantiles` (0 to 1) of `values`, in any order; NaN where there are no values. */
export function quantilesOf(values: Numbers, quantiles: readonly number[]): number[] {
  if (values.length === 0) return quantiles.map(() => Number.NaN)
  const sorted = sortedCopy(values)
  return quantiles.map((quantile) => quantileOfSorted(sorted, quantile))
}

/** NaN of no values. */
export function median(values: Numbers): number {
  return quantilesOf(values, [0.5])[0]!
}

/** NaN of no values. */
export function mean(values: Numbers): number {
  let sum = 0
  for (let index = 0; index < values.length; index++) sum += values[index]!
  return sum / values.length
}

/** Standard deviation of a sample (n - 1); NaN below two values. */
export function standardDeviation(values: Numbers): number {
  if (values.length < 2) return Number.NaN
  const center = mean(values)
  let squares = 0
  for (let index = 0; index < values.length; index++) squares += (values[index]! - center) ** 2
  return Math.sqrt(squares / (values.length - 1))
}

/** All NaN but `count` where there are no values. */
export function summarize(values: Numbers): Summary {
  const [min, middle, max] = quantilesOf(values, [0, 0.5, 1])
  return { count: values.length, min: min!, median: middle!, mean: mean(values), max: max! }
}

/** Median, 99th percentile and largest; undefined of no values. */
export function medianTail(values: Numbers): MedianTail | undefined {
  if (values.length === 0) return undefined
  const [middle, p99, max] = quantilesOf(values, [0.5, 0.99, 1])
  return { median: middle!, p99: p99!, max: max! }
}

/** Half of the width of Student's 95 % interval of the mean; NaN below two values. */
export function meanHalfWidth95(values: Numbers): number {
  return (studentT95(values.length - 1) * standardDeviation(values)) / Math.sqrt(values.length)
}

const resamples = 2000
/** Below this the resampled median says less than order statistics do: Student's bounds instead. */
const bootstrapCountMin = 6

/**
 * Median with a 95 % interval, for repetitions with outliers: percentile bootstrap, resampled from
 * `seed`. With fewer than six values the interval is as wide as Student's, about the median:
 * resampling three values can only give back their range. One value has no interval: NaN.
 */
export function medianInterval95(values: Numbers, seed = 1): Interval {
  const middle = median(values)
  const own = Array.from(values)
  if (values.length < bootstrapCountMin) {
    const half = meanHalfWidth95(values)
    return { median: middle, low: middle - half, high: middle + half, values: own }
  }
  const random = new SeededRandom(seed)
  const sample = new Float64Array(values.length)
  const medians = new Float64Array(resamples)
  for (let resample = 0; resample < resamples; resample++) {
    for (let index = 0; index < sample.length; index++) {
      sample[index] = values[random.nextBelow(values.length)]!
    }
    medians[resample] = quantileOfSorted(sample.sort(), 0.5)
  }
  medians.sort()
  return {
    median: middle,
    low: quantileOfSorted(medians, 0.025),
    high: quantileOfSorted(medians, 0.975),
    values: own,
  }
}

/** 97.5 % points of Student's t with 1, 2, 3 … 10 degrees of freedom. */
const studentPoints = [
  12.706, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281,
]
const normalPoint = 1.959964

/**
 * 97.5 % point of Student's t. From a table up to 10 degrees of freedom, above by the
 * Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5), which is good to four digits there. NaN
 * below 1.
 */
export function studentT95(degreesOfFreedom: number): number {
  if (!(degreesOfFreedom >= 1)) return Number.NaN
  const tabled = studentPoints[degreesOfFreedom - 1]
  if (tabled !== undefined) return tabled
  const z = normalPoint
  const first = (z ** 3 + z) / 4
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96
  const third = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384
  return (
    z + first / degreesOfFreedom + second / degreesOfFreedom ** 2 + third / degreesOfFreedom ** 3
  )
}

function sortedCopy(values: Numbers): Float64Array {
  return Float64Array.from(values).sort()
}
