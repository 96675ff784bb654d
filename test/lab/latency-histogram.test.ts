import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isTidemarkError } from '../../src/errors.ts'
import { LatencyHistogram, latencyHistogramWords } from '../../src/lab/latency-histogram.ts'
import { hdrPercentileText } from '../../src/lab/latency-histogram-export.ts'

const latencyUs = fc.oneof(
  fc.nat({ max: 300 }),
  fc.nat({ max: 100_000 }),
  fc.nat({ max: 600_000_000 }),
)

function filled(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram()
  for (const us of values) histogram.record(us / 1000)
  return histogram
}

describe('LatencyHistogram', () => {
  test('quantiles agree with the sorted values within 1 %', () => {
    fc.assert(
      fc.property(fc.array(latencyUs, { minLength: 1, maxLength: 200 }), (values) => {
        const histogram = filled(values)
        const sorted = [...values].sort((a, b) => a - b)
        const quantiles = [0, 0.01, 0.5, 0.9, 0.99, 0.999, 1]
        histogram.quantiles(quantiles).forEach((ms, index) => {
          const rank = Math.max(1, Math.ceil(quantiles[index]! * sorted.length))
          const exactMs = sorted[rank - 1]! / 1000
          expect(Math.abs(ms - exactMs)).toBeLessThanOrEqual(exactMs * 0.01)
        })
        expect(histogram.count).toBe(values.length)
        expect(histogram.maxMs).toBe(sorted.at(-1)! / 1000)
      }),
    )
  })

  test('every power of two and its neighbours come back within 1 %', () => {
    for (let power = 0; power < 29; power++) {
      for (const us of [2 ** power - 1, 2 ** power, 2 ** power + 1]) {
        const histogram = filled([us, 600_000_000])
        expect(Math.abs(histogram.quantile(0.5) * 1000 - us)).toBeLessThanOrEqual(us / 128)
      }
    }
  })

  test('what is out of range is held at the ends', () => {
    const histogram = new LatencyHistogram()
    for (const ms of [-5, Number.NaN, 1e12, Number.POSITIVE_INFINITY]) histogram.record(ms)
    expect(histogram.count).toBe(4)
    expect(histogram.quantile(0.5)).toBe(0)
    expect(histogram.maxMs).toBe(600_000)
  })

  test('empty', () => {
    const empty = { count: 0, meanMs: 0, p50: 0, p99: 0, p999: 0, max: 0 }
    expect(new LatencyHistogram().summary()).toEqual(empty)
  })

  test('merged histograms are as if recorded in one', () => {
    fc.assert(
      fc.property(fc.array(latencyUs), fc.array(latencyUs), (left, right) => {
        const merged = filled(left)
        merged.merge(filled(right))
        expect(merged.words).toEqual(filled([...left, ...right]).words)
      }),
    )
  })

  test('a window holds what came after the snapshot', () => {
    fc.assert(
      fc.property(fc.array(latencyUs), fc.array(latencyUs, { minLength: 1 }), (before, after) => {
        const histogram = filled(before)
        const snapshot = histogram.snapshot()
        for (const us of after) histogram.record(us / 1000)
        const window = histogram.since(snapshot)
        expect(window.words.subarray(0, -1)).toEqual(filled(after).words.subarray(0, -1))
        const exactMs = Math.max(...after) / 1000
        expect(window.maxMs).toBeGreaterThanOrEqual(exactMs)
        expect(window.maxMs).toBeLessThanOrEqual(exactMs * (1 + 1 / 128))
      }),
    )
  })

  test('an empty window has no largest value', () => {
    const histogram = filled([5000])
    expect(histogram.since(histogram.snapshot()).summary().max).toBe(0)
  })

  test('a bucket counts beyond 2^31', () => {
    const histogram = new LatencyHistogram()
    histogram.recordMany(1, 2 ** 31 - 1)
    histogram.recordMany(1, 100)
    expect(histogram.count).toBe(2 ** 31 + 99)
    expect(histogram.summary().meanMs).toBe(1)
  })

  test('another view over the same shared memory sees the counts', () => {
    const histogram = LatencyHistogram.shared()
    const reader = new LatencyHistogram(new Int32Array(histogram.words.buffer))
    histogram.recordMany(2.5, 10)
    expect(reader.summary()).toMatchObject({ count: 10, max: 2.5 })
    histogram.clear()
    expect(reader.count).toBe(0)
  })

  test('memory of another size is refused', () => {
    const wrong = () => new LatencyHistogram(new Int32Array(latencyHistogramWords - 1))
    expect(wrong).toThrow(/must be \d+/)
    try {
      wrong()
    } catch (error) {
      expect(isTidemarkError(error, 'INVALID_ARGUMENT')).toBe(true)
    }
  })

  test('the HdrHistogram text has the total, the largest and the median', () => {
    const histogram = new LatencyHistogram()
    histogram.recordMany(1, 98)
    histogram.recordMany(20, 2)
    const text = hdrPercentileText(histogram)
    expect(text).toMatch(/^\s*Value\s+Percentile\s+TotalCount/)
    expect(text).toMatch(/Total count {4}= {10,}100\]/)
    expect(text).toMatch(/^\s+(1\.00\d|0\.99\d) 0\.500/m)
    expect(text).toMatch(/#\[Max {5}= +(19\.9|20\.0)/)
  })
})
