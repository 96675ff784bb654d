import { describe, expect, it } from 'vitest'
import {
  type BrokerState,
  type HeartbeatFacts,
  nextBrokerState,
} from '../../../src/replication/controller/next-broker-state.ts'

const anything = [false, true]

function next(facts: Omit<Partial<HeartbeatFacts>, 'leadsAny'> & { leadsAny?: boolean }) {
  return nextBrokerState({
    current: 'fenced',
    wantFence: false,
    wantShutDown: false,
    isCaughtUp: true,
    othersCaughtUp: true,
    ...facts,
    leadsAny: () => facts.leadsAny ?? false,
  })
}

describe('80. CalculateNextBrokerState', () => {
  it.each(anything)('fenced, wants to shut down (wants fence: %s): shuts down', (wantFence) => {
    expect(next({ current: 'fenced', wantShutDown: true, wantFence })).toBe('shutdownNow')
  })

  it.each<[boolean, boolean, BrokerState]>([
    [false, true, 'unfenced'],
    [false, false, 'fenced'],
    [true, true, 'fenced'],
    [true, false, 'fenced'],
  ])('fenced, wants fence %s, caught up %s: %s', (wantFence, isCaughtUp, expected) => {
    expect(next({ current: 'fenced', wantFence, isCaughtUp })).toBe(expected)
  })

  it.each<[boolean, boolean, boolean, BrokerState]>([
    [true, true, true, 'shutdownNow'],
    [true, true, false, 'shutdownNow'],
    [false, true, true, 'fenced'],
    [false, true, false, 'fenced'],
    [true, false, true, 'controlledShutdown'],
    [true, false, false, 'shutdownNow'],
    [false, false, true, 'unfenced'],
    [false, false, false, 'unfenced'],
  ])(
    'unfenced, wants shutdown %s, fence %s, leads %s: %s',
    (wantShutDown, wantFence, leadsAny, expected) => {
      expect(next({ current: 'unfenced', wantShutDown, wantFence, leadsAny })).toBe(expected)
    },
  )

  it('unfenced stays unfenced whether or not it has caught up', () => {
    expect(next({ current: 'unfenced', isCaughtUp: false })).toBe('unfenced')
  })

  it.each<[boolean, boolean, BrokerState]>([
    [true, true, 'controlledShutdown'],
    [true, false, 'controlledShutdown'],
    [false, false, 'controlledShutdown'],
    [false, true, 'shutdownNow'],
  ])('shutting down, leads %s, others caught up %s: %s', (leadsAny, othersCaughtUp, expected) => {
    for (const wantFence of anything) {
      for (const wantShutDown of anything) {
        const facts = { wantFence, wantShutDown, leadsAny, othersCaughtUp }
        expect(next({ current: 'controlledShutdown', ...facts })).toBe(expected)
      }
    }
  })
})
