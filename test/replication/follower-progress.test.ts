/** Numbers are those of the conformance list; the cases come from Apache Kafka's `ReplicaTest`. */
import { describe, expect, it } from 'vitest'
import { errorNumber } from '../../src/errors.ts'
import { b, c, Led, lagMaxMs, leader, p0, startMs } from './led-fixture.ts'

describe('caught-up time', () => {
  it('1. UpdateFetchState: by the end now, or the end as of the fetch before', () => {
    const led = new Led({ logEndOffset: 0, isr: [leader] })
    led.append(10)
    const t1 = ++led.nowMs
    led.fetch(b, 5)
    expect(led.caughtUpTimeMs(b)).toBe(0)
    led.append(15)
    ++led.nowMs
    led.fetch(b, 10)
    expect(led.caughtUpTimeMs(b)).toBe(t1)
    const t3 = ++led.nowMs
    led.fetch(b, 15)
    expect(led.caughtUpTimeMs(b)).toBe(t3)
  })

  it('2. a new leader knows no offsets and gives members of the ISR grace', () => {
    const led = new Led({ logEndOffset: 10, isr: [leader, b] })
    const [inSync, outside] = led.describe().followers
    expect(inSync).toMatchObject({ brokerId: b, logEndOffset: -1, caughtUpTimeMs: startMs })
    expect(outside).toMatchObject({ brokerId: c, logEndOffset: -1, caughtUpTimeMs: 0 })
    expect(inSync.brokerEpoch).toBeUndefined()
  })

  it('3. a leader elected again keeps offsets and starts the times anew', () => {
    const led = new Led({ logEndOffset: 10, isr: [leader, b] })
    led.fetch(b, 7)
    led.fetch(c, 10)
    led.nowMs += 50
    led.metadata({ leaderEpoch: 6, partitionEpoch: 11, inSyncReplicas: [leader, b] })
    const [inSync, outside] = led.describe().followers
    expect(inSync).toMatchObject({ logEndOffset: 7, caughtUpTimeMs: led.nowMs, brokerEpoch: 102 })
    expect(outside).toMatchObject({ logEndOffset: 10, caughtUpTimeMs: 0, brokerEpoch: 103 })
  })

  it('3. a poll from before the re-election says nothing, the next one does', () => {
    const led = new Led({ logEndOffset: 10, isr: [leader, b] })
    led.fetch(c, 10)
    led.nowMs += 50
    led.metadata({ leaderEpoch: 6, partitionEpoch: 11, inSyncReplicas: [leader, b] })
    expect(led.caughtUpTimeMs(c)).toBe(0)
    led.append(11)
    expect(led.caughtUpTimeMs(c)).toBe(0)
    led.nowMs += 50
    led.fetch(c, 11)
    expect(led.caughtUpTimeMs(c)).toBe(led.nowMs)
  })

  it('5. FenceStaleUpdates: an older life is refused, the present one and -1 are taken', () => {
    const led = new Led({ logEndOffset: 10 })
    led.fetch(b, 4)
    led.world.of(b).epoch = 200
    expect(led.leaders.beginFetch(b, 199, led.nowMs)).toBe(false)
    expect(led.describe().followers[0]).toMatchObject({ logEndOffset: 4, brokerEpoch: 102 })
    expect(led.leaders.beginFetch(b, 200, led.nowMs)).toBe(true)
    led.leaders.fetched(p0, 5)
    led.leaders.endFetch()
    expect(led.describe().followers[0]).toMatchObject({ logEndOffset: 5, brokerEpoch: 200 })
    expect(led.leaders.beginFetch(b, -1, led.nowMs)).toBe(true)
    led.leaders.fetched(p0, 6)
    led.leaders.endFetch()
    expect(led.describe().followers[0]).toMatchObject({ logEndOffset: 6, brokerEpoch: -1 })
  })

  it('unreported polls keep an idle follower caught up to its last poll', () => {
    const led = new Led({ logEndOffset: 10 })
    led.fetch(b, 10)
    led.nowMs += 300
    led.poll(b)
    const lastPollMs = led.nowMs
    led.nowMs += 300
    expect(led.caughtUpTimeMs(b)).toBe(lastPollMs)
    led.append(11)
    led.poll(b)
    expect(led.caughtUpTimeMs(b)).toBe(lastPollMs)
    expect(led.leaders.lag(p0, b, led.nowMs)).toMatchObject({ records: 1, timeMs: 300 })
  })

  it('a new life of a follower does not live on what the former one reported', () => {
    const led = new Led({ logEndOffset: 10, partitions: 2 })
    led.fetch(b, 10)
    const reportedMs = led.nowMs
    led.world.of(b).epoch = 200
    led.nowMs += 100
    led.poll(b)
    led.nowMs += 100
    led.poll(b)
    expect(led.caughtUpTimeMs(b)).toBe(reportedMs)
    led.append(11)
    led.nowMs += 100
    led.fetch(b, 3)
    expect(led.caughtUpTimeMs(b)).toBe(reportedMs)
  })

  it('what the former life had does not count for the poll before the new one reports', () => {
    const led = new Led({ logEndOffset: 10 })
    led.fetch(b, 10)
    const reportedMs = led.nowMs
    led.world.of(b).epoch = 200
    led.nowMs += 100
    led.poll(b)
    led.nowMs += 100
    led.fetch(b, 3)
    expect(led.caughtUpTimeMs(b)).toBe(reportedMs)
  })
})

describe('a refused report', () => {
  it('7. FetchFromUnrecognizedFollower: the error depends on whether an epoch is stated', () => {
    const led = new Led({ replicas: [leader, b], logEndOffset: 10 })
    expect(led.fetch(c, 10, p0, 5)).toBe(errorNumber('UNKNOWN_LEADER_EPOCH'))
    expect(led.fetch(c, 10)).toBe(errorNumber('NOT_LEADER_OR_FOLLOWER'))
    led.metadata({ partitionEpoch: 11, replicas: [leader, b, c], inSyncReplicas: [leader, b] })
    expect(led.fetch(c, 10, p0, 5)).toBe(0)
    expect(led.describe().followers[1]).toMatchObject({ brokerId: c, logEndOffset: 10 })
  })

  it('16. FenceFollowerFetchWithStaleBrokerEpoch: state is kept', () => {
    const led = new Led({ logEndOffset: 10, isr: [leader] })
    led.fetch(b, 8)
    led.world.of(b).epoch += 1
    expect(led.leaders.beginFetch(b, 102, led.nowMs)).toBe(false)
    expect(led.describe().followers[0]).toMatchObject({ logEndOffset: 8, brokerEpoch: 102 })
    expect(() => led.leaders.endFetch()).toThrow('begun')
  })

  it('16. a fetch of a fenced broker is not refused, it just does not count for the ISR', () => {
    const led = new Led({ logEndOffset: 10, isr: [leader] })
    Object.assign(led.world.of(b), { isFenced: true, epoch: 200 })
    expect(led.leaders.beginFetch(b, 102, led.nowMs)).toBe(true)
    expect(led.leaders.fetched(p0, 10)).toBe(0)
    led.leaders.endFetch()
    expect(led.hasRequest()).toBe(false)
  })

  it('47. FollowerStateNotUpdated: a report of another epoch changes nothing', () => {
    const led = new Led({ logEndOffset: 10 })
    led.fetch(b, 4)
    expect(led.fetch(b, 10, p0, 4)).toBe(errorNumber('FENCED_LEADER_EPOCH'))
    expect(led.fetch(b, 10, p0, 6)).toBe(errorNumber('UNKNOWN_LEADER_EPOCH'))
    expect(led.describe().followers[0].logEndOffset).toBe(4)
    led.leaders.resign(p0)
    expect(led.fetch(b, 10)).toBe(errorNumber('NOT_LEADER_OR_FOLLOWER'))
  })

  it('an out-of-range partition is none of ours', () => {
    const led = new Led()
    expect(led.fetch(b, 0, 99 as typeof p0)).toBe(errorNumber('NOT_LEADER_OR_FOLLOWER'))
  })
})

describe('caught up', () => {
  it('4. at the end for ever; below it up to the lag limit, inclusive', () => {
    const led = new Led({ logEndOffset: 10 })
    led.fetch(b, 10)
    led.fetch(c, 10)
    led.nowMs += 100 * lagMaxMs
    expect(led.check()).toBe(0)
    led.poll(b)
    led.poll(c)
    led.append(11)
    led.nowMs += lagMaxMs
    expect(led.check()).toBe(0)
    led.nowMs += 1
    expect(led.check()).toBe(1)
  })
})
