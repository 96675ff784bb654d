import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type AgedSegment,
  expiredSegmentCount,
  type RetentionBounds,
} from '../../../src/log/retention/retention-rules.ts'

/** Segments of ten offsets each, from 0 on; the last ends where the log ends. */
function segments(...rows: readonly [sizeBytes: number, newestMs: number][]): AgedSegment[] {
  return rows.map(([sizeBytes, newestMs], at) => {
    return { baseOffset: at * 10, sizeBytes, largestTimestampMs: () => newestMs }
  })
}

const four = segments([100, 1_000], [100, 2_000], [100, 3_000], [100, 4_000])
const never = { deletes: true, retentionMs: -1, retentionBytes: -1 }
const bounds: RetentionBounds = {
  nowMs: 4_000,
  highWatermark: 40,
  logStartOffset: 0,
  logEndOffset: 40,
}

describe('retention', () => {
  it.each([
    ['nothing is asked for', never, {}, 0],
    ['none is old enough', { retentionMs: 3_000 }, {}, 0],
    ['one is older by a millisecond', { retentionMs: 2_999 }, {}, 1],
    ['three are', { retentionMs: 500 }, {}, 3],
    ['all are', { retentionMs: 0 }, { nowMs: 4_001 }, 4],
    ['the policy is compact', { deletes: false, retentionMs: 0 }, { nowMs: 9_000 }, 0],
    ['the size is what is allowed', { retentionBytes: 400 }, {}, 0],
    ['one byte less than a segment would be left over', { retentionBytes: 301 }, {}, 0],
    ['just so much is left', { retentionBytes: 300 }, {}, 1],
    ['nothing may be left', { retentionBytes: 0 }, {}, 4],
    ['the log start is within the first', {}, { logStartOffset: 9 }, 0],
    ['it is where the second begins', {}, { logStartOffset: 10 }, 1],
    ['it is the log end, and the last stays', {}, { logStartOffset: 40 }, 3],
    ['also where the policy is compact', { deletes: false }, { logStartOffset: 25 }, 2],
    ['size goes on where the log start ended', { retentionBytes: 200 }, { logStartOffset: 10 }, 2],
    ['age goes on after size', { retentionBytes: 300, retentionMs: 1_999 }, {}, 2],
    ['a segment ends above the high watermark', { retentionMs: 0 }, { highWatermark: 29 }, 2],
    ['the last does', { retentionBytes: 0 }, { highWatermark: 39 }, 3],
  ] as const)('drops the right number: %s', (_, config, change, expected) => {
    const at = { ...bounds, ...change }
    expect(expiredSegmentCount(four, { ...never, ...config }, at)).toBe(expected)
  })

  it('ends at the first that stays, though a later one is old', () => {
    const rows = segments([1, 9_000], [1, 1], [1, 1])
    const at = { ...bounds, nowMs: 9_000 }
    expect(expiredSegmentCount(rows, { ...never, retentionMs: 10 }, at)).toBe(0)
  })

  it('never drops a last segment that is empty', () => {
    const rows = segments([1, 1], [0, 1])
    expect(expiredSegmentCount(rows, { ...never, retentionMs: 10 }, bounds)).toBe(1)
    expect(expiredSegmentCount(rows, { ...never, retentionBytes: 0 }, bounds)).toBe(1)
  })

  it('asks for no time that it does not need', () => {
    const asked: number[] = []
    const rows = four.map((segment) => ({
      ...segment,
      largestTimestampMs: () => {
        asked.push(segment.baseOffset)
        return segment.largestTimestampMs()
      },
    }))
    expect(expiredSegmentCount(rows, { ...never, retentionMs: 2_500 }, bounds)).toBe(1)
    expect(asked).toEqual([0, 10])
  })

  it('leaves at least what it may not touch, and no more than it must', () => {
    const row = fc.tuple(fc.nat(200), fc.nat(1_000))
    const rows = fc.array(row, { minLength: 1, maxLength: 8 })
    const nat = fc.nat(90)
    fc.assert(
      fc.property(rows, fc.nat(600), fc.nat(900), nat, nat, (made, bytes, ms, start, high) => {
        const all = segments(...made)
        const logEndOffset = made.length * 10
        const at = { nowMs: 1_000, highWatermark: high, logStartOffset: start, logEndOffset }
        const config = { deletes: true, retentionBytes: bytes, retentionMs: ms }
        const count = expiredSegmentCount(all, config, at)
        const endOf = (index: number) => all[index + 1]?.baseOffset ?? logEndOffset
        if (count > 0) expect(endOf(count - 1)).toBeLessThanOrEqual(high)
        // The first that is left had no reason to go.
        const first = all[count]
        if (first === undefined || endOf(count) > high) return
        const isLast = count === all.length - 1
        if (isLast && first.sizeBytes === 0) return
        const left = all.slice(count).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
        expect(1_000 - first.largestTimestampMs()).toBeLessThanOrEqual(ms)
        if (!isLast) expect(endOf(count)).toBeGreaterThan(start)
        // Age may have taken some after size had ended; then size could take more, next time.
        const bySize = expiredSegmentCount(all, { ...config, retentionMs: -1 }, at)
        if (bySize === count) expect(left - first.sizeBytes).toBeLessThan(bytes)
      }),
    )
  })
})
