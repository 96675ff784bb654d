import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BrokerId, brokerId, type PartitionIndex, partitionIndex } from '../../src/ids.ts'
import { PartitionLeaders } from '../../src/replication/partition-leaders.ts'
import { ModelReplica } from './kafka-replica-model.ts'
import { leader, registration, startMs, WorldOfBrokers } from './led-fixture.ts'

/** The product hears only of offsets that changed; the model applies the rule to everything. */
const partitionCount = 2
const followers = [brokerId(2), brokerId(3)]

interface Copy {
  /** What the follower's log really holds. */
  logEndOffset: number
  /** What it last said to this leader; undefined: it has to say. */
  told: number | undefined
}

/** One world in which the product and the model live through the same history. */
class History {
  readonly world = new WorldOfBrokers()
  readonly product = new PartitionLeaders({
    brokerId: leader,
    brokerEpoch: () => 1,
    partitionsMax: partitionCount,
    brokers: this.world,
    config: { replicaLagTimeMaxMs: 50, isrExpandCriterion: 'high.watermark' },
  })
  readonly model: Map<BrokerId, ModelReplica>[] = []
  readonly copies = new Map<BrokerId, Copy[]>()
  readonly endOffsets: number[] = []
  leaderEpoch = 1
  partitionEpoch = 1
  nowMs = startMs

  constructor() {
    for (const follower of followers) {
      const none = () => ({ logEndOffset: 0, told: undefined })
      this.copies.set(follower, Array.from({ length: partitionCount }, none))
    }
    for (let partition = 0; partition < partitionCount; partition += 1) {
      this.model.push(new Map())
      this.endOffsets.push(0)
      this.lead(partition, followers, 1, false)
    }
  }

  /** Metadata: `assigned` are the followers, `isrMask` over them; a new tenure resigns first. */
  lead(partition: number, assigned: BrokerId[], isrMask: number, resignFirst: boolean, rise = 1) {
    const index = partitionIndex(partition)
    const replicas = this.model[partition]
    if (resignFirst) this.product.resign(index)
    const isNewLeader = !this.product.isLeader(index)
    if (isNewLeader) {
      for (const follower of followers) this.copies.get(follower)![partition].told = undefined
      replicas.clear()
    }
    for (const follower of followers) {
      if (!assigned.includes(follower)) {
        replicas.delete(follower)
        this.copies.get(follower)![partition].told = undefined
      } else if (!replicas.has(follower)) replicas.set(follower, new ModelReplica())
    }
    this.leaderEpoch += isNewLeader ? 1 : rise
    this.partitionEpoch += 1
    const isr = assigned.filter((_, place) => (isrMask & (1 << place)) !== 0)
    const isSkipping = this.leaderEpoch > this.product.leaderEpoch(index) + 1
    if (isNewLeader || rise > 0) {
      for (const [follower, replica] of replicas) {
        const knowsNothing = isNewLeader || isSkipping
        const isInSync = isr.includes(follower)
        if (knowsNothing) this.copies.get(follower)![partition].told = undefined
        replica.reset(knowsNothing, this.endOffsets[partition], isInSync, this.nowMs)
      }
    }
    this.product.makeLeader(
      registration(index, {
        replicas: [leader, ...assigned],
        inSyncReplicas: [leader, ...isr],
        leaderEpoch: this.leaderEpochOf(index, isNewLeader || rise > 0),
        partitionEpoch: this.partitionEpoch,
      }),
      { logEndOffset: this.endOffsets[partition], highWatermark: 0 },
      1,
      this.nowMs,
    )
  }

  append(partition: number, records: number): void {
    this.endOffsets[partition] += records
    const index = partitionIndex(partition)
    this.product.appended(index, this.endOffsets[partition], this.nowMs)
  }

  /**
   * What a follower holds changes, to somewhere near a place that matters: the leader's end, the
   * leader's end as of the last poll, or where it was. It may be cut short, and be ahead of a
   * leader elected uncleanly.
   */
  copy(follower: BrokerId, partition: number, near: Place, by: number): void {
    const copy = this.copies.get(follower)![partition]
    const polled = this.model[partition].get(follower)?.lastFetchLeaderLogEndOffset ?? 0
    const places = { end: this.endOffsets[partition], polled, here: copy.logEndOffset }
    copy.logEndOffset = Math.max(0, places[near] + by)
  }

  poll(follower: BrokerId, isInSteps: boolean): void {
    const epoch = this.world.of(follower).epoch
    expect(this.product.beginFetch(follower, epoch, this.nowMs)).toBe(true)
    for (let partition = 0; partition < partitionCount; partition += 1) {
      const replica = this.model[partition].get(follower)
      const copy = this.copies.get(follower)![partition]
      if (replica === undefined) continue
      replica.fetch(copy.logEndOffset, this.endOffsets[partition], this.nowMs)
      if (copy.told === copy.logEndOffset) continue
      const index = partitionIndex(partition)
      if (isInSteps && copy.told !== undefined && copy.logEndOffset > copy.told + 1) {
        this.product.fetched(index, copy.told + 1)
      }
      this.product.fetched(index, copy.logEndOffset)
      copy.told = copy.logEndOffset
    }
    this.product.endFetch()
  }

  /** The broker comes back in a new life, perhaps with less; it has to report everything. */
  restart(follower: BrokerId, loss: number): void {
    this.world.of(follower).epoch += 1
    for (const copy of this.copies.get(follower)!) {
      copy.logEndOffset = Math.max(0, copy.logEndOffset - loss)
      copy.told = undefined
    }
  }

  pollOfFormerLife(follower: BrokerId): void {
    const epoch = this.world.of(follower).epoch - 1
    expect(this.product.beginFetch(follower, epoch, this.nowMs)).toBe(false)
  }

  check(): void {
    for (let partition = 0; partition < partitionCount; partition += 1) {
      const seen: Record<number, unknown> = {}
      const wanted: Record<number, unknown> = {}
      for (const [follower, replica] of this.model[partition]) {
        const lag = this.product.lag(partitionIndex(partition), follower, this.nowMs)!
        seen[follower] = [lag.logEndOffset, lag.caughtUpTimeMs]
        wanted[follower] = [replica.logEndOffset, replica.lastCaughtUpTimeMs]
      }
      expect(seen).toEqual(wanted)
    }
  }

  private leaderEpochOf(partition: PartitionIndex, isRising: boolean): number {
    return isRising ? this.leaderEpoch : this.product.leaderEpoch(partition)
  }
}

type Place = 'end' | 'polled' | 'here'
type Step = (history: History) => void

const places = fc.constantFrom<Place>('end', 'polled', 'here')
const partitions = fc.nat({ max: partitionCount - 1 })
const anyFollower = fc.constantFrom(...followers)
const assignment = fc.shuffledSubarray(followers, { minLength: 1 })

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(anyFollower, fc.boolean()).map(
      ([follower, inSteps]) =>
        (history: History) =>
          history.poll(follower, inSteps),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(partitions, fc.integer({ min: 1, max: 3 })).map(
      ([partition, records]) =>
        (history: History) =>
          history.append(partition, records),
    ),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(anyFollower, partitions, places, fc.integer({ min: -1, max: 1 }))
      .map(([follower, partition, near, by]) => (history: History) => {
        history.copy(follower, partition, near, by)
      }),
  },
  {
    weight: 4,
    arbitrary: fc.integer({ min: 0, max: 7 }).map((ms) => (history: History) => {
      history.nowMs += ms
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(partitions, assignment, fc.nat({ max: 7 }), fc.boolean(), fc.nat({ max: 1 }))
      .map(([partition, assigned, mask, resignFirst, rise]) => (history: History) => {
        history.lead(partition, assigned, mask, resignFirst, rise)
      }),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(anyFollower, fc.nat({ max: 3 })).map(
      ([follower, loss]) =>
        (history: History) =>
          history.restart(follower, loss),
    ),
  },
  {
    weight: 1,
    arbitrary: anyFollower.map((follower) => (history: History) => {
      history.pollOfFormerLife(follower)
    }),
  },
)

describe('caught-up time', () => {
  it('equals the rule applied to every partition at every poll', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 80, size: 'max' }), (steps) => {
        const history = new History()
        for (const take of steps) {
          take(history)
          history.check()
        }
      }),
      { numRuns: 1_500 },
    )
  })
})
