import { describe, expect, it } from 'vitest'
import { partitionIndex } from '../../src/ids.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { payloadCopies } from '../../src/log/payload-copies.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { expectSameLogs, logBytes, logValues } from '../support/worker-logs.ts'

describe('the way of a batch', () => {
  it('ends in three byte-identical logs, committed and acknowledged', () => {
    const cluster = new WorkerCluster()
    const tickets = [1, 5, 20].map((count) => cluster.produce(0, count, 100))
    cluster.settle()
    expect(tickets.map((ticket) => cluster.answer(ticket))).toMatchObject([
      { error: 'NONE', baseOffset: 0 },
      { error: 'NONE', baseOffset: 1 },
      { error: 'NONE', baseOffset: 6 },
    ])
    for (const broker of [1, 2, 3]) {
      expect(cluster.logEndOffset(broker)).toBe(26)
      expect(logBytes(cluster, broker).length).toBeGreaterThan(2_600)
    }
    expect(cluster.highWatermark(1)).toBe(26)
    expectSameLogs(cluster)
  })

  it('copies the payload once, whatever the number of replicas', () => {
    const cluster = new WorkerCluster()
    const before = payloadCopies.bytes
    for (let batch = 0; batch < 10; batch++) cluster.produce(0, 7, 100)
    const encoded = payloadCopies.bytes - before
    expect(encoded).toBe(10 * 7 * 100)
    cluster.settle()
    expect(cluster.logEndOffset(3)).toBe(70)
    expect(payloadCopies.bytes - before).toBe(encoded)
  })
})

describe('acks', () => {
  it('0: no answer, and the records are there', () => {
    const cluster = new WorkerCluster()
    cluster.produce(0, 3, 0, 0)
    cluster.settle()
    expect(cluster.acknowledged).toEqual([])
    expect(cluster.producer.outstanding).toBe(0)
    expect(logValues(cluster, 3)).toHaveLength(3)
  })

  it('1: answered when the leader has it, before any follower', () => {
    const cluster = new WorkerCluster()
    const ticket = cluster.produce(0, 3, 0, 1)
    cluster.step(1)
    cluster.pollAcks()
    expect(cluster.answer(ticket)).toMatchObject({ error: 'NONE', baseOffset: 0 })
    expect([cluster.logEndOffset(2), cluster.highWatermark(1)]).toEqual([0, 0])
  })

  it('all: not answered before the last in-sync follower reported', () => {
    const cluster = new WorkerCluster()
    const ticket = cluster.produce(0, 3)
    for (const broker of [1, 2, 1, 2, 1]) cluster.step(broker)
    cluster.pollAcks()
    expect(cluster.answer(ticket)).toBeUndefined()
    cluster.step(3)
    cluster.pollAcks()
    expect(cluster.answer(ticket)).toBeUndefined()
    cluster.step(1)
    cluster.pollAcks()
    expect(cluster.answer(ticket)).toMatchObject({ error: 'NONE', baseOffset: 0 })
  })

  it('all: times out with REQUEST_TIMED_OUT when a follower in sync stands still', () => {
    const cluster = new WorkerCluster({ config: { 'replica.lag.time.max.ms': 30_000 } })
    cluster.frozen.add(3)
    const ticket = cluster.produce(0, 1, 0, -1, 200)
    const tookMs = cluster.until('it is answered', () => cluster.answer(ticket) !== undefined)
    expect(cluster.answer(ticket)).toMatchObject({ error: 'REQUEST_TIMED_OUT' })
    expect(tookMs).toBeGreaterThanOrEqual(200)
    expect(tookMs).toBeLessThanOrEqual(220)
  })
})

describe('a batch is refused, and nothing of it is in any log,', () => {
  /** Claims, lets `fill` write the batch, commits as `acks`. */
  function sendRaw(
    cluster: WorkerCluster,
    bytes: Uint8Array,
    { partition = 0, size = bytes.length, acks = -1 } = {},
  ): number {
    const index = partitionIndex(partition)
    expect(cluster.producer.tryClaim(index, bytes.length)).toBe('claimed')
    cluster.producer.claimMemory.bytes.set(bytes, cluster.producer.claimPosition)
    return cluster.producer.commit(index, size, acks, 1_000)
  }

  function answersOf(cluster: WorkerCluster): [number, number][] {
    const answers: [number, number][] = []
    for (const broker of [1, 2, 3, 1]) cluster.step(broker)
    cluster.producer.poll((ticket, error) => answers.push([ticket, error]))
    return answers
  }

  /** A good batch, taken from a log. */
  function goodBatch(cluster: WorkerCluster): Uint8Array {
    cluster.produce(0, 3, 50, 1)
    cluster.settle()
    return new Uint8Array(logBytes(cluster, 1))
  }

  it.each([
    ['its payload was changed', (bytes: Uint8Array) => (bytes[100]! ^= 1)],
    ['its checksum was changed', (bytes: Uint8Array) => (bytes[17]! ^= 1)],
    ['its length says less', (bytes: Uint8Array) => bytes[11]!--],
    ['its length says more', (bytes: Uint8Array) => bytes[11]!++],
    ['its magic is an older one', (bytes: Uint8Array) => (bytes[16] = 1)],
  ])('CORRUPT_MESSAGE: %s', (_, damage) => {
    const cluster = new WorkerCluster()
    const bytes = goodBatch(cluster)
    const good = cluster.produce(0, 1)
    damage(bytes)
    const bad = sendRaw(cluster, bytes)
    const after = cluster.produce(0, 1)
    expect(answersOf(cluster)).toEqual(
      expect.arrayContaining([
        [bad, 2],
        [good, 0],
        [after, 0],
      ]),
    )
    expect(logValues(cluster, 1)).toHaveLength(5)
  })

  it('CORRUPT_MESSAGE: the frame says a size that is not the batch’s', () => {
    const cluster = new WorkerCluster()
    const bytes = goodBatch(cluster)
    const tickets = [0, -1, bytes.length - 1, 1 << 20].map((size) => {
      return sendRaw(cluster, bytes, { size })
    })
    expect(answersOf(cluster)).toEqual(tickets.map((ticket) => [ticket, 2]))
  })

  it('RECORD_TOO_LARGE: above max.message.bytes', () => {
    const cluster = new WorkerCluster({ topic: { 'max.message.bytes': '1000' } })
    const small = cluster.produce(0, 1, 500)
    const large = cluster.produce(0, 1, 1_000)
    cluster.settle()
    expect(cluster.answer(small)).toMatchObject({ error: 'NONE' })
    expect(cluster.answer(large)).toMatchObject({ error: 'RECORD_TOO_LARGE', baseOffset: -1 })
    expect(cluster.logEndOffset(1)).toBe(1)
  })

  it('RECORD_LIST_TOO_LARGE: above segment.bytes, alone and not with its neighbours', () => {
    const cluster = new WorkerCluster({ topic: { 'segment.bytes': '16384' } })
    const before = cluster.produce(0, 1, 100)
    const large = cluster.produce(0, 1, 20_000)
    const after = cluster.produce(0, 1, 100)
    cluster.settle()
    expect(cluster.answer(large)).toMatchObject({ error: 'RECORD_LIST_TOO_LARGE' })
    expect(cluster.answer(before)).toMatchObject({ error: 'NONE', baseOffset: 0 })
    expect(cluster.answer(after)).toMatchObject({ error: 'NONE', baseOffset: 1 })
  })

  it('INVALID_REQUIRED_ACKS, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER', () => {
    const cluster = new WorkerCluster({
      assignments: [
        [1, 2, 3],
        [2, 3, 1],
      ],
    })
    const bytes = goodBatch(cluster)
    const acks = sendRaw(cluster, bytes, { acks: 2 })
    // The route of a partition that was led here a moment ago.
    const index = partitionIndex(1)
    cluster.board.setRoute(index, cluster.board.leader(partitionIndex(0)), 0)
    const moved = sendRaw(cluster, bytes, { partition: 1 })
    expect(answersOf(cluster)).toEqual([
      [acks, 21],
      [moved, 6],
    ])
    expect(cluster.logEndOffset(1, 1)).toBe(0)
  })

  it('NOT_ENOUGH_REPLICAS: acks=all with the ISR below min.insync.replicas, not acks=1', () => {
    const cluster = new WorkerCluster({ topic: { 'min.insync.replicas': '2' } })
    cluster.frozen.add(2).add(3)
    cluster.until('both left', () => cluster.isr().length === 1)
    cluster.run(20)
    const all = cluster.produce(0, 1)
    const one = cluster.produce(0, 1, 0, 1)
    cluster.settle()
    expect(cluster.answer(all)).toMatchObject({ error: 'NOT_ENOUGH_REPLICAS', baseOffset: -1 })
    expect(cluster.answer(one)).toMatchObject({ error: 'NONE', baseOffset: 0 })
  })

  it('REQUEST_TIMED_OUT: the ISR shrank below the minimum while it waited (KIP-966)', () => {
    const cluster = new WorkerCluster({ topic: { 'min.insync.replicas': '2' } })
    cluster.frozen.add(2).add(3)
    const ticket = cluster.produce(0, 1, 0, -1, 3_000)
    cluster.until('both left', () => cluster.isr().length === 1)
    cluster.until('it is answered', () => cluster.answer(ticket) !== undefined)
    expect(cluster.answer(ticket)).toMatchObject({ error: 'REQUEST_TIMED_OUT' })
    expect([cluster.logEndOffset(1), cluster.highWatermark(1)]).toEqual([1, 0])
  })
})

describe('bytes in the ring', () => {
  it('that earlier batches left where a header comes to lie stop no reader', () => {
    const cluster = new WorkerCluster()
    const ring = cluster.ring(1)
    // Word 8 zero and word 10 not: a half of a 64-bit number that the leader stores there later.
    const pattern = new Int32Array(ring.memory.bytes.buffer)
    for (let word = 0; word < pattern.length; word++) pattern[word] = word % 16 === 8 ? 0 : -7
    const ticket = cluster.produce(0, 3, 100)
    for (const broker of [1, 2, 3, 1]) cluster.step(broker)
    cluster.pollAcks()
    expect(cluster.answer(ticket)).toMatchObject({ error: 'NONE', baseOffset: 0 })
    expect(batchMemory(ring.memory.bytes.buffer).bytes.length).toBe(ring.capacityUnits * 64)
  })

  it('that are gone, because the ring was reset while it was read, hold no follower', () => {
    const cluster = new WorkerCluster({ brokers: 2 })
    cluster.run(50)
    const ring = cluster.ring(1)
    const { published } = ring
    // What a follower sees that loaded the end before the states were cleared.
    ring.publish((published + 10) | 0)
    cluster.step(2)
    ring.publish(published)
    expect(cluster.logEndOffset(2)).toBe(0)
  })
})
