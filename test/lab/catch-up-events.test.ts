import { describe, expect, it } from 'vitest'
import type { ClusterEvent } from '../../src/cluster-events.ts'
import { TidemarkError } from '../../src/errors.ts'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { CatchUpEvents } from '../../src/lab/catch-up-events.ts'
import type { ControllerEvent } from '../../src/replication/controller/controller-events.ts'
import type { ReplicationEvent } from '../../src/replication/replication-event.ts'

const beginMs = 10_000

function replication(
  type: ReplicationEvent['type'],
  partition: number,
  atMs: number,
  more: object = {},
): ClusterEvent {
  const event = {
    type,
    partition: partitionIndex(partition),
    atMs,
    leader: brokerId(1),
    leaderEpoch: 0,
    partitionEpoch: 4,
    left: [],
    joined: [],
    logEndOffset: 500,
    highWatermark: 400,
    inSyncReplicas: [1, 2].map(brokerId),
    cause: 'proposal',
    ...more,
  } as unknown as ReplicationEvent
  return { type: 'replication', brokerId: brokerId(1), event }
}

const left = (partition: number, atMs: number) =>
  replication('shrinkCommitted', partition, atMs, { previous: [1, 2, 3].map(brokerId) })
const reached = (partition: number, atMs: number, follower = 3) =>
  replication('reachedLogEnd', partition, atMs, { brokerId: brokerId(follower) })
const back = (partition: number, atMs: number) =>
  replication('expandCommitted', partition, atMs, {
    previous: [1, 2].map(brokerId),
    inSyncReplicas: [1, 2, 3].map(brokerId),
  })

function eventsOf(...all: ClusterEvent[]): CatchUpEvents {
  const events = new CatchUpEvents(brokerId(3))
  events.begin(beginMs)
  for (const event of all) events.take(event)
  return events
}

describe('when a partition left, reached the end and came back', () => {
  const p0 = partitionIndex(0)

  it('is kept by partition', () => {
    const { times, ...events } = eventsOf(
      left(0, 10_100),
      left(1, 10_200),
      reached(0, 10_300),
      reached(0, 10_350),
      back(0, 10_400),
    )
    expect([...times.evictedAtMs]).toEqual([
      [p0, 10_100],
      [partitionIndex(1), 10_200],
    ])
    expect([...times.reachedAtMs]).toEqual([[p0, 10_300]])
    expect([...times.admittedAtMs]).toEqual([[p0, 10_400]])
    expect(events).toMatchObject({ shrinks: 2, expands: 1, flaps: 0 })
  })

  it('does not count before the fault, nor for another follower', () => {
    const other = replication('shrinkCommitted', 0, 10_500, {
      previous: [1, 2, 3].map(brokerId),
      inSyncReplicas: [1, 3].map(brokerId),
    })
    const { times } = eventsOf(left(0, 9_999), reached(0, 9_999), other, reached(0, 10_600, 2))
    expect([times.evictedAtMs.size, times.reachedAtMs.size, times.admittedAtMs.size]).toEqual([
      0, 0, 0,
    ])
  })

  it('begins anew for one that left again, which is a flap', () => {
    const events = eventsOf(left(0, 10_100), reached(0, 10_200), back(0, 10_300), left(0, 10_400))
    expect(events.flaps).toBe(1)
    expect(events.times.evictedAtMs.get(p0)).toBe(10_100)
    expect(events.times.reachedAtMs.has(p0)).toBe(false)
    expect(events.times.admittedAtMs.has(p0)).toBe(false)
    events.take(reached(0, 10_500))
    expect(events.times.reachedAtMs.get(p0)).toBe(10_500)
  })
})

describe('what ends a run', () => {
  it('is a log that failed: an error of ours, in one line', () => {
    const message = 'disk failure in log x: ENOSPC: no space left on device'
    const events = eventsOf({
      type: 'partitionFailed',
      brokerId: brokerId(2),
      partition: partitionIndex(0),
      code: 'KAFKA_STORAGE_ERROR',
      message,
    })
    expect(events.failure).toBeInstanceOf(TidemarkError)
    expect(events.failure).toMatchObject({
      code: 'KAFKA_STORAGE_ERROR',
      message: `broker 2: ${message}`,
    })
  })

  it('is a thread that ended, and the first of several', () => {
    const first = new Error('first')
    const events = eventsOf(
      { type: 'failed', cause: 'error', brokerId: brokerId(1), error: first },
      { type: 'failed', cause: 'error', brokerId: brokerId(2), error: new Error('second') },
    )
    expect(events.failure).toBe(first)
  })
})

describe('the timeline', () => {
  const shrinkProposed = (partition: number, atMs: number, lagRecords: number, lagMs: number) =>
    replication('shrinkProposed', partition, atMs, {
      lagging: [
        {
          ...{ brokerId: brokerId(3), logEndOffset: 1, lagRecords, lagMs, caughtUpTimeMs: 1 },
          ...{ cause: 'frozen', signs: { silentMs: lagMs - 10, leaderRecordsPerSec: 400 } },
        },
      ],
      replicaLagTimeMaxMs: 500,
    })

  it('makes one line of a thousand like events, with the spread of their numbers', () => {
    const all = Array.from({ length: 1_000 }, (_, at) =>
      shrinkProposed(at, 11_000 + at / 10, 200 + (at % 100), 600 + at / 100),
    )
    const timeline = eventsOf(...all).timeline(beginMs)
    expect(timeline).toHaveLength(1)
    expect(timeline[0]).toMatchObject({
      atMs: 1_000,
      actor: 'leader',
      step: 'proposed to shrink',
      partitions: 1_000,
    })
    for (const said of ['found 3', '200 to 299', '600 to 610 ms', '500 ms', 'over 100 ms']) {
      expect(timeline[0].detail).toContain(said)
    }
  })

  it('keeps apart what lies apart, in order of time', () => {
    const timeline = eventsOf(
      back(0, 13_000),
      left(0, 11_000),
      left(1, 11_100),
      left(2, 12_000),
    ).timeline(beginMs)
    expect(timeline.map(({ atMs, step, partitions }) => [atMs, step, partitions])).toEqual([
      [1_000, 'in-sync replicas shrunk', 2],
      [2_000, 'in-sync replicas shrunk', 1],
      [3_000, 'in-sync replicas expanded', 1],
    ])
  })

  it('tells of logs that were cut, with how much', () => {
    const cut = (partition: number, records: number): ClusterEvent => ({
      ...{ type: 'truncated', brokerId: brokerId(3), partition: partitionIndex(partition) },
      ...{ atMs: 11_000, fromOffset: 100 + records, toOffset: 100 },
    })
    const [line] = eventsOf(cut(0, 5), cut(1, 9)).timeline(beginMs)
    expect(line).toMatchObject({ actor: 'follower', partitions: 2 })
    expect(line!.detail).toContain('broker 3 cut 5 to 9 records')
  })

  it('tells refusals with their error, and what the controller did', () => {
    const rejected = replication('rejected', 0, 11_000, {
      proposal: 'shrink',
      proposed: [],
      error: 'INVALID_UPDATE_VERSION',
      outcome: 'abandoned',
    })
    const event: ControllerEvent = {
      atMs: 11_500,
      kind: 'fenced',
      brokerId: brokerId(3),
      partitions: [0, 1, 2].map(partitionIndex),
      detail: { silentMs: 900 },
    }
    const events = eventsOf(rejected, { type: 'controller', event })
    const timeline = events.timeline(beginMs)
    expect(events.rejected).toBe(1)
    expect(timeline.map(({ actor, partitions }) => [actor, partitions])).toEqual([
      ['controller', 1],
      ['controller', 3],
    ])
    expect(timeline[0].detail).toContain('INVALID_UPDATE_VERSION')
    expect(timeline[1]).toMatchObject({ step: 'fenced' })
    expect(timeline[1].detail).toContain('broker 3, silent ms 900')
  })

  it('sums the reads of the follower up, and of nobody else', () => {
    const reads = [
      { atMs: 11_000, bytes: 1_000, tookMs: 2 },
      { atMs: 11_010, bytes: 3_000, tookMs: 4 },
      { atMs: 9_000, bytes: 1, tookMs: 1 },
    ]
    const events = eventsOf(
      { type: 'catchUpReads', brokerId: brokerId(3), reads: reads.slice(0, 2) },
      { type: 'catchUpReads', brokerId: brokerId(2), reads },
    )
    const [line] = events.timeline(beginMs)
    expect(line.detail).toContain('2 reads')
    expect(line.detail).toContain('3.00 ms a read')
    // Before the fault it was start-up: not to be fitted to.
    events.take({ type: 'catchUpReads', brokerId: brokerId(3), reads: reads.slice(2) })
    expect(events.reads).toEqual(reads.slice(0, 2))
  })
})
