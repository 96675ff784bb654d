/**
 * Numbers are those of the conformance list; the cases come from Apache Kafka's `PartitionTest`.
 */
import { describe, expect, it } from 'vitest'
import {
  applied,
  b,
  c,
  Led,
  lagMaxMs,
  leader,
  ledWithLaggard,
  p0,
  proposedIsr,
  startMs,
} from './led-fixture.ts'

describe('shrinking', () => {
  it('18. MaybeShrinkIsr: at the limit no, one later yes; effective only when committed', () => {
    const led = ledWithLaggard()
    led.nowMs = startMs + lagMaxMs
    expect(led.check()).toBe(0)
    led.nowMs += 1
    expect(led.check()).toBe(1)
    expect(led.describe()).toMatchObject({
      isrState: 'pendingShrink',
      inSyncReplicas: [leader, b, c],
      maximalInSyncReplicas: [leader, b, c],
      highWatermark: 5,
    })
    const request = led.request()
    expect(proposedIsr(request)).toEqual([leader, b])
    led.accept(request)
    expect(led.describe()).toMatchObject({
      isrState: 'committed',
      inSyncReplicas: [leader, b],
      highWatermark: 10,
      partitionEpoch: 11,
    })
    expect(led.leaders.counters).toMatchObject({ isrShrinks: 1, failedIsrUpdates: 0 })
  })

  it('18. everybody who lags goes in one proposal, down to the leader alone', () => {
    const led = new Led({ logEndOffset: 10, minInSync: 3 })
    led.nowMs += lagMaxMs + 1
    expect(led.check()).toBe(1)
    const request = led.request()
    expect(request.items).toHaveLength(1)
    expect(proposedIsr(request)).toEqual([leader])
  })

  it('19. ShouldNotShrinkIsrIfPreviousFetchIsCaughtUp', () => {
    const led = new Led({ replicas: [leader, b] })
    led.append(5)
    led.fetch(b, 5)
    led.append(10)
    for (let round = 1; round <= 10; round += 1) {
      led.nowMs += lagMaxMs / 2
      led.fetch(b, 5 * round)
      led.append(10 + 5 * round)
      expect(led.check()).toBe(0)
    }
  })

  it('20. ShouldNotShrinkIsrIfFollowerCaughtUpToLogEnd', () => {
    const led = new Led({ replicas: [leader, b], logEndOffset: 10 })
    led.fetch(b, 10)
    led.nowMs += 3 * lagMaxMs
    expect(led.check()).toBe(0)
    led.append(11)
    expect(led.check()).toBe(1)
  })

  it('a follower ahead of the leader is not at its end', () => {
    const led = new Led({ replicas: [leader, b], logEndOffset: 10 })
    led.fetch(b, 12)
    led.nowMs += lagMaxMs + 1
    expect(led.check()).toBe(1)
  })

  it('21. IsrNotShrunkIfUpdateFails: INVALID_UPDATE_VERSION leaves it pending', () => {
    const led = ledWithLaggard()
    led.nowMs += lagMaxMs + 1
    led.check()
    led.refuse(led.request(), 'INVALID_UPDATE_VERSION')
    expect(led.describe()).toMatchObject({
      isrState: 'pendingShrink',
      inSyncReplicas: [leader, b, c],
      highWatermark: 5,
    })
    expect(led.hasRequest()).toBe(false)
    expect(led.check()).toBe(0)
    expect(led.leaders.counters).toMatchObject({ isrShrinks: 0, failedIsrUpdates: 1 })
  })

  it('22. RetryShrinkIsr: NETWORK_EXCEPTION sends the same proposal again', () => {
    const led = new Led({ replicas: [leader, b], logEndOffset: 10 })
    led.nowMs += lagMaxMs + 1
    led.check()
    const first = led.request()
    led.refuse(first, 'NETWORK_EXCEPTION')
    expect(led.highWatermark()).toBe(0)
    const second = led.request()
    expect(second.items[0]).toBe(first.items[0])
    led.accept(second)
    expect(led.describe()).toMatchObject({ inSyncReplicas: [leader], highWatermark: 10 })
  })

  it('23. PartitionShouldRetryAlterPartitionRequest: an unexpected error, then success', () => {
    const led = new Led({ replicas: [leader, b], logEndOffset: 10 })
    led.nowMs += lagMaxMs + 1
    led.check()
    led.refuse(led.request(), 'UNKNOWN_SERVER_ERROR')
    led.accept(led.request())
    expect(led.hasRequest()).toBe(false)
    expect(led.leaders.counters).toMatchObject({ isrShrinks: 1, failedIsrUpdates: 1 })
  })

  it('43. IsrExpiration: never fetched goes after the lag limit since the election', () => {
    const led = new Led({ logEndOffset: 10 })
    led.nowMs += lagMaxMs
    led.fetch(b, 10)
    expect(led.check()).toBe(0)
    led.nowMs += 1
    led.check()
    expect(proposedIsr(led.request())).toEqual([leader, b])
  })

  it('43. IsrExpiration: slow, at the leader’s end too long ago', () => {
    const led = new Led({ replicas: [leader, b], logEndOffset: 10 })
    led.fetch(b, 10)
    for (let round = 1; round <= 5; round += 1) {
      led.nowMs += lagMaxMs / 4
      led.append(10 + 10 * round)
      led.fetch(b, 10 + round)
    }
    expect(led.check()).toBe(1)
  })

  it('43. IsrExpiration: who is caught up stays', () => {
    const led = new Led({ logEndOffset: 10 })
    led.fetch(b, 10)
    led.fetch(c, 10)
    led.nowMs += 5 * lagMaxMs
    expect(led.check()).toBe(0)
  })

  it('a member that is no replica any more is taken out', () => {
    const led = new Led({ logEndOffset: 10 })
    led.fetch(b, 10)
    led.metadata({ partitionEpoch: 11, replicas: [leader, b], inSyncReplicas: [leader, b, c] })
    expect(led.check()).toBe(1)
    expect(proposedIsr(led.request())).toEqual([leader, b])
  })

  it('each member is named with the epoch it stated, -1 if it never fetched', () => {
    const led = new Led({ replicas: [leader, b, c], logEndOffset: 10 })
    led.fetch(b, 10)
    led.metadata({ partitionEpoch: 11, replicas: [leader, b, c], inSyncReplicas: [leader, b, c] })
    led.nowMs += lagMaxMs + 1
    led.check()
    expect(led.request()).toMatchObject({
      brokerEpoch: 101,
      items: [
        {
          partition: p0,
          leaderEpoch: 5,
          partitionEpoch: 11,
          newInSyncReplicas: [
            { brokerId: leader, brokerEpoch: 101 },
            { brokerId: b, brokerEpoch: 102 },
          ],
          leaderRecoveryState: 'recovered',
        },
      ],
    })
  })
})

describe('an answer', () => {
  it('with another leader epoch, or an older partition epoch, is ignored and counted', () => {
    for (const old of [{ leaderEpoch: 4 }, { partitionEpoch: 9 }]) {
      const led = ledWithLaggard()
      led.nowMs += lagMaxMs + 1
      led.check()
      const request = led.request()
      led.respond(request, [{ ...applied(request.items[0]), ...old }])
      expect(led.describe()).toMatchObject({ isrState: 'pendingShrink', partitionEpoch: 10 })
      expect(led.leaders.counters).toMatchObject({ isrShrinks: 0, failedIsrUpdates: 1 })
    }
  })

  it('with the same partition epoch commits: the controller found nothing to change', () => {
    const led = ledWithLaggard()
    led.nowMs += lagMaxMs + 1
    led.check()
    const request = led.request()
    led.respond(request, [{ ...applied(request.items[0]), partitionEpoch: 10 }])
    expect(led.describe()).toMatchObject({ isrState: 'committed', partitionEpoch: 10 })
  })

  it('tells the ISR; what was proposed does not matter any more', () => {
    const led = ledWithLaggard()
    led.nowMs += lagMaxMs + 1
    led.check()
    const request = led.request()
    led.respond(request, [{ ...applied(request.items[0]), inSyncReplicas: [leader] }])
    expect(led.describe().inSyncReplicas).toEqual([leader])
  })
})
