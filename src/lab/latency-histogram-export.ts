/** Latencies in the text form that HdrHistogram's plotters and readers take. */
import { build } from 'hdr-histogram-js'
import type { LatencyHistogram } from './latency-histogram.ts'

const usMax = 3_600_000_000
const ticksPerHalfDistance = 5
const usPerMs = 1000

/** The percentile distribution (`Value Percentile TotalCount 1/(1-Percentile)`), values in ms. */
export function hdrPercentileText(histogram: LatencyHistogram): string {
  const target = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: usMax,
    numberOfSignificantValueDigits: 3,
  })
  histogram.forEachBucket((us, count) => target.recordValueWithCount(Math.round(us), count))
  return target.outputPercentileDistribution(ticksPerHalfDistance, usPerMs)
}
