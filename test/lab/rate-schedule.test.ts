import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isTidemarkError } from '../../src/errors.ts'
import {
  type ArrivalSchedule,
  ConstantSchedule,
  PartitionRotation,
  PoissonSchedule,
  RecordedSchedule,
} from '../../src/lab/rate-schedule.ts'

const schedules = fc.oneof(
  fc.double({ min: 0.5, max: 1e6, noNaN: true }).map((rate) => new ConstantSchedule(rate)),
  fc
    .tuple(fc.double({ min: 0.5, max: 1e5, noNaN: true }), fc.nat())
    .map(([rate, seed]) => new PoissonSchedule(rate, seed)),
  fc
    .tuple(fc.array(fc.nat({ max: 1e6 }), { minLength: 1 }), fc.integer({ min: 1, max: 50 }))
    .map(([stamps, scale]) => new RecordedSchedule([0, ...stamps, 2e6], scale)),
)

describe('every schedule', () => {
  test('what is due is what is intended by then, and intended times never go back', () => {
    fc.assert(
      fc.property(schedules, fc.array(fc.nat({ max: 5000 })), (schedule, indexes) => {
        for (const index of indexes) {
          const timeMs = schedule.intendedTimeMs(index)
          const due = schedule.dueCount(timeMs)
          expect(due).toBeGreaterThan(index)
          expect(schedule.intendedTimeMs(due - 1)).toBeLessThanOrEqual(timeMs)
          expect(schedule.intendedTimeMs(due)).toBeGreaterThan(timeMs)
          // The last moment before: whatever rounding does, it is not due yet.
          const beforeMs = timeMs * (1 - 2 ** -53)
          if (beforeMs === timeMs) continue
          const dueBefore = schedule.dueCount(beforeMs)
          expect(dueBefore).toBeLessThanOrEqual(index)
          expect(schedule.intendedTimeMs(dueBefore)).toBeGreaterThan(beforeMs)
        }
      }),
    )
  })

  test('nothing is due before the start', () => {
    for (const schedule of [new ConstantSchedule(10), new PoissonSchedule(10, 1)]) {
      expect(schedule.dueCount(-1)).toBe(0)
    }
    expect(new RecordedSchedule([5, 6]).dueCount(-0.001)).toBe(0)
  })
})

test('constant: the first at once, then one a period', () => {
  const schedule = new ConstantSchedule(100)
  expect(schedule.intendedTimeMs(3)).toBe(30)
  expect([0, 9.99, 10, 1000].map((ms) => schedule.dueCount(ms))).toEqual([1, 1, 2, 101])
})

describe('Poisson', () => {
  const take = (schedule: ArrivalSchedule, count: number) =>
    Array.from({ length: count }, (_, index) => schedule.intendedTimeMs(index))

  test('the seed decides', () => {
    const times = take(new PoissonSchedule(1000, 7), 5000)
    expect(take(new PoissonSchedule(1000, 7), 5000)).toEqual(times)
    expect(take(new PoissonSchedule(1000, 8), 10)).not.toEqual(times.slice(0, 10))
  })

  test('any arrival can be asked for in any order', () => {
    const times = take(new PoissonSchedule(1000, 7), 200_000)
    const schedule = new PoissonSchedule(1000, 7)
    const asked = fc.array(fc.nat({ max: 199_999 }), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(asked, (indexes) => {
        for (const index of indexes) expect(schedule.intendedTimeMs(index)).toBe(times[index])
      }),
      { numRuns: 30 },
    )
  })

  test('mean and variance of the counts are those of a Poisson process', () => {
    const schedule = new PoissonSchedule(2000, 3)
    const counts: number[] = []
    let before = 0
    for (let second = 1; second <= 2000; second++) {
      const due = schedule.dueCount(second * 10)
      counts.push(due - before)
      before = due
    }
    const mean = counts.reduce((a, b) => a + b) / counts.length
    const variance = counts.reduce((sum, n) => sum + (n - mean) ** 2, 0) / counts.length
    expect(Math.abs(mean - 20)).toBeLessThan(0.5)
    expect(Math.abs(variance / mean - 1)).toBeLessThan(0.12)
  })
})

describe('recorded', () => {
  test('keeps the gaps, scaled, and starts again after a mean gap', () => {
    const schedule = new RecordedSchedule([1000, 1010, 1050, 1060], 2)
    expect([0, 1, 2, 3].map((n) => schedule.intendedTimeMs(n))).toEqual([0, 5, 25, 30])
    expect(schedule.roundMs).toBe(40)
    expect([4, 5, 8].map((n) => schedule.intendedTimeMs(n))).toEqual([40, 45, 80])
    expect([0, 24, 25, 39.9, 40, 79, 80, 5].map((ms) => schedule.dueCount(ms))).toEqual([
      1, 2, 3, 4, 5, 8, 9, 2,
    ])
  })

  test('a timestamp out of order arrives with the one before', () => {
    const schedule = new RecordedSchedule([0, 10, 4, 20])
    expect(schedule.intendedTimeMs(2)).toBe(10)
    expect(schedule.reorderedCount).toBe(1)
  })
})

describe('partitions', () => {
  test('each once a round, by the seed', () => {
    const arbitrary = fc.tuple(fc.integer({ min: 1, max: 300 }), fc.nat(), fc.nat({ max: 50 }))
    fc.assert(
      fc.property(arbitrary, ([count, seed, round]) => {
        const rotation = new PartitionRotation(count, seed)
        const seen = new Set(
          Array.from({ length: count }, (_, n) => rotation.partitionOf(round * count + n)),
        )
        expect(seen.size).toBe(count)
        expect(Math.max(...seen)).toBe(count - 1)
        expect(new PartitionRotation(count, seed).partitionOf(5)).toBe(rotation.partitionOf(5))
      }),
    )
  })
})

test.each([
  ['rate 0', () => new ConstantSchedule(0), /^arrival rate 0 a second: must be above 0/],
  ['rate NaN', () => new PoissonSchedule(Number.NaN, 1), /^arrival rate NaN/],
  ['no scale', () => new RecordedSchedule([1, 2], 0), /^time scale 0: must be above 0$/],
  ['none recorded', () => new RecordedSchedule([]), /^recorded timestamps of 0 arrivals/],
  ['no movement', () => new RecordedSchedule([5, 5]), /^recorded timestamps of 2 arrivals: must/],
])('refused: %s', (_, make, message) => {
  let caught: unknown
  try {
    make()
  } catch (error) {
    caught = error
  }
  expect(isTidemarkError(caught, 'INVALID_ARGUMENT')).toBe(true)
  expect((caught as Error).message).toMatch(message)
})
