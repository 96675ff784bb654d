import { describe, expect, it } from 'vitest'
import type { Cluster } from '../../src/cluster.ts'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { CatchUpSampler } from '../../src/lab/catch-up-sampler.ts'
import type { PartitionRegistration } from '../../src/replication/registration.ts'
import { ProgressBoard } from '../../src/workers/progress-board.ts'
import { allocateProgressBoard } from '../../src/workers/progress-board-layout.ts'

const partition = partitionIndex(0)

/**
 * A board and a registration that the test sets as no cluster would, and the sampler that looks at
 * them.
 */
class Fixture {
  nowMs = 1_000
  registration = {
    index: partition,
    replicas: [1, 2, 3].map(brokerId),
    inSyncReplicas: [1, 2, 3].map(brokerId),
    leader: brokerId(1),
    leaderEpoch: 5,
    partitionEpoch: 9,
  } as unknown as PartitionRegistration
  readonly board = new ProgressBoard(
    allocateProgressBoard({ brokers: 3, partitionsMax: 2, clients: 1 }, 0),
  )
  readonly sampler = new CatchUpSampler(
    { board: this.board, registration: () => this.registration } as unknown as Cluster,
    [partition],
    brokerId(3),
    () => this.nowMs,
  )

  set(leader: { end: number; committed: number }, follower: number, broker = 1): this {
    this.board.setLogEndOffset(brokerId(broker), partition, leader.end)
    this.board.setHighWatermark(brokerId(broker), partition, leader.committed)
    this.board.setLogEndOffset(brokerId(3), partition, follower)
    return this
  }

  change(changes: Partial<PartitionRegistration>): this {
    this.registration = { ...this.registration, ...changes }
    return this
  }

  take(afterMs = 25) {
    this.nowMs += afterMs
    return this.sampler.take('catching-up')
  }
}

describe('the sampler', () => {
  it('sees a follower fall behind, and come back, in records and in time', () => {
    const fixture = new Fixture().set({ end: 100, committed: 100 }, 100)
    expect(fixture.take()).toMatchObject({ lagRecords: 0, lagTimeMs: 0, laggingPartitions: 0 })
    fixture.set({ end: 200, committed: 150 }, 100)
    // All that the leader had at the look before: by Kafka's rule still caught up.
    expect(fixture.take()).toMatchObject({ lagRecords: 100, lagTimeMs: 0, laggingPartitions: 1 })
    expect(fixture.take(40)).toMatchObject({ lagRecords: 100, lagTimeMs: 40 })
    expect(fixture.sampler.lagTimeMs(partition)).toBe(40)
    fixture.set({ end: 200, committed: 200 }, 200)
    expect(fixture.take()).toMatchObject({ lagRecords: 0, lagTimeMs: 0, highWatermark: 200 })
    expect(fixture.sampler.violations).toEqual([])
    expect(fixture.sampler.checked).toBeGreaterThan(15)
  })

  it('counts replicas in sync', () => {
    const fixture = new Fixture().change({ inSyncReplicas: [1, 2].map(brokerId) })
    expect(fixture.take()).toMatchObject({
      inSyncReplicasMin: 2,
      inSyncReplicasMean: 2,
      partitionsBelowFull: 1,
    })
  })

  it('measures how long nothing was committed though something was there to commit', () => {
    const fixture = new Fixture().set({ end: 100, committed: 100 }, 100)
    fixture.take()
    fixture.take(500)
    expect(fixture.sampler.stalledMs).toBe(0)
    fixture.set({ end: 110, committed: 100 }, 100)
    fixture.take(30)
    fixture.take(70)
    expect(fixture.sampler.stalledMs).toBe(100)
    fixture.set({ end: 120, committed: 110 }, 100)
    fixture.take(50)
    fixture.take(60)
    expect(fixture.sampler.stalledMs).toBe(100)
  })

  it.each<[string, (fixture: Fixture) => void, RegExp]>([
    [
      'a high watermark above the log end',
      (fixture) => fixture.set({ end: 100, committed: 101 }, 100),
      /#0: high watermark above the log end/,
    ],
    [
      'a high watermark that goes back',
      (fixture) => fixture.set({ end: 100, committed: 99 }, 100),
      /#0: high watermark went back to 99/,
    ],
    [
      'a leader epoch that goes back',
      (fixture) => fixture.change({ leaderEpoch: 4 }),
      /leader epoch/,
    ],
    [
      'a partition epoch that goes back',
      (fixture) => fixture.change({ partitionEpoch: 8 }),
      /partition epoch went back/,
    ],
    [
      'in-sync replicas that are no replicas',
      (fixture) => fixture.change({ inSyncReplicas: [1, 4].map(brokerId) }),
      /in-sync replicas 1,4 of 1,2,3/,
    ],
    ['no in-sync replica', (fixture) => fixture.change({ inSyncReplicas: [] }), /in-sync replicas/],
  ])('finds %s', (_, breakIt, expected) => {
    const fixture = new Fixture().set({ end: 100, committed: 100 }, 100)
    fixture.take()
    expect(fixture.sampler.violations).toEqual([])
    breakIt(fixture)
    fixture.take()
    expect(fixture.sampler.violations).toEqual([expect.stringMatching(expected)])
    expect(fixture.sampler.wentBack).toBe(expected.source.includes('back to') ? 1 : 0)
  })

  it('allows a new leader a lower high watermark', () => {
    const fixture = new Fixture().set({ end: 100, committed: 100 }, 100)
    fixture.take()
    fixture.set({ end: 100, committed: 90 }, 100, 2)
    fixture.change({ leader: brokerId(2), leaderEpoch: 6, partitionEpoch: 10 })
    fixture.take()
    expect([fixture.sampler.violations, fixture.sampler.wentBack]).toEqual([[], 0])
  })
})
