import { describe, expect, it } from 'vitest'
import type { ClusterEvent } from '../../src/cluster-events.ts'
import { ClusterTallies } from '../../src/cluster-tallies.ts'
import { TidemarkError } from '../../src/errors.ts'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import type { LagCause } from '../../src/replication/isr-cause.ts'

function changed(partition: number, left: Record<number, LagCause>, joined: number[] = []) {
  const event = {
    type: joined.length > 0 ? 'expandCommitted' : 'shrinkCommitted',
    partition: partitionIndex(partition),
    left: Object.entries(left).map(([id, cause]) => ({ brokerId: brokerId(Number(id)), cause })),
    joined: joined.map(brokerId),
  }
  return { type: 'replication', brokerId: brokerId(1), event } as unknown as ClusterEvent
}

function controller(kind: string, detail: Record<string, number> = {}): ClusterEvent {
  const event = { atMs: 1, kind, brokerId: brokerId(1), partitions: [], detail }
  return { type: 'controller', event } as unknown as ClusterEvent
}

function talliesOf(...events: ClusterEvent[]): ClusterTallies {
  const tallies = new ClusterTallies()
  for (const event of events) tallies.take(event)
  return tallies
}

describe('tallies of events', () => {
  it('count who left, by cause', () => {
    const { departures } = talliesOf(
      changed(0, { 3: 'frozen' }),
      changed(1, { 3: 'frozen', 2: 'slow' }),
      changed(2, { 3: 'dead' }),
    )
    expect(Object.fromEntries(departures.get(brokerId(3))!)).toEqual({ frozen: 2, dead: 1 })
    expect(Object.fromEntries(departures.get(brokerId(2))!)).toEqual({ slow: 1 })
  })

  it('count as a flap what leaves again after it has come back, in the same partition', () => {
    const leave = changed(0, { 3: 'slow' })
    const back = changed(0, {}, [3])
    expect(talliesOf(leave, back).flaps.size).toBe(0)
    expect(talliesOf(leave, back, changed(1, { 3: 'slow' })).flaps.size).toBe(0)
    const { flaps } = talliesOf(leave, back, leave, leave, back, leave)
    expect(flaps.get(brokerId(3))).toBe(2)
  })

  it('count elections apart from unclean ones, and fencings', () => {
    const tallies = talliesOf(
      controller('elected', { elected: 5, leaderless: 2, unclean: 0 }),
      controller('fenced'),
      controller('elected', { elected: 1, leaderless: 0, unclean: 1 }),
    )
    expect(tallies).toMatchObject({ elections: 6, uncleanElections: 1, fencings: 1 })
  })

  it('miss the controller from its failure until it is heard of again', () => {
    const error = new TidemarkError('UNKNOWN_SERVER_ERROR')
    const failed: ClusterEvent = { type: 'failed', brokerId: 0, cause: 'error', error }
    expect(talliesOf().isControllerActive).toBe(true)
    expect(talliesOf(failed).isControllerActive).toBe(false)
    expect(talliesOf(failed, controller('registered')).isControllerActive).toBe(true)
    expect(talliesOf({ ...failed, brokerId: brokerId(2) }).isControllerActive).toBe(true)
    expect(talliesOf(controller('ended')).isControllerActive).toBe(false)
    expect(talliesOf(controller('ended'), controller('started')).isControllerActive).toBe(true)
  })
})
