import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { readerState } from '../../src/workers/progress-board.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { expectSameLogs } from '../support/worker-logs.ts'

const policies = ['smallest-lag-first', 'round-robin'] as const
const leader = brokerId(1)
const follower = brokerId(2)

/** As the leader does it to a reader that is between two rounds. */
function detach(cluster: WorkerCluster, reader = follower): boolean {
  return cluster.board.moveReader(leader, reader, readerState.idle, readerState.detached)
}

function isAttached(cluster: WorkerCluster): boolean {
  return cluster.board.readerState(leader, follower) === readerState.idle
}

describe('from ring to disk and back', () => {
  it.each([0, 1, 2])('at every batch, %i appended between two steps', (between) => {
    const cluster = new WorkerCluster({
      brokers: 2,
      config: { 'replica.lag.time.max.ms': 3_600_000, 'catch.up.read.bytes': 4_096 },
    })
    cluster.until('the ring is joined', () => isAttached(cluster))
    const batches = 6
    const send = (count: number): void => {
      for (let sent = 0; sent < count; sent++) cluster.produce(0, 2, 300)
      if (count > 0) cluster.step(leader)
    }
    for (let leftAfter = 0; leftAfter <= batches; leftAfter++) {
      for (let missed = 0; missed <= batches - leftAfter; missed++) {
        // Long in the ring: it may ask to join again at once.
        cluster.clock.advance(2_500)
        cluster.step(follower)
        cluster.step(leader)
        for (let batch = 0; batch < leftAfter; batch++) {
          send(1)
          cluster.step(follower)
        }
        expect(detach(cluster)).toBe(true)
        send(missed)
        for (let step = 0; step < 8; step++) {
          cluster.step(follower)
          send(step < 6 ? between : 0)
          cluster.step(leader)
        }
        for (let step = 0; step < 4; step++) cluster.step(follower)
        expect(isAttached(cluster)).toBe(true)
        expect([leftAfter, missed, cluster.logEndOffset(follower)]).toEqual([
          leftAfter,
          missed,
          cluster.logEndOffset(leader),
        ])
      }
    }
    cluster.step(leader)
    cluster.pollAcks()
    expect(cluster.unanswered).toBe(0)
    expectSameLogs(cluster)
  })

  it('a reader detached again and again waits longer each time, two seconds at most', () => {
    const cluster = new WorkerCluster({ config: { 'replica.lag.time.max.ms': 60_000 } })
    const waits: number[] = []
    for (let round = 0; round < 8; round++) {
      detach(cluster)
      waits.push(cluster.until('it is attached', () => isAttached(cluster)))
    }
    const rising = [...waits].sort((a, b) => a - b)
    expect(waits).toEqual(rising)
    expect(waits.at(-1)).toBeGreaterThanOrEqual(2_000)
    expect(waits.at(-1)).toBeLessThan(2_050)
  })

  it('a reader that waits to be attached goes on from disk, and stays in sync', () => {
    const cluster = new WorkerCluster({ config: { 'replica.lag.time.max.ms': 500 } })
    for (let round = 0; round < 7; round++) {
      detach(cluster)
      const before = cluster.clock.nowMs()
      while (!isAttached(cluster)) {
        cluster.produce(0, 1, 100)
        cluster.run(5)
        expect([cluster.clock.nowMs() - before, cluster.isr()]).toEqual([
          cluster.clock.nowMs() - before,
          [1, 2, 3],
        ])
      }
    }
    cluster.converge()
    expectSameLogs(cluster)
  })
})

type Move =
  | { readonly do: 'step'; readonly broker: number }
  | {
      readonly do: 'send'
      readonly partition: number
      readonly bytes: number
      readonly count: number
    }
  | { readonly do: 'detach'; readonly broker: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'everybody' }

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('step' as const), broker: fc.constantFrom(1, 2, 3) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      partition: fc.integer({ min: 0, max: 4 }),
      bytes: fc.constantFrom(10, 300, 3_000, 20_000, 60_000),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('detach' as const), broker: fc.constantFrom(2, 3) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 60, 250) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('everybody' as const) }) },
)

function play(cluster: WorkerCluster, moves: readonly Move[]): void {
  for (const each of moves) {
    if (each.do === 'step') cluster.step(each.broker)
    else if (each.do === 'send') {
      const count = each.bytes > 3_000 ? 1 : each.count
      cluster.produce(each.partition, count, each.bytes)
    } else if (each.do === 'detach') detach(cluster, brokerId(each.broker))
    else if (each.do === 'wait') cluster.clock.advance(each.ms)
    else cluster.round()
    cluster.checkHighWatermarks()
  }
}

describe.each(policies)('any order of steps, sends and detaches, %s', (policy) => {
  it('ends in identical logs without gap or duplicate', () => {
    fc.assert(
      fc.property(fc.array(move, { minLength: 20, maxLength: 120 }), (moves) => {
        const cluster = new WorkerCluster({
          assignments: [
            [1, 2, 3],
            [1, 3, 2],
            [1, 2, 3],
            [2, 1, 3],
            [3, 2, 1],
          ],
          topic: { 'segment.bytes': '65536', 'index.interval.bytes': '4096' },
          config: {
            'catch.up.policy': policy,
            'catch.up.read.bytes': 4_096,
            'broker.session.timeout.ms': 60_000,
          },
        })
        play(cluster, moves)
        cluster.converge()
        expectSameLogs(cluster)
        for (let partition = 0; partition < cluster.partitions; partition++) {
          const index = partitionIndex(partition)
          expect(cluster.board.logEndOffset(follower, index)).toBe(
            cluster.logEndOffset(2, partition),
          )
        }
      }),
      { numRuns: 25 },
    )
  }, 60_000)
})
