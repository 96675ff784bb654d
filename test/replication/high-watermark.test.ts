/**
 * Numbers are those of the conformance list; the cases come from Apache Kafka's `PartitionTest`.
 */
import { describe, expect, it } from 'vitest'
import { b, c, Led, lagMaxMs, leader, p0 } from './led-fixture.ts'

describe('the high watermark', () => {
  it('37. UpdateFollowerFetchState: the least of the in-sync replicas', () => {
    const led = new Led()
    led.append(10)
    led.fetch(b, 10)
    expect(led.highWatermark()).toBe(0)
    led.fetch(c, 4)
    expect(led.highWatermark()).toBe(4)
    expect(led.describe().followers.map((replica) => replica.logEndOffset)).toEqual([10, 4])
    led.fetch(c, 12)
    expect(led.highWatermark()).toBe(10)
  })

  it('8. MonotonicOffsetsAfterLeaderChange: passes the epoch start once all fetched to it', () => {
    const led = new Led({ logEndOffset: 10, highWatermark: 5 })
    expect(led.highWatermark()).toBe(5)
    led.fetch(b, 10)
    expect(led.highWatermark()).toBe(5)
    led.fetch(c, 10)
    expect(led.highWatermark()).toBe(led.describe().leaderEpochStartOffset)
  })

  it('34. UseCheckpointToInitializeHighWatermark: what was known, within the log', () => {
    expect(new Led({ logEndOffset: 6, highWatermark: 4 }).highWatermark()).toBe(4)
    expect(new Led({ logEndOffset: 6, highWatermark: 9 }).highWatermark()).toBe(6)
  })

  it('17. does not wait for who is fenced or shutting down', () => {
    for (const fact of [{}, { isFenced: true }, { isShuttingDown: true }]) {
      const led = new Led({ replicas: [leader, b] })
      led.append(10)
      led.fetch(b, 10)
      expect(led.highWatermark()).toBe(10)
      Object.assign(led.world.of(b), fact)
      led.append(20)
      const told = { replicas: [leader, b], partitionEpoch: 11, inSyncReplicas: [leader] }
      led.metadata(told)
      const isEligible = Object.keys(fact).length === 0
      expect(led.highWatermark()).toBe(isEligible ? 10 : 20)
    }
  })

  it('17. waits for an eligible replica outside only as long as it is caught up by time', () => {
    const led = new Led({ replicas: [leader, b] })
    led.append(10)
    led.fetch(b, 10)
    led.metadata({ replicas: [leader, b], partitionEpoch: 11, inSyncReplicas: [leader] })
    led.nowMs += lagMaxMs
    led.append(11)
    expect(led.highWatermark()).toBe(10)
    led.nowMs += 1
    led.append(12)
    expect(led.highWatermark()).toBe(12)
  })

  it('17. does not wait for a replica outside whose former life was caught up', () => {
    const led = new Led({ replicas: [leader, b] })
    led.append(10)
    led.fetch(b, 10)
    led.metadata({ replicas: [leader, b], partitionEpoch: 11, inSyncReplicas: [leader] })
    led.world.of(b).epoch = 200
    led.append(11)
    expect(led.highWatermark()).toBe(11)
  })

  it('24. HighWatermarkAdvanceShouldNotAdvanceWhenUnderMinISR: a pending third is no member', () => {
    const led = new Led({ isr: [leader, b], minInSync: 3 })
    led.append(10)
    led.fetch(b, 10)
    led.fetch(c, 10)
    expect(led.describe()).toMatchObject({ isrState: 'pendingExpand', isUnderMinInSync: true })
    expect(led.highWatermark()).toBe(0)
    led.accept(led.request())
    expect(led.highWatermark()).toBe(10)
  })

  it('is bounded by a proposed member before the controller has answered', () => {
    const led = new Led({ isr: [leader, b] })
    led.append(10)
    led.fetch(b, 10)
    led.fetch(c, 10)
    led.append(20)
    led.nowMs += 2 * lagMaxMs
    led.fetch(b, 20)
    expect(led.describe().isrState).toBe('pendingExpand')
    expect(led.highWatermark()).toBe(10)
  })

  it('is bounded by a member whose removal is only proposed', () => {
    const led = new Led()
    led.append(10)
    led.nowMs += lagMaxMs + 1
    led.fetch(b, 10)
    led.check()
    expect(led.describe().isrState).toBe('pendingShrink')
    led.append(11)
    led.fetch(b, 11)
    expect(led.highWatermark()).toBe(0)
  })

  it('joining is decided before the fetch moves it; then it waits for who joined', () => {
    const led = new Led({ isr: [leader, b] })
    led.append(10)
    led.fetch(b, 10)
    led.append(20)
    led.fetch(c, 10)
    led.fetch(b, 20)
    expect(proposed(led)).toContain(c)
    expect(led.highWatermark()).toBe(10)
  })

  it('never goes back, though a follower does', () => {
    const led = new Led({ replicas: [leader, b] })
    led.append(10)
    led.fetch(b, 10)
    led.fetch(b, 3)
    led.append(11)
    expect(led.highWatermark()).toBe(10)
    expect(led.leaders.takeAdvanced({ advanced: () => undefined })).toBe(1)
  })

  it('with the leader as the only replica follows each append', () => {
    const led = new Led({ replicas: [leader] })
    led.append(3)
    expect(led.highWatermark()).toBe(3)
    led.append(7)
    const seen: [number, number][] = []
    led.leaders.takeAdvanced({ advanced: (partition, offset) => seen.push([partition, offset]) })
    expect(seen).toEqual([[p0, 7]])
    led.leaders.takeAdvanced({ advanced: (partition, offset) => seen.push([partition, offset]) })
    expect(seen).toHaveLength(1)
  })

  it('moves when a lower minimum is told', () => {
    const led = new Led({ replicas: [leader, b], minInSync: 2, isr: [leader] })
    led.append(10)
    expect(led.highWatermark()).toBe(0)
    const told = { replicas: [leader, b], partitionEpoch: 10, inSyncReplicas: [leader] }
    led.metadata(told, 1)
    expect(led.highWatermark()).toBe(10)
  })
})

function proposed(led: Led): readonly number[] {
  return led.describe().maximalInSyncReplicas
}
