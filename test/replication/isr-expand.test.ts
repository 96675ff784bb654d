/**
 * Numbers are those of the conformance list; the cases come from Apache Kafka's `PartitionTest`.
 */
import { describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../src/errors.ts'
import type { ExpandCriterion } from '../../src/replication/in-sync-rules.ts'
import { b, c, Led, lagMaxMs, leader, p0, proposedIsr } from './led-fixture.ts'

const criteria: ExpandCriterion[] = ['high.watermark', 'log.end.offset']

/** The leader alone in the ISR, at 10, in an epoch that began there. */
function ledAlone(criterion: ExpandCriterion = 'high.watermark'): Led {
  return new Led({ isr: [leader], logEndOffset: 10, criterion })
}

describe.each(criteria)('expanding by %s', (criterion) => {
  it('9. FollowerDoesNotJoinISRUntilCaughtUpToOffsetWithinCurrentLeaderEpoch', () => {
    const led = new Led({
      isr: [leader],
      logEndOffset: 10,
      highWatermark: 5,
      minInSync: 2,
      criterion,
    })
    expect(led.highWatermark()).toBe(5)
    led.fetch(b, 6)
    expect(led.hasRequest()).toBe(false)
    led.fetch(b, 10)
    expect(proposedIsr(led.request())).toEqual([leader, b])
  })

  it('10. IsrExpansion: proposed once, maximal at once, committed when answered', () => {
    const led = ledAlone(criterion)
    led.fetch(b, 3)
    expect(led.caughtUpTimeMs(b)).toBe(0)
    expect(led.hasRequest()).toBe(false)
    led.nowMs += 1
    led.fetch(b, 10)
    expect(led.caughtUpTimeMs(b)).toBe(led.nowMs)
    expect(led.describe()).toMatchObject({
      isrState: 'pendingExpand',
      inSyncReplicas: [leader],
      maximalInSyncReplicas: [leader, b],
    })
    const request = led.request()
    expect(request.items[0].newInSyncReplicas).toEqual([
      { brokerId: leader, brokerEpoch: 101 },
      { brokerId: b, brokerEpoch: 102 },
    ])
    led.accept(request)
    expect(led.describe()).toMatchObject({
      isrState: 'committed',
      inSyncReplicas: [leader, b],
      partitionEpoch: 11,
    })
    expect(led.leaders.counters).toMatchObject({ isrExpands: 1, failedIsrUpdates: 0 })
  })

  it('13. IsrNotExpandedIfReplicaIsFencedOrShutdown', () => {
    for (const fact of [{ isFenced: true }, { isShuttingDown: true }]) {
      const led = ledAlone(criterion)
      Object.assign(led.world.of(b), fact)
      led.fetch(b, 10)
      expect(led.hasRequest()).toBe(false)
      Object.assign(led.world.of(b), { isFenced: false, isShuttingDown: false })
      led.poll(b)
      expect(proposedIsr(led.request())).toEqual([leader, b])
    }
  })

  it('26. SingleInFlightAlterIsr: two qualify, one is asked for', () => {
    const led = ledAlone(criterion)
    led.fetch(b, 10)
    led.fetch(c, 10)
    const request = led.request()
    expect(request.items).toHaveLength(1)
    expect(proposedIsr(request)).toEqual([leader, b])
    led.accept(request)
    led.poll(c)
    expect(proposedIsr(led.request())).toEqual([leader, b, c])
  })
})

describe('a refused expansion', () => {
  it.each<ErrorCode>([
    'INVALID_UPDATE_VERSION',
    'INVALID_REQUEST',
    'FENCED_LEADER_EPOCH',
    'UNKNOWN_TOPIC_ID',
    'UNKNOWN_TOPIC_OR_PARTITION',
    'NEW_LEADER_ELECTED',
  ])('11, 12, 27. %s leaves it pending until newer metadata', (error) => {
    const led = ledAlone()
    led.fetch(b, 10)
    led.refuse(led.request(), error)
    expect(led.describe()).toMatchObject({
      isrState: 'pendingExpand',
      inSyncReplicas: [leader],
      maximalInSyncReplicas: [leader, b],
    })
    expect(led.leaders.counters).toMatchObject({ isrExpands: 0, failedIsrUpdates: 1 })
    led.poll(b)
    led.nowMs += 1_000
    expect(led.hasRequest()).toBe(false)
    led.metadata({ partitionEpoch: 11, inSyncReplicas: [leader] })
    led.poll(b)
    expect(led.request().items[0].partitionEpoch).toBe(11)
  })

  it('14. IsrNotExpandedIfReplicaIsInControlledShutdown: INELIGIBLE_REPLICA reverts', () => {
    const led = ledAlone()
    led.fetch(b, 10)
    const request = led.request()
    led.world.of(b).isShuttingDown = true
    led.refuse(request, 'INELIGIBLE_REPLICA')
    expect(led.describe()).toMatchObject({
      isrState: 'committed',
      maximalInSyncReplicas: [leader],
    })
    led.poll(b)
    expect(led.hasRequest()).toBe(false)
    led.world.of(b).isShuttingDown = false
    led.poll(b)
    expect(proposedIsr(led.request())).toEqual([leader, b])
  })

  it('OPERATION_NOT_ATTEMPTED reverts, and the next fetch decides anew', () => {
    const led = ledAlone()
    led.fetch(b, 10)
    led.refuse(led.request(), 'OPERATION_NOT_ATTEMPTED')
    expect(led.describe().isrState).toBe('committed')
    expect(led.hasRequest()).toBe(false)
    led.poll(b)
    expect(led.hasRequest()).toBe(true)
  })

  it('27. an unexpected error is sent again at once', () => {
    const led = ledAlone()
    led.fetch(b, 10)
    const request = led.request()
    led.refuse(request, 'UNKNOWN_SERVER_ERROR')
    expect(led.describe().isrState).toBe('pendingExpand')
    expect(led.request().items[0]).toBe(request.items[0])
  })
})

describe('broker epochs', () => {
  it('15. IsrCanExpandedIfBrokerEpochsMatch: another epoch no, the same yes', () => {
    const led = ledAlone()
    led.fetch(b, 10)
    led.refuse(led.request(), 'INELIGIBLE_REPLICA')
    led.world.of(b).epoch += 1
    led.leaders.checkInSyncReplicas(led.nowMs)
    led.world.of(b).epoch -= 2
    led.leaders.beginFetch(b, 102, led.nowMs)
    led.leaders.fetched(p0, 10)
    led.leaders.endFetch()
    expect(led.hasRequest()).toBe(false)
    led.world.of(b).epoch = 102
    led.poll(b)
    expect(led.hasRequest()).toBe(true)
  })

  it('15. a stated -1 is believed; a member that never fetched is sent with -1', () => {
    const led = new Led({ isr: [leader, c], logEndOffset: 10 })
    expect(led.leaders.beginFetch(b, -1, led.nowMs)).toBe(true)
    led.leaders.fetched(p0, 10)
    led.leaders.endFetch()
    expect(led.request().items[0].newInSyncReplicas).toEqual([
      { brokerId: leader, brokerEpoch: 101 },
      { brokerId: c, brokerEpoch: -1 },
      { brokerId: b, brokerEpoch: -1 },
    ])
  })
})

describe('the criterion', () => {
  /** Committed up to 10, log end 20, b at the high watermark. */
  function committedTo10(criterion: ExpandCriterion): Led {
    const led = new Led({ isr: [leader, c], logEndOffset: 0, criterion })
    led.append(10)
    led.fetch(c, 10)
    led.append(20)
    expect(led.highWatermark()).toBe(10)
    led.fetch(b, 10)
    return led
  }

  it('high.watermark: what is committed is enough', () => {
    expect(committedTo10('high.watermark').hasRequest()).toBe(true)
  })

  it('log.end.offset: not before the leader’s end', () => {
    const led = committedTo10('log.end.offset')
    expect(led.hasRequest()).toBe(false)
    led.fetch(b, 19)
    expect(led.hasRequest()).toBe(false)
    led.fetch(b, 20)
    expect(led.hasRequest()).toBe(true)
  })

  it('log.end.offset: the end as of the poll before is enough under constant load', () => {
    const led = committedTo10('log.end.offset')
    led.nowMs += 5
    led.append(21)
    led.fetch(b, 20)
    expect(led.takeReachedEnd()).toEqual([{ brokerId: b, caughtUpCase: 2 }])
    expect(led.hasRequest()).toBe(true)
  })

  it('log.end.offset: but not the end as of before a long stop', () => {
    const led = new Led({ isr: [leader, c], minInSync: 3, criterion: 'log.end.offset' })
    led.world.of(b).isFenced = true
    led.append(10)
    led.fetch(b, 10)
    led.world.of(b).isFenced = false
    led.nowMs += lagMaxMs + 1
    led.append(500)
    led.poll(b)
    led.fetch(b, 10)
    expect(led.highWatermark()).toBe(0)
    expect(led.hasRequest()).toBe(false)
  })

  it('log.end.offset: the first poll of a tenure has no poll before', () => {
    const led = new Led({ isr: [leader, c], logEndOffset: 10, criterion: 'log.end.offset' })
    led.append(20)
    led.fetch(b, 10)
    expect(led.hasRequest()).toBe(false)
  })

  it('a follower that reached the end is told of once since it left', () => {
    const led = ledAlone('log.end.offset')
    led.world.of(b).isFenced = true
    led.fetch(b, 10)
    led.poll(b)
    expect(led.takeReachedEnd()).toEqual([{ brokerId: b, caughtUpCase: 1 }])
    led.world.of(b).isFenced = false
    led.poll(b)
    led.accept(led.request())
    led.metadata({ partitionEpoch: 12, inSyncReplicas: [leader] })
    led.world.of(b).isFenced = true
    led.poll(b)
    expect(led.takeReachedEnd()).toEqual([{ brokerId: b, caughtUpCase: 1 }])
  })
})

describe('the sweep of unreported partitions', () => {
  it('comes at most once in its interval', () => {
    const led = new Led({ isr: [leader], logEndOffset: 10, sweepIntervalMs: 10 })
    led.world.of(b).isFenced = true
    led.fetch(b, 10)
    led.world.of(b).isFenced = false
    led.nowMs += 9
    led.poll(b)
    expect(led.hasRequest()).toBe(false)
    led.nowMs += 1
    led.poll(b)
    expect(led.hasRequest()).toBe(true)
  })

  it('reaches every partition of a follower, also more than one sweep takes', () => {
    const partitions = 4_100
    const led = new Led({ isr: [leader], logEndOffset: 10, partitions })
    led.world.of(b).isFenced = true
    led.leaders.beginFetch(b, led.world.of(b).epoch, led.nowMs)
    for (let index = 0; index < partitions; index += 1) led.leaders.fetched(index as typeof p0, 10)
    led.leaders.endFetch()
    led.world.of(b).isFenced = false
    led.poll(b)
    led.poll(b)
    expect(led.request().items).toHaveLength(partitions)
  })
})
