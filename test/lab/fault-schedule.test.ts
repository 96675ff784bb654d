import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { scheduleProblem, stepsOf } from '../../src/lab/fault-schedule.ts'
import { type Fault, faultKinds, takesAway } from '../../src/lab/faults.ts'

const details = { throttleBytesPerSec: null, isolation: null, disk: null, clockOffsetMs: null }

function fault(kind: Fault['kind'], broker: number, atMs: number, forMs: number): Fault {
  return { ...details, kind, broker, atMs, forMs }
}

const anyFault = fc
  .tuple(
    fc.constantFrom(...faultKinds),
    fc.integer({ min: 1, max: 3 }),
    fc.nat(20),
    fc.integer({ min: 1, max: 10 }),
  )
  .map(
    ([kind, broker, atMs, forMs]): Fault => ({
      ...fault(kind, kind === 'controller' ? 0 : broker, atMs, forMs),
      isolation: kind === 'isolate' ? { from: 'both', direction: 'both' } : null,
    }),
  )

describe('a schedule', () => {
  it('that is accepted leaves somebody in place at every moment, and kills nobody dead', () => {
    let accepted = 0
    fc.assert(
      fc.property(fc.array(anyFault, { minLength: 1, maxLength: 4 }), (faults) => {
        if (scheduleProblem(faults, 3) !== undefined) return
        accepted++
        for (let nowMs = 0; nowMs < 40; nowMs++) {
          const active = faults.filter(({ atMs, forMs }) => atMs <= nowMs && nowMs < atMs + forMs)
          const away = active.filter(takesAway)
          expect(new Set(away.map(({ broker }) => broker)).size).toBeLessThan(3)
          const stopped = away.filter(({ kind }) => kind !== 'isolate').map(({ broker }) => broker)
          expect(new Set(stopped).size).toBe(stopped.length)
        }
      }),
      { numRuns: 500 },
    )
    expect(accepted).toBeGreaterThan(100)
  })

  it('may let one broker go as another comes back, at the same moment', () => {
    const faults = [fault('kill', 1, 0, 10), fault('kill', 2, 10, 10), fault('wipe', 1, 10, 5)]
    expect(scheduleProblem(faults, 2)).toContain('all 2 brokers')
    expect(scheduleProblem(faults.slice(0, 2), 2)).toBeUndefined()
  })

  it('that cuts a broker off one way only leaves it in place', () => {
    const cut: Fault = {
      ...fault('isolate', 1, 0, 10),
      isolation: { from: 'both', direction: 'outgoing' },
    }
    expect(scheduleProblem([cut, fault('kill', 2, 0, 10)], 2)).toBeUndefined()
  })

  it('is done in order of time, ends before beginnings', () => {
    const steps = stepsOf([
      fault('kill', 2, 5, 5),
      fault('pause', 3, 0, 5),
      fault('wipe', 2, 10, 1),
    ])
    expect(steps.map(({ atMs, action, fault: { kind } }) => `${atMs} ${action} ${kind}`)).toEqual([
      '0 inflict pause',
      '5 relieve pause',
      '5 inflict kill',
      '10 relieve kill',
      '10 inflict wipe',
      '11 relieve wipe',
    ])
  })
})
