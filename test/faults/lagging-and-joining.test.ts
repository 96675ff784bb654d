/**
 * Faults that Apache Kafka had, by the letter and number under which this project lists them and
 * by their tickets: the smallest steps that showed each, and what must come out instead.
 */
import { expect, it } from 'vitest'
import { brokerId } from '../../src/ids.ts'
import { b, Led, lagMaxMs, leader, proposedIsr, startMs } from '../replication/led-fixture.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { expectSameLogs } from '../support/worker-logs.ts'

it('A1 (KAFKA-4485): never at the end of a moving log, and still in sync', () => {
  const led = new Led({ replicas: [leader, b] })
  const at = (ms: number) => {
    led.nowMs = startMs + ms
  }
  led.append(10)
  led.fetch(b, 10)
  at(500)
  led.append(15)
  led.fetch(b, 10)
  at(1_000)
  led.append(20)
  led.fetch(b, 15)
  at(1_500)
  led.append(25)
  led.fetch(b, 20)
  expect(led.caughtUpTimeMs(b)).toBe(startMs + 1_000)
  at(1_800)
  expect(led.check()).toBe(0)
})

it('A2 (KAFKA-7128): the high watermark of a new leader lets nobody in who lacks committed data', () => {
  const led = new Led({ isr: [leader], logEndOffset: 10, highWatermark: 5, minInSync: 2 })
  expect([led.highWatermark(), led.describe().leaderEpochStartOffset]).toEqual([5, 10])
  led.fetch(b, 6)
  expect(led.hasRequest()).toBe(false)
  led.fetch(b, 10)
  expect(proposedIsr(led.request())).toEqual([leader, b])
})

it('A3 (KAFKA-7152): an idle follower stays, however long; one append later it goes', () => {
  const led = new Led({ replicas: [leader, b], logEndOffset: 10 })
  led.fetch(b, 10)
  led.nowMs += 3 * lagMaxMs
  expect(led.check()).toBe(0)
  led.append(11)
  expect(led.check()).toBe(1)
})

it('A4 (KAFKA-13916): who is fenced or shutting down is not proposed, and a refusal is no end', () => {
  for (const fact of [{ isFenced: true }, { isShuttingDown: true }]) {
    const led = new Led({ isr: [leader], logEndOffset: 10 })
    Object.assign(led.world.of(b), fact)
    led.fetch(b, 10)
    expect(led.hasRequest()).toBe(false)
    // The leader's view was old: it does propose, the controller refuses.
    Object.assign(led.world.of(b), { isFenced: false, isShuttingDown: false })
    led.poll(b)
    led.refuse(led.request(), 'INELIGIBLE_REPLICA')
    expect(led.describe()).toMatchObject({ isrState: 'committed', inSyncReplicas: [leader] })
    led.poll(b)
    expect(proposedIsr(led.request())).toEqual([leader, b])
  }
})

it('A5 (KAFKA-14617): a proposal for the former life of a follower is refused', () => {
  const cluster = new WorkerCluster({ config: { 'replica.lag.time.max.ms': 100 } })
  cluster.frozen.add(3)
  cluster.produce(0, 2)
  cluster.until('3 is out', () => !cluster.isr().includes(3))
  cluster.frozen.delete(3)
  // The proposal to take it in is under way while it dies and comes back as somebody else.
  cluster.cutOff.add(1)
  cluster.run(40)
  const former = cluster.controller.image.broker(brokerId(3))!.brokerEpoch
  cluster.kill(3)
  cluster.start(3)
  cluster.until('it is somebody else', () => {
    const broker = cluster.controller.image.broker(brokerId(3))
    return broker !== undefined && broker.brokerEpoch !== former && !broker.fenced
  })
  cluster.cutOff.delete(1)
  cluster.stepController()
  const proposed = cluster.alterRequests.at(-1)!.items[0]!.newInSyncReplicas
  expect(proposed).toContainEqual({ brokerId: 3, brokerEpoch: former })
  expect(cluster.isr()).not.toContain(3)
  cluster.run(20)
  expect(cluster.alterResponses.map(({ items }) => items[0]?.error)).toContain('INELIGIBLE_REPLICA')
  cluster.converge()
  expectSameLogs(cluster)
})

it('A6 (KAFKA-15221): a new life does not join on the offset of the former one', () => {
  const led = new Led({ isr: [leader], logEndOffset: 10 })
  led.world.of(b).isFenced = true
  led.fetch(b, 10)
  Object.assign(led.world.of(b), { isFenced: false, epoch: 200 })
  led.poll(b)
  expect(led.hasRequest()).toBe(false)
  led.fetch(b, 0)
  expect(led.hasRequest()).toBe(false)
  led.fetch(b, 10)
  expect(led.request().items[0].newInSyncReplicas[1]).toEqual({ brokerId: b, brokerEpoch: 200 })
})

it('A8 (KAFKA-4313): the limit of catching up does not hold back who is in sync', () => {
  const cluster = new WorkerCluster({
    config: {
      'replica.lag.time.max.ms': 1_000,
      'ring.detach.stuck.ms': 50,
      'catch.up.read.bytes': 4_096,
    },
  })
  cluster.board.setCatchUpBytesPerSec(brokerId(3), 1)
  // Long enough to be sent to the disk, not long enough to leave.
  cluster.frozen.add(3)
  for (let batch = 0; batch < 50; batch++) {
    cluster.produce(0, 1, 2_000)
    cluster.run(10)
  }
  expect(cluster.isr()).toEqual([1, 2, 3])
  cluster.frozen.delete(3)
  for (let batch = 0; batch < 300; batch++) {
    cluster.produce(0, 1, 2_000)
    cluster.run(10)
    expect(cluster.isr()).toEqual([1, 2, 3])
  }
  expect(cluster.logEndOffset(3)).toBeGreaterThan(340)
})
