import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guardRetention, type RetentionGuardFacts } from '../../src/replication/retention-guard.ts'

const facts: RetentionGuardFacts = {
  expiredEnd: 100,
  soonExpiredEnd: 200,
  slowestEnd: 300,
  nowMs: 10_000,
  heldSinceMs: 0,
  holdMs: 0,
}

describe('retention and a follower that is behind it', () => {
  it.each<[string, Partial<RetentionGuardFacts>, string, number, number]>([
    ['has all that soon expires', {}, 'clear', Number.POSITIVE_INFINITY, 0],
    ['ends where that begins', { slowestEnd: 200 }, 'clear', Number.POSITIVE_INFINITY, 0],
    ['lacks some of it', { slowestEnd: 199 }, 'near', Number.POSITIVE_INFINITY, 0],
    ['ends where the expired does', { slowestEnd: 100 }, 'near', Number.POSITIVE_INFINITY, 0],
    ['lacks what has expired', { slowestEnd: 99 }, 'overtaken', Number.POSITIVE_INFINITY, 10_000],
    ['is waited for', { slowestEnd: 99, holdMs: 500 }, 'held', 99, 10_000],
    [
      'is waited for to the last',
      { slowestEnd: 99, holdMs: 500, heldSinceMs: 9_501 },
      'held',
      99,
      9_501,
    ],
    [
      'was waited for long enough',
      { slowestEnd: 99, holdMs: 500, heldSinceMs: 9_500 },
      'overtaken',
      Number.POSITIVE_INFINITY,
      9_500,
    ],
    [
      'came back meanwhile',
      { slowestEnd: 150, holdMs: 500, heldSinceMs: 9_900 },
      'near',
      Number.POSITIVE_INFINITY,
      0,
    ],
    [
      'isn’t there',
      { slowestEnd: Number.POSITIVE_INFINITY, holdMs: 500 },
      'clear',
      Number.POSITIVE_INFINITY,
      0,
    ],
  ])('that %s', (_, changes, kind, keepFrom, heldSinceMs) => {
    expect(guardRetention({ ...facts, ...changes })).toEqual({ kind, keepFrom, heldSinceMs })
  })

  it('is never held back for longer than it may, whatever the follower does', () => {
    const checks = fc.array(fc.record({ afterMs: fc.nat(300), slowestEnd: fc.nat(120) }))
    fc.assert(
      fc.property(checks, fc.integer({ min: 1, max: 1_000 }), (steps, holdMs) => {
        let nowMs = 1_000
        let heldSinceMs = 0
        let heldFromMs: number | undefined
        for (const { afterMs, slowestEnd } of steps) {
          nowMs += afterMs
          const verdict = guardRetention({ ...facts, nowMs, slowestEnd, heldSinceMs, holdMs })
          heldSinceMs = verdict.heldSinceMs
          if (verdict.kind !== 'held') {
            if (slowestEnd >= facts.expiredEnd) heldFromMs = undefined
            continue
          }
          heldFromMs ??= nowMs
          expect(nowMs - heldFromMs).toBeLessThan(holdMs)
          expect(verdict.keepFrom).toBe(slowestEnd)
        }
      }),
    )
  })
})
