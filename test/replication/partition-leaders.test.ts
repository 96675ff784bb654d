/**
 * Changes of role, gauges, events. Numbers are those of the conformance list; the cases come from
 * Apache Kafka's `PartitionTest`, `ReplicaManagerTest` and `AlterPartitionManagerTest`.
 *
 * Of the list's first fifty these are not about what a leader knows of its followers: 6
 * divergence and 36 appends below the log start (log and epochs), 33 the write into the leader
 * epochs (the log's; what is to be written is tested here), 44 checkpoint files, 48 reads by
 * consumers (bounded by the high watermark that is told), 49 and 50 fetchers of a follower.
 */
import { describe, expect, it } from 'vitest'
import { errorNumber } from '../../src/errors.ts'
import { leaderNone } from '../../src/replication/registration.ts'
import { b, c, d, Led, lagMaxMs, leader, p0, p1, registration, startMs } from './led-fixture.ts'

const local = { logEndOffset: 0, highWatermark: 0 }

describe('becoming leader', () => {
  it('28. DoNotResetReplicaStateIfLeaderEpochIsNotBumped: known ones stay, new ones empty', () => {
    const led = new Led({ replicas: [leader, b, c], logEndOffset: 10 })
    led.fetch(b, 4)
    led.nowMs += 10
    led.metadata({
      partitionEpoch: 11,
      replicas: [leader, d, c, b],
      inSyncReplicas: [leader, b, c],
    })
    expect(led.describe().followers).toMatchObject([
      { brokerId: d, logEndOffset: -1, caughtUpTimeMs: 0, brokerEpoch: undefined },
      { brokerId: c, logEndOffset: -1, caughtUpTimeMs: startMs },
      { brokerId: b, logEndOffset: 4, caughtUpTimeMs: startMs, brokerEpoch: 102 },
    ])
    led.fetch(d, 10)
    expect(led.describe().maximalInSyncReplicas).toEqual([leader, b, c, d])
  })

  it('28. a removed replica is forgotten, also when it comes back', () => {
    const led = new Led({ logEndOffset: 10 })
    led.fetch(b, 4)
    led.metadata({ partitionEpoch: 11, replicas: [leader, c], inSyncReplicas: [leader, c] })
    expect(led.leaders.lag(p0, b, led.nowMs)).toBeUndefined()
    led.metadata({ partitionEpoch: 12, replicas: [leader, b, c], inSyncReplicas: [leader, c] })
    expect(led.leaders.lag(p0, b, led.nowMs)).toMatchObject({ logEndOffset: -1, caughtUpTimeMs: 0 })
  })

  it('29. DoNotUpdateEpochStartOffsetIfLeaderEpochIsNotBumped', () => {
    const led = new Led({ logEndOffset: 4 })
    led.append(9)
    const same = led.metadata({ partitionEpoch: 11 })
    expect(same).toMatchObject({ isNewLeaderEpoch: false, leaderEpochStartOffset: 4 })
    const risen = led.metadata({ partitionEpoch: 12, leaderEpoch: 6 })
    expect(risen).toEqual({
      accepted: true,
      isNewLeader: false,
      isNewLeaderEpoch: true,
      leaderEpochStartOffset: 9,
    })
  })

  it('29. knows no offsets any more when others may have led in between', () => {
    const led = new Led({ logEndOffset: 10, replicas: [leader, b] })
    led.fetch(b, 9)
    led.metadata({ partitionEpoch: 11, leaderEpoch: 6 })
    expect(led.leaders.lag(p0, b, led.nowMs)).toMatchObject({ logEndOffset: 9 })
    const highWatermark = led.leaders.highWatermark(p0)
    // In epoch 7 the one led that has only 2, and the other cut its log to that.
    led.metadata({ partitionEpoch: 13, leaderEpoch: 8, inSyncReplicas: [leader, b] })
    expect(led.leaders.lag(p0, b, led.nowMs)).toMatchObject({ logEndOffset: -1 })
    expect(led.leaders.highWatermark(p0)).toBe(highWatermark)
    led.fetch(b, 10)
    expect(led.leaders.highWatermark(p0)).toBe(10)
  })

  it('30. IgnoreLeaderPartitionStateChangeWithOlderPartitionEpoch', () => {
    const led = new Led({ logEndOffset: 10 })
    const told = led.metadata({ partitionEpoch: 9, inSyncReplicas: [leader], leaderEpoch: 7 })
    expect(told).toMatchObject({ accepted: false, isNewLeader: false, isNewLeaderEpoch: false })
    expect(led.describe()).toMatchObject({ inSyncReplicas: [leader, b, c], leaderEpoch: 5 })
    expect(led.metadata({ partitionEpoch: 10 }).accepted).toBe(true)
  })

  it('30. IgnoreFollowerPartitionStateChangeWithOlderPartitionEpoch', () => {
    const led = new Led()
    const older = registration(p0, { leader: b, leaderEpoch: 6, partitionEpoch: 9 })
    expect(led.leaders.makeFollower(older).accepted).toBe(false)
    expect(led.leaders.isLeader(p0)).toBe(true)
  })

  it('30. what a follower learned keeps refusing older leadership', () => {
    const led = new Led()
    led.leaders.makeFollower(registration(p0, { leader: b, leaderEpoch: 6, partitionEpoch: 11 }))
    expect(led.metadata({ partitionEpoch: 10 }).accepted).toBe(false)
    expect(led.leaders.isLeader(p0)).toBe(false)
  })

  it('31. FollowerShouldNotHaveAnyRemoteReplicaStates', () => {
    const led = new Led({ logEndOffset: 10 })
    led.fetch(b, 10)
    led.leaders.makeFollower(registration(p0, { leader: b, leaderEpoch: 6, partitionEpoch: 11 }))
    expect(led.leaders.describe(p0, led.nowMs)).toBeUndefined()
    expect(led.leaders.lag(p0, b, led.nowMs)).toBeUndefined()
    expect(led.leaders.counters.leaderCount).toBe(0)
  })

  it('32. MakeFollowerWithNoLeaderIdChange: a fetcher restarts exactly when the epoch rose', () => {
    const { leaders } = new Led()
    const follow = (leaderEpoch: number, partitionEpoch: number) =>
      leaders.makeFollower(registration(p1, { leader: b, leaderEpoch, partitionEpoch }))
    expect(follow(3, 1)).toEqual({ accepted: true, isNewLeaderEpoch: true })
    expect(follow(3, 2)).toEqual({ accepted: true, isNewLeaderEpoch: false })
    expect(follow(4, 3)).toEqual({ accepted: true, isNewLeaderEpoch: true })
  })

  it('33. MakeLeaderUpdatesEpochCache: tells what to write, an empty epoch too', () => {
    const led = new Led()
    const made = led.leaders.makeLeader(
      registration(p1, { leaderEpoch: 8 }),
      { logEndOffset: 4, highWatermark: 0 },
      1,
      led.nowMs,
    )
    expect(made).toMatchObject({ isNewLeader: true, isNewLeaderEpoch: true })
    expect(made.leaderEpochStartOffset).toBe(4)
  })

  it('RECOVERING is taken as RECOVERED, and the next proposal says so', () => {
    const led = new Led({ logEndOffset: 10 })
    led.metadata({
      partitionEpoch: 11,
      leaderEpoch: 6,
      inSyncReplicas: [leader],
      leaderRecoveryState: 'recovering',
    })
    led.fetch(b, 10)
    expect(led.request().items[0].leaderRecoveryState).toBe('recovered')
  })

  it('25. AlterIsrLeaderAndIsrRace: newer metadata wins, the late answer is ignored', () => {
    const led = new Led({ isr: [leader], logEndOffset: 10 })
    led.fetch(b, 10)
    const request = led.request()
    led.metadata({ partitionEpoch: 12, inSyncReplicas: [leader, c] })
    led.accept(request)
    expect(led.describe()).toMatchObject({
      isrState: 'committed',
      inSyncReplicas: [leader, c],
      partitionEpoch: 12,
    })
    expect(led.leaders.counters).toMatchObject({ isrExpands: 0, failedIsrUpdates: 0 })
  })

  it('metadata that repeats the epoch we know does not end a proposal under way', () => {
    const led = new Led({ isr: [leader, c], logEndOffset: 0 })
    led.append(10)
    led.fetch(c, 10)
    led.fetch(b, 10)
    led.nowMs += 2 * lagMaxMs
    led.metadata({ partitionEpoch: 10, inSyncReplicas: [leader, c] })
    led.append(20)
    led.fetch(c, 20)
    // The controller may just be committing b: then a commit above b's end would be lost with b.
    expect(led.describe()).toMatchObject({ isrState: 'pendingExpand', highWatermark: 10 })
    led.accept(led.request())
    expect(led.describe().inSyncReplicas).toEqual([leader, c, b])
  })

  it('only a registration that names us makes us leader', () => {
    const { leaders } = new Led()
    const other = registration(p1, { leader: leaderNone })
    expect(() => leaders.makeLeader(other, local, 1, startMs)).toThrow('registered leader')
  })
})

describe('admission', () => {
  it('45. IllegalRequiredAcks', () => {
    expect(new Led().leaders.admission(p0, 3)).toBe(errorNumber('INVALID_REQUIRED_ACKS'))
  })

  it('refuses acks=all under min ISR, counting what is committed only', () => {
    const led = new Led({ isr: [leader], minInSync: 2, logEndOffset: 10 })
    expect(led.leaders.admission(p0, -1)).toBe(errorNumber('NOT_ENOUGH_REPLICAS'))
    expect(led.leaders.admission(p0, 1)).toBe(0)
    expect(led.leaders.admission(p0, 0)).toBe(0)
    led.fetch(b, 10)
    expect(led.describe().isrState).toBe('pendingExpand')
    expect(led.leaders.admission(p0, -1)).toBe(errorNumber('NOT_ENOUGH_REPLICAS'))
    led.accept(led.request())
    expect(led.leaders.admission(p0, -1)).toBe(0)
  })

  it('asks for leadership before it asks for replicas', () => {
    const led = new Led({ isr: [leader], minInSync: 2 })
    led.leaders.resign(p0)
    expect(led.leaders.admission(p0, -1)).toBe(errorNumber('NOT_LEADER_OR_FOLLOWER'))
    expect(led.leaders.admission(p1, 1)).toBe(errorNumber('NOT_LEADER_OR_FOLLOWER'))
  })
})

describe('gauges', () => {
  it('35. UnderReplicated, AtMinIsr, UnderMinIsr', () => {
    const led = new Led({ minInSync: 2 })
    const gauges = () => {
      const { underReplicated, atMinInSync, underMinInSync } = led.leaders.counters
      return [underReplicated, atMinInSync, underMinInSync]
    }
    expect(gauges()).toEqual([0, 0, 0])
    led.metadata({ partitionEpoch: 11, inSyncReplicas: [leader, b] }, 2)
    expect(gauges()).toEqual([1, 1, 0])
    led.metadata({ partitionEpoch: 12, inSyncReplicas: [leader] }, 2)
    expect(gauges()).toEqual([1, 0, 1])
    led.metadata({ partitionEpoch: 12, inSyncReplicas: [leader] }, 1)
    expect(gauges()).toEqual([1, 1, 0])
    led.leaders.resign(p0)
    expect(gauges()).toEqual([0, 0, 0])
  })

  it('35. adding replicas of a reassignment are not missed', () => {
    const led = new Led()
    led.metadata({ partitionEpoch: 11, replicas: [leader, b, c, d], addingReplicas: [d] })
    expect(led.leaders.counters.underReplicated).toBe(0)
    expect(led.describe().isUnderReplicated).toBe(false)
  })

  it('35. a proposal alone changes none', () => {
    const led = new Led({ minInSync: 2, logEndOffset: 10 })
    led.nowMs += lagMaxMs + 1
    led.check()
    expect(led.leaders.counters).toMatchObject({ underReplicated: 0, underMinInSync: 0 })
    led.accept(led.request())
    expect(led.leaders.counters).toMatchObject({ underReplicated: 1, underMinInSync: 1 })
  })
})

describe('events', () => {
  it('tell a shrink with the numbers it was decided on', () => {
    const led = new Led({ minInSync: 1 })
    led.append(5)
    led.fetch(b, 5)
    led.fetch(c, 3)
    led.nowMs += lagMaxMs + 1
    led.append(8)
    led.fetch(b, 8)
    led.check()
    led.accept(led.request())
    const [proposed, committed] = led.leaders.takeEvents()
    expect(proposed).toEqual({
      type: 'shrinkProposed',
      cause: 'notCaughtUp',
      partition: p0,
      atMs: led.nowMs,
      leader,
      leaderEpoch: 5,
      partitionEpoch: 10,
      logEndOffset: 8,
      highWatermark: 3,
      inSyncReplicas: [leader, b, c],
      lagging: [
        {
          ...{ brokerId: c, logEndOffset: 3, lagRecords: 5, lagBytes: -1 },
          ...{ lagMs: 1_001, caughtUpTimeMs: startMs, cause: 'frozen' },
          signs: expect.objectContaining({ silentMs: 1_001, session: 'active' }),
        },
      ],
      replicaLagTimeMaxMs: lagMaxMs,
      proposed: [leader, b],
    })
    expect(committed).toMatchObject({
      type: 'shrinkCommitted',
      previous: [leader, b, c],
      inSyncReplicas: [leader, b],
      partitionEpoch: 11,
      via: 'response',
      cause: 'proposal',
      left: proposed?.type === 'shrinkProposed' ? proposed.lagging : undefined,
      joined: [],
    })
    expect(led.leaders.takeEvents()).toEqual([])
  })

  it('tell an expansion that metadata brought before the answer as ours', () => {
    const led = new Led({ isr: [leader, c], logEndOffset: 10 })
    led.fetch(b, 10)
    const request = led.request()
    led.metadata({ partitionEpoch: 11, inSyncReplicas: [leader, c, b] })
    led.accept(request)
    const events = led.leaders.takeEvents()
    expect(events.map(({ type }) => type)).toEqual([
      'reachedLogEnd',
      'expandProposed',
      'expandCommitted',
    ])
    expect(events[2]).toMatchObject({ via: 'metadata', cause: 'proposal', partitionEpoch: 11 })
    expect(led.leaders.counters.isrExpands).toBe(1)
  })

  it('tell a removal by the controller as the controller’s', () => {
    const led = new Led()
    led.metadata({ partitionEpoch: 11, inSyncReplicas: [leader, b] })
    expect(led.leaders.takeEvents()).toMatchObject([
      { type: 'shrinkCommitted', via: 'metadata', cause: 'controller', previous: [leader, b, c] },
    ])
    expect(led.leaders.counters.isrShrinks).toBe(0)
  })

  it('tell a refusal and what becomes of it', () => {
    const led = new Led({ isr: [leader], logEndOffset: 10 })
    led.fetch(b, 10)
    led.refuse(led.request(), 'INELIGIBLE_REPLICA')
    expect(led.leaders.takeEvents().at(-1)).toMatchObject({
      type: 'rejected',
      proposal: 'expand',
      proposed: [leader, b],
      error: 'INELIGIBLE_REPLICA',
      outcome: 'reverted',
    })
  })
})

describe('misuse', () => {
  it('is caught where it happens', () => {
    const led = new Led({ logEndOffset: 10 })
    expect(() => led.append(10)).toThrow('appends')
    expect(() => led.append(11, p1)).toThrow('appends')
    expect(() => led.leaders.fetched(p0, 1)).toThrow('part of a fetch')
    led.leaders.beginFetch(b, 102, led.nowMs)
    expect(() => led.append(11)).toThrow('one log end')
    expect(() => led.leaders.beginFetch(c, 103, led.nowMs)).toThrow('one fetch at a time')
    expect(() => led.metadata({ partitionEpoch: 11 })).toThrow('between fetches')
    expect(() => led.leaders.resign(p0)).toThrow('between fetches')
  })
})
