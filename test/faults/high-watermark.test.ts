/**
 * Faults that Apache Kafka had, by the letter and number under which this project lists them and
 * by their tickets: the smallest steps that showed each, and what must come out instead.
 */
import { expect, it } from 'vitest'
import { b, Led, leader } from '../replication/led-fixture.ts'
import { expectSameLogs, logValues } from '../support/worker-logs.ts'
import { diverged } from './crafted-logs.ts'

it('C1 (KAFKA-13141): a diverging follower that reports nothing moves nothing', () => {
  const led = new Led({ replicas: [leader, b], logEndOffset: 10, highWatermark: 5 })
  led.poll(b)
  expect(led.describe().followers[0].logEndOffset).toBe(-1)
  expect(led.highWatermark()).toBe(5)
})

it('C2 (KAFKA-14704): a follower takes the high watermark of the leader only after it has cut', () => {
  const cluster = diverged({
    leader: [
      [0, 10],
      [2, 4],
    ],
    follower: [
      [0, 10],
      [1, 3],
    ],
  })
  // Of its own tail nothing is ever shown as committed.
  const isWrong = (): boolean =>
    cluster.highWatermark(2) > Math.min(10, cluster.highWatermark(1)) &&
    logValues(cluster, 2)[10] !== logValues(cluster, 1)[10]
  for (let step = 0; step < 200; step++) {
    cluster.step(2)
    expect([step, isWrong()]).toEqual([step, false])
    if (step % 5 === 4) cluster.run(5)
  }
  cluster.converge()
  expectSameLogs(cluster)
})

it('C3 (KAFKA-15021): nobody waits for a follower that shuts down', () => {
  const led = new Led({ replicas: [leader, b] })
  led.append(10)
  led.fetch(b, 10)
  led.world.of(b).isShuttingDown = true
  led.append(20)
  led.metadata({ replicas: [leader, b], partitionEpoch: 11, inSyncReplicas: [leader] })
  expect(led.highWatermark()).toBe(20)
  // One that only was slow is waited for, so that it can come back.
  const waits = new Led({ replicas: [leader, b] })
  waits.append(10)
  waits.fetch(b, 10)
  waits.append(20)
  waits.metadata({ replicas: [leader, b], partitionEpoch: 11, inSyncReplicas: [leader] })
  expect(waits.highWatermark()).toBe(10)
})

it('C4 (KAFKA-15583): stands still under min ISR, whatever the acks', () => {
  const led = new Led({ replicas: [leader, b], minInSync: 2 })
  led.append(10)
  led.fetch(b, 10)
  const told = { replicas: [leader, b], partitionEpoch: 11, inSyncReplicas: [leader] }
  led.metadata(told, 2)
  led.world.of(b).isFenced = true
  led.append(15)
  expect(led.highWatermark()).toBe(10)
  led.world.of(b).isFenced = false
  led.fetch(b, 15)
  expect(led.highWatermark()).toBe(10)
  led.accept(led.request())
  expect(led.highWatermark()).toBe(15)
})

it('C4. a minimum above the replication factor is the replication factor', () => {
  const led = new Led({ replicas: [leader, b], minInSync: 5 })
  led.append(10)
  led.fetch(b, 10)
  expect(led.highWatermark()).toBe(10)
  expect(led.describe().minInSync).toBe(2)
})
