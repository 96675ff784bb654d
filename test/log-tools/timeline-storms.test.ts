import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { brokerId } from '../../src/ids.ts'
import type { PartitionHistory } from '../../src/log-tools/timeline-model.ts'
import {
  findFlapping,
  findStorms,
  flapDeparturesMin,
  flapWindowMs,
  stormChangesMin,
  stormWindowMs,
} from '../../src/log-tools/timeline-storms.ts'

function history(timesMs: readonly number[], partition = 0): PartitionHistory {
  return {
    topic: 'orders',
    topicId: 'id',
    partition,
    createdAtMs: 0,
    removedAtMs: null,
    changes: timesMs.map((atMs, offset) => ({
      offset,
      atMs,
      reason: 'proposed',
      by: null,
      leader: brokerId(1),
      leaderEpoch: 0,
      partitionEpoch: offset,
      election: null,
      replicas: [],
      inSyncReplicas: [],
      eligibleLeaderReplicas: [],
      left: [brokerId(3)],
      joined: [],
    })),
    absences: timesMs.map((leftAtMs) => ({
      brokerId: brokerId(3),
      leftAtMs,
      rejoinedAtMs: leftAtMs + 1,
      outMs: 1,
      end: 'rejoined',
      reason: 'proposed',
    })),
    offline: [],
    shrinks: 0,
    expands: 0,
    leaderChanges: 0,
    flaps: 0,
  }
}

/** By definition: a moment is stormy when some window that holds it holds enough. */
function stormy(timesMs: readonly number[]): number[] {
  const sorted = [...timesMs].sort((a, b) => a - b)
  return sorted.filter((atMs) =>
    sorted.some((end) => {
      const held = sorted.filter((time) => time >= end - stormWindowMs && time <= end)
      return end >= atMs && atMs >= end - stormWindowMs && held.length >= stormChangesMin
    }),
  )
}

describe('storms', () => {
  it('hold exactly the changes of which there are enough within a window', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(30_000), fc.integer({ min: 1, max: 12 })), { maxLength: 20 }),
        (bursts) => {
          const times = bursts.flatMap(([atMs, count]) => Array<number>(count).fill(atMs))
          const storms = findStorms([history(times)])
          const expected = stormy(times)
          expect(storms.reduce((sum, { changes }) => sum + changes, 0)).toBe(expected.length)
          const isIn = (atMs: number) =>
            storms.some(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs)
          expect(expected.every(isIn)).toBe(true)
          for (const [at, { fromMs }] of storms.entries()) {
            if (at > 0) expect(fromMs).toBeGreaterThan(storms[at - 1]!.toMs)
          }
        },
      ),
    )
  })

  it('count partitions and name brokers', () => {
    const all = Array.from({ length: stormChangesMin }, (_, at) => history([at * 10], at))
    expect(findStorms(all)).toEqual([
      { fromMs: 0, toMs: 190, changes: 20, partitions: 20, brokers: [3] },
    ])
    expect(findStorms(all.slice(1))).toEqual([])
    const ends = (afterMs: number) => [...Array<number>(stormChangesMin - 1).fill(0), afterMs]
    expect(findStorms([history(ends(stormWindowMs))])).toHaveLength(1)
    expect(findStorms([history(ends(stormWindowMs + 1))])).toEqual([])
  })
})

describe('flapping', () => {
  it('is the departures of one replica, where they are densest', () => {
    const near = Array.from({ length: flapDeparturesMin }, (_, at) => (at * flapWindowMs) / 2)
    expect(findFlapping([history([...near, flapWindowMs * 9])])).toMatchObject([
      { departures: 3, fromMs: 0, toMs: flapWindowMs },
    ])
    expect(findFlapping([history([0, flapWindowMs, flapWindowMs + 1, 9 * flapWindowMs])])).toEqual(
      [],
    )
  })
})
