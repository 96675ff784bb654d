import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  meanHalfWidth95,
  median,
  medianInterval95,
  medianTail,
  quantilesOf,
  standardDeviation,
  studentT95,
  summarize,
} from '../../src/lab/statistics.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'

describe('statistics', () => {
  test('median and quantiles do not mind the order', () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(median([4, 1, 2, 3])).toBe(2.5)
    expect(quantilesOf([10, 0, 5], [0, 0.25, 0.5, 1])).toEqual([0, 2.5, 5, 10])
    expect(median([100, 9])).toBe(54.5)
  })

  test('no values and one value', () => {
    expect(summarize([])).toEqual({ count: 0, min: NaN, median: NaN, mean: NaN, max: NaN })
    expect(summarize([7])).toEqual({ count: 1, min: 7, median: 7, mean: 7, max: 7 })
    expect(meanHalfWidth95([7])).toBeNaN()
    expect(medianInterval95([7])).toEqual({ median: 7, low: NaN, high: NaN, values: [7] })
    expect(medianTail([])).toBeUndefined()
    expect(medianTail([7])).toEqual({ median: 7, p99: 7, max: 7 })
  })

  test('the input is left as it was', () => {
    const values = [3, 1, 2]
    summarize(values)
    medianInterval95(values)
    expect(values).toEqual([3, 1, 2])
  })

  test("Student's points against published ones", () => {
    expect(studentT95(1)).toBe(12.706)
    expect(studentT95(4)).toBe(2.7764)
    expect(studentT95(11)).toBeCloseTo(2.20099, 3)
    expect(studentT95(20)).toBeCloseTo(2.08596, 3)
    expect(studentT95(120)).toBeCloseTo(1.97993, 4)
    expect(studentT95(0)).toBeNaN()
  })

  test('interval of the mean, by hand', () => {
    // sd of 1..5 is sqrt(2.5); half width 2.7764 * sqrt(2.5 / 5)
    expect(standardDeviation([1, 2, 3, 4, 5])).toBeCloseTo(Math.sqrt(2.5), 12)
    expect(meanHalfWidth95([1, 2, 3, 4, 5])).toBeCloseTo(2.7764 * Math.sqrt(0.5), 10)
    const { low, high } = medianInterval95([1, 2, 3, 4, 5])
    expect([low, high].map((bound) => bound - 3)).toEqual([
      expect.closeTo(-2.7764 * Math.sqrt(0.5), 10),
      expect.closeTo(2.7764 * Math.sqrt(0.5), 10),
    ])
  })

  test('interval of the median: seeded, holds the median, covers near 95 %', () => {
    const values = [5, 1, 9, 3, 7, 100, 4, 6, 8, 2]
    expect(medianInterval95(values, 3)).toEqual(medianInterval95(values, 3))
    const random = new SeededRandom(11)
    let covered = 0
    for (let trial = 0; trial < 100; trial++) {
      const sample = Array.from({ length: 15 }, () => random.next())
      const { median: value, low, high } = medianInterval95(sample, trial)
      expect(low).toBeLessThanOrEqual(value)
      expect(high).toBeGreaterThanOrEqual(value)
      if (low <= 0.5 && high >= 0.5) covered++
    }
    expect(covered).toBeGreaterThan(88)
    expect(covered).toBeLessThan(100)
  })

  test('quantiles are ordered and inside the range', () => {
    const value = fc.double({ min: -1e9, max: 1e9, noNaN: true })
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 50 }), (values) => {
        const [min, q1, q2, q3, max] = quantilesOf(values, [0, 0.25, 0.5, 0.75, 1])
        expect(min).toBe(Math.min(...values) || 0)
        expect(max).toBe(Math.max(...values) || 0)
        expect(q1! <= q2! && q2! <= q3!).toBe(true)
      }),
    )
  })
})

describe('SeededRandom', () => {
  test('same seed same numbers, other seed or stream others', () => {
    const draw = (seed: number, stream?: number) => {
      const random = new SeededRandom(seed, stream)
      return Array.from({ length: 8 }, () => random.nextUint32())
    }
    expect(draw(5)).toEqual(draw(5))
    expect(draw(5)).not.toEqual(draw(6))
    expect(draw(5)).not.toEqual(draw(5 + 2 ** 40))
    expect(draw(5)).not.toEqual(draw(5, 1))
  })

  test('uniform and exponential have their moments', () => {
    const random = new SeededRandom(42)
    const uniform = new Float64Array(50_000).map(() => random.next())
    const exponential = new Float64Array(50_000).map(() => random.nextExponential())
    expect(summarize(uniform).mean).toBeCloseTo(0.5, 2)
    expect(standardDeviation(uniform)).toBeCloseTo(Math.sqrt(1 / 12), 2)
    expect(Math.abs(summarize(exponential).mean - 1)).toBeLessThan(0.02)
    expect(Math.abs(standardDeviation(exponential) - 1)).toBeLessThan(0.03)
    expect(summarize(exponential).min).toBeGreaterThan(0)
  })

  test('a saved place is found again', () => {
    const random = new SeededRandom(9)
    const state = new Int32Array(8)
    random.next()
    random.save(state, 4)
    const first = [random.next(), random.next()]
    random.restore(state, 4)
    expect([random.next(), random.next()]).toEqual(first)
  })
})
