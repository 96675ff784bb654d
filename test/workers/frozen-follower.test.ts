import { describe, expect, it } from 'vitest'
import { brokerId } from '../../src/ids.ts'
import { readerState } from '../../src/workers/progress-board.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { expectSameLogs } from '../support/worker-logs.ts'

const leader = brokerId(1)

function used(cluster: WorkerCluster): number {
  const ring = cluster.ring(leader)
  return (ring.tail - ring.limit) | 0
}

/** As many batches as the ring takes. @returns how many it took */
function fill(cluster: WorkerCluster, valueBytes = 10_000): number {
  let taken = 0
  while (cluster.produce(0, 1, valueBytes) >= 0) taken++
  return taken
}

describe('a frozen follower', () => {
  it('is detached when it has stood still for ring.detach.stuck.ms, and its space given back', () => {
    const cluster = new WorkerCluster({ config: { 'ring.detach.stuck.ms': 150 } })
    cluster.run(50)
    cluster.frozen.add(3)
    cluster.produce(0, 1, 1_000)
    const isDetached = () => cluster.board.readerState(leader, brokerId(3)) === readerState.detached
    cluster.run(140)
    expect(isDetached()).toBe(false)
    expect(used(cluster)).toBeGreaterThan(0)
    cluster.run(20)
    expect(isDetached()).toBe(true)
    expect(used(cluster)).toBe(0)
    expect(cluster.board.readerState(leader, brokerId(2))).toBe(readerState.idle)
  })

  it('is detached sooner when the ring is nearly full', () => {
    const cluster = new WorkerCluster({ config: { 'ring.detach.stuck.ms': 60_000 } })
    cluster.run(50)
    cluster.frozen.add(3)
    expect(fill(cluster)).toBeGreaterThan(10)
    expect(cluster.produce(0, 1, 10_000)).toBe(-1)
    cluster.run(20)
    expect(cluster.produce(0, 1, 10_000)).toBe(-1)
    cluster.run(30)
    expect(cluster.produce(0, 1, 10_000)).toBeGreaterThanOrEqual(0)
  })

  it('never stops the leader: many rings full go through, and its memory stays as it is', () => {
    const cluster = new WorkerCluster({ config: { 'ring.detach.stuck.ms': 150 } })
    cluster.run(50)
    cluster.frozen.add(3)
    const memory = cluster.memory
    const ringBytes = cluster.config['ring.bytes']
    let sent = 0
    let stalledMs = 0
    let outstandingMax = 0
    while (sent * 10_000 < 8 * ringBytes) {
      const taken = fill(cluster)
      sent += taken
      cluster.run(5)
      stalledMs = taken > 0 ? 0 : stalledMs + 5
      expect(stalledMs).toBeLessThanOrEqual(200)
      expect(used(cluster)).toBeLessThanOrEqual(cluster.ring(leader).capacityUnits)
      outstandingMax = Math.max(outstandingMax, cluster.producer.outstanding)
    }
    expect(cluster.memory).toBe(memory)
    // Waiting for the ISR, not for the ring: bounded by what a producer may have outstanding.
    expect(outstandingMax).toBeLessThanOrEqual(cluster.memory.acks.capacity)
    cluster.until('it left the ISR', () => !cluster.isr().includes(3))
    cluster.until('everything is acknowledged', () => cluster.unanswered === 0)
    expect(cluster.acknowledged.every(({ error }) => error === 'NONE')).toBe(true)
    expect(cluster.highWatermark(1)).toBe(sent)
    cluster.frozen.delete(3)
    cluster.converge()
    expectSameLogs(cluster)
  })

  it('a producer is held at what its acknowledgements have room for, and goes on after the shrink', () => {
    const cluster = new WorkerCluster()
    cluster.run(50)
    cluster.frozen.add(3)
    const { capacity } = cluster.memory.acks
    let sent = 0
    let heldRounds = 0
    while (cluster.isr().length === 3) {
      while (cluster.produce(0, 1) >= 0) sent++
      heldRounds += cluster.producer.outstanding === capacity ? 1 : 0
      expect(cluster.producer.outstanding).toBeLessThanOrEqual(capacity)
      cluster.run(5)
    }
    expect([sent, heldRounds > 20]).toEqual([capacity, true])
    cluster.run(20)
    expect(cluster.producer.outstanding).toBe(0)
    expect(cluster.acknowledged).toHaveLength(capacity)
    expect(cluster.produce(0, 1)).toBeGreaterThanOrEqual(0)
  })

  it('two of three with min.insync.replicas 2: refused until one is back', () => {
    const cluster = new WorkerCluster({ topic: { 'min.insync.replicas': '2' } })
    cluster.run(50)
    const first = cluster.produce(0, 5)
    cluster.settle()
    cluster.frozen.add(2).add(3)
    cluster.produce(0, 1, 0, 0)
    cluster.until('both left', () => cluster.isr().length === 1)
    cluster.run(20)
    const refused = cluster.produce(0, 1)
    cluster.run(20)
    expect(cluster.answer(first)).toMatchObject({ error: 'NONE' })
    expect(cluster.answer(refused)).toMatchObject({ error: 'NOT_ENOUGH_REPLICAS' })
    // Visible up to what two replicas have, though the leader has more.
    expect([cluster.highWatermark(1), cluster.logEndOffset(1)]).toEqual([5, 6])
    cluster.frozen.delete(2)
    cluster.until('one is back', () => cluster.isr().length === 2)
    cluster.run(20)
    const accepted = cluster.produce(0, 1)
    cluster.run(20)
    expect(cluster.answer(accepted)).toMatchObject({ error: 'NONE', baseOffset: 6 })
    cluster.frozen.delete(3)
    cluster.converge()
    expectSameLogs(cluster)
  })

  it('that wakes in the middle of what the ring has overwritten reads from disk', () => {
    const cluster = new WorkerCluster({ config: { 'broker.session.timeout.ms': 60_000 } })
    cluster.run(50)
    for (let round = 0; round < 3; round++) {
      cluster.frozen.add(3)
      for (let step = 0; step < 150; step++) {
        fill(cluster, 20_000)
        cluster.run(5)
      }
      cluster.frozen.delete(3)
      fill(cluster, 20_000)
      cluster.converge()
      expectSameLogs(cluster)
    }
  })
})

describe('time in sync', () => {
  it.each([1, 7, 40])(
    'a paused follower leaves the ISR between 1.0 and 1.5 limits, phase %i',
    (phaseMs) => {
      const cluster = new WorkerCluster({ config: { 'replica.lag.time.max.ms': 400 } })
      cluster.run(300 + phaseMs, 1)
      cluster.frozen.add(3)
      const lastPollMs = cluster.board.pollTimeMs(brokerId(3))
      while (cluster.isr().includes(3)) {
        expect(cluster.clock.nowMs() - lastPollMs).toBeLessThan(700)
        cluster.produce(0, 1)
        cluster.run(1, 1)
      }
      const tookMs = cluster.clock.nowMs() - lastPollMs
      expect(tookMs).toBeGreaterThanOrEqual(400)
      // Half a limit between two checks, and the way to the controller.
      expect(tookMs).toBeLessThanOrEqual(600 + 5)
      expect(cluster.isr()).toEqual([1, 2])
    },
  )

  it('idle partitions do not churn while the follower polls (KAFKA-7152)', () => {
    const cluster = new WorkerCluster({
      assignments: [
        [1, 2, 3],
        [2, 3, 1],
        [3, 1, 2],
      ],
      config: { 'replica.lag.time.max.ms': 200 },
    })
    cluster.produce(0, 3)
    cluster.settle()
    const epochs = [0, 1, 2].map((partition) => cluster.registration(partition).partitionEpoch)
    cluster.run(5_000, 20)
    expect([0, 1, 2].map((each) => cluster.registration(each).partitionEpoch)).toEqual(epochs)
    expect(cluster.alterRequests).toEqual([])
  })

  it('a frozen follower of an idle partition has all there is and stays in sync until something comes', () => {
    const cluster = new WorkerCluster({
      config: { 'replica.lag.time.max.ms': 200, 'broker.session.timeout.ms': 60_000 },
    })
    cluster.run(50)
    cluster.frozen.add(3)
    cluster.run(2_000)
    expect(cluster.isr()).toEqual([1, 2, 3])
    cluster.produce(0, 1)
    cluster.run(150)
    expect(cluster.isr()).toEqual([1, 2])
  })

  it('a follower that only polls, throttled to nothing, leaves as one that is frozen', () => {
    const cluster = new WorkerCluster({ config: { 'replica.lag.time.max.ms': 400 } })
    cluster.run(100)
    cluster.board.setThrottleBytesPerSec(brokerId(3), 1)
    cluster.produce(0, 1, 5_000)
    cluster.run(20)
    const startMs = cluster.clock.nowMs()
    while (cluster.isr().includes(3)) {
      expect(cluster.clock.nowMs() - startMs).toBeLessThan(1_000)
      cluster.produce(0, 1)
      cluster.run(5)
    }
    expect(cluster.clock.nowMs() - startMs).toBeGreaterThan(350)
    cluster.board.setThrottleBytesPerSec(brokerId(3), 0)
    cluster.converge()
    expectSameLogs(cluster)
  })
})
