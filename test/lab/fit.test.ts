import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isTidemarkError } from '../../src/errors.ts'
import { fitReadCost } from '../../src/lab/fit.ts'
import { predictCatchUp } from '../../src/lab/prediction.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'

/** Reads of random size with the given costs; `noise` gives a factor for each. */
function reads(count: number, setupMs: number, copyBytesPerSec: number, noise = () => 1) {
  const random = new SeededRandom(count)
  const bytes = Array.from({ length: count }, () => 10_000 + random.nextBelow(1_000_000))
  const ms = bytes.map((size) => (setupMs + (size / copyBytesPerSec) * 1000) * noise())
  return { bytes, ms }
}

function near(actual: number, expected: number, share: number): void {
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(expected * share)
}

describe('fitReadCost', () => {
  test('exact costs come back exactly, from two samples or a thousand', () => {
    const cost = fc.record({
      count: fc.integer({ min: 8, max: 1000 }),
      setupMs: fc.double({ min: 0.01, max: 10, noNaN: true }),
      copyBytesPerSec: fc.double({ min: 1e7, max: 1e10, noNaN: true }),
    })
    fc.assert(
      fc.property(cost, ({ count, setupMs, copyBytesPerSec }) => {
        const fit = fitReadCost(reads(count, setupMs, copyBytesPerSec))
        near(fit.setupMsPerRead, setupMs, 1e-6)
        near(fit.copyBytesPerSec, copyBytesPerSec, 1e-6)
        near(fit.meanFactor, 1, 1e-6)
        expect(fit.fittedFrom).toMatchObject({ samples: count, method: 'line' })
      }),
    )
    const two = fitReadCost({ bytes: [1000, 3000], ms: [3, 5] })
    expect(two).toMatchObject({ setupMsPerRead: 2, fittedFrom: { method: 'line', windowMs: 8 } })
    near(two.copyBytesPerSec, 1e6, 1e-9)
  })

  test('a fifth of the reads stalled for 50 ms bends no line, and shows in the mean', () => {
    const random = new SeededRandom(77)
    const samples = reads(300, 0.4, 8e8, () => 0.95 + 0.1 * random.next())
    for (let index = 0; index < 300; index += 5) samples.ms[index]! += 50
    const fit = fitReadCost(samples)
    near(fit.copyBytesPerSec, 8e8, 0.15)
    near(fit.setupMsPerRead, 0.4, 0.2)
    const total = samples.ms.reduce((a, b) => a + b)
    const fitted = samples.bytes.reduce(
      (sum, size) => sum + fit.setupMsPerRead + (size / fit.copyBytesPerSec) * 1000,
      0,
    )
    near(fit.meanFactor, total / fitted, 1e-9)
    expect(fit.meanFactor).toBeGreaterThan(5)
    near(fit.readDeviationMs, Math.sqrt((60 * 50 ** 2) / 300), 0.05)
  })

  test('slow first reads, while code is compiled, are left out', () => {
    const random = new SeededRandom(8)
    const samples = reads(400, 0.3, 9e8, () => 0.95 + 0.1 * random.next())
    for (let index = 0; index < 150; index++) samples.ms[index]! *= 3
    const fit = fitReadCost(samples)
    near(fit.copyBytesPerSec, 9e8, 0.05)
    near(fit.setupMsPerRead, 0.3, 0.1)
    near(fit.meanFactor, 1, 0.02)
    expect(fit.fittedFrom.samples).toBe(200)
  })

  test('reads of one size: their time is kept, the bandwidth is the assumed one', () => {
    const samples = { bytes: [1e6, 1e6, 1e6], ms: [2, 2.2, 2.1] }
    const fit = fitReadCost(samples, { assumedCopyBytesPerSec: 1e9 })
    expect(fit.fittedFrom.method).toBe('one-size')
    near(fit.copyBytesPerSec, 1e9, 1e-9)
    near(fit.setupMsPerRead, 1.1, 1e-9)
  })

  test('many reads of two sizes: pairs of one size say nothing', () => {
    const random = new SeededRandom(5)
    const bytes = Array.from({ length: 150 }, (_, index) => (index % 3 === 0 ? 100_000 : 1e6))
    const ms = bytes.map((size) => (0.2 + size / 1e6) * (0.9 + 0.2 * random.next()))
    const fit = fitReadCost({ bytes, ms })
    near(fit.copyBytesPerSec, 1e9, 0.05)
    near(fit.setupMsPerRead, 0.2, 0.2)
    const equal = new Array<number>(40).fill(1000)
    const one = fitReadCost({ bytes: [...equal, 3000], ms: [...equal.map(() => 3), 5] })
    near(one.copyBytesPerSec, 1e6, 1e-9)
    expect(one.fittedFrom.method).toBe('line')
  })

  test('one read, quicker than the assumed bandwidth', () => {
    const fit = fitReadCost({ bytes: [1e6], ms: [0.5] }, { assumedCopyBytesPerSec: 1e9 })
    expect(fit.setupMsPerRead).toBe(0)
    near(fit.copyBytesPerSec, 2e9, 1e-9)
  })

  test('longer reads that take no longer: all is setup', () => {
    const fit = fitReadCost({ bytes: [1000, 5000, 9000, 20_000], ms: [3, 2.5, 2.6, 2.4] })
    expect(fit.fittedFrom.method).toBe('constant')
    near(fit.setupMsPerRead, 2.55, 0.02)
    expect(fit.copyBytesPerSec).toBeGreaterThanOrEqual(20_000 / 0.0024)
  })

  test('a line that would start below zero: all is bandwidth', () => {
    const fit = fitReadCost({ bytes: [1e6, 2e6, 3e6], ms: [0.8, 2, 3.2] })
    expect(fit).toMatchObject({ setupMsPerRead: 0, fittedFrom: { method: 'proportional' } })
    near(fit.copyBytesPerSec, 1e9, 1e-9)
  })

  test('a clock too coarse to see a read still gives finite numbers', () => {
    const fit = fitReadCost({ bytes: [4096, 8192], ms: [0, 0] })
    expect(fit.setupMsPerRead).toBe(0)
    expect(fit.copyBytesPerSec).toBe(1.5e9)
    expect(fit.meanFactor).toBe(1)
    expect(fitReadCost({ bytes: [4096], ms: [0] }).copyBytesPerSec).toBe(1.5e9)
  })

  test('whatever the samples, a prediction can be made of the fit', () => {
    const sample = fc.record({
      bytes: fc.integer({ min: 1, max: 1e7 }),
      ms: fc.double({ min: 0, max: 1000, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1, maxLength: 30 }), (samples) => {
        const fit = fitReadCost({
          bytes: samples.map(({ bytes }) => bytes),
          ms: samples.map(({ ms }) => ms),
        })
        const prediction = predictCatchUp({
          ...fit,
          slowdown: 1,
          backlogBytes: [1e6],
          arrivalBytesPerSec: [0],
          policy: 'round-robin',
        })
        expect(prediction.catchUpMs).toBeGreaterThanOrEqual(0)
      }),
    )
  })

  test('the window ends with the last read', () => {
    const fit = fitReadCost({ bytes: [1, 2], ms: [1, 1], atMs: [5, 40] })
    expect(fit.fittedFrom.windowMs).toBe(41)
  })

  test('what a round takes beside its read is the look into the ring', () => {
    const samples = reads(50, 0.4, 8e8)
    const atMs: number[] = []
    let nowMs = 3
    for (const [index, ms] of samples.ms.entries()) {
      atMs.push(nowMs)
      nowMs += ms + (index % 10 === 7 ? 20 : 0.1)
    }
    const fit = fitReadCost({ ...samples, atMs })
    near(fit.pollMsPerRound, 0.1, 1e-6)
    near(fit.setupMsPerRead, 0.4, 1e-6)
    const fitted = samples.ms.slice(0, -1).reduce((a, b) => a + b) + 49 * 0.1
    near(fit.meanFactor, (fitted + 5 * 19.9) / fitted, 1e-6)
    expect(fit.fittedFrom.windowMs).toBeCloseTo(nowMs - 0.1, 6)

    const throttled = fitReadCost({ ...samples, atMs }, { throttled: true })
    expect(throttled.pollMsPerRound).toBe(0)
    near(throttled.meanFactor, 1, 1e-9)
  })

  test('of reads that share a round, none counts twice', () => {
    const given: { bytes: number[]; ms: number[]; atMs: number[] } = { bytes: [], ms: [], atMs: [] }
    let nowMs = 7
    for (let round = 0; round < 60; round++) {
      const reads = 1 + (round % 4)
      const bytes = Array.from({ length: reads }, (_, read) => (1 + ((round + read) % 5)) * 50_000)
      const ms = bytes.map((size) => 0.05 + size / 1e6)
      given.bytes.push(...bytes)
      given.ms.push(...ms)
      given.atMs.push(...bytes.map(() => nowMs))
      nowMs += ms.reduce((total, each) => total + each, 0) + reads * 0.02
    }
    const fit = fitReadCost(given)
    near(fit.pollMsPerRound, 0.02, 1e-6)
    near(fit.meanFactor, 1, 1e-6)
  })

  test.each([
    [{ bytes: [], ms: [] }, 'read samples 0 sizes and 0 times: as many, at least 1'],
    [{ bytes: [1], ms: [1, 2] }, 'read samples 1 sizes and 2 times: as many, at least 1'],
    [
      { bytes: [5, 0], ms: [1, 1] },
      'read sample 1 of 0 bytes in 1 ms: must be bytes above 0 and a time from 0',
    ],
    [
      { bytes: [5], ms: [Number.NaN] },
      'read sample 0 of 5 bytes in NaN ms: must be bytes above 0 and a time from 0',
    ],
  ])('refused: %j', (samples, message) => {
    let caught: unknown
    try {
      fitReadCost(samples)
    } catch (error) {
      caught = error
    }
    expect(isTidemarkError(caught, 'INVALID_ARGUMENT')).toBe(true)
    expect((caught as Error).message).toBe(message)
  })
})
