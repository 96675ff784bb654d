import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { partitionIndex } from '../../src/ids.ts'
import { SyntheticSource } from '../../src/lab/batch-source.ts'
import { LoadGenerator, type LoadGeneratorParts } from '../../src/lab/load-generator.ts'
import { allocateLoadLedger, LoadLedger, ledgerStatus } from '../../src/lab/load-ledger.ts'
import { ConstantSchedule } from '../../src/lab/rate-schedule.ts'
import { allocateClusterMemory } from '../../src/workers/cluster-memory.ts'
import { RingProducer } from '../../src/workers/ring-producer.ts'
import { LeaderStub, type TakenBatch } from '../client/leader-stub.ts'

const startMs = 1_000_000

/**
 * A generator over real rings, whose two leaders the test plays: 1 has partitions 0 and 2, 2 has 1
 * and 3.
 */
class Fixture {
  readonly memory = allocateClusterMemory({
    brokers: 2,
    partitionsMax: 4,
    ringBytes: 256 * 1024,
    originMs: 0,
  })
  readonly clock = new ManualClock(startMs)
  readonly ledger = new LoadLedger(allocateLoadLedger(500))
  readonly leaders = [
    new LeaderStub(this.memory, 1).lead(0, 2),
    new LeaderStub(this.memory, 2).lead(1, 3),
  ]
  readonly generator: LoadGenerator

  constructor(parts: Partial<LoadGeneratorParts> = {}) {
    this.generator = new LoadGenerator({
      producer: new RingProducer(this.memory, 1),
      partitions: [0, 1, 2, 3].map(partitionIndex),
      source: new SyntheticSource(100, 1_000, 7, 0),
      ledger: this.ledger,
      clock: this.clock,
      // One batch every ten milliseconds.
      schedule: new ConstantSchedule(100),
      claimBytes: 1_000,
      compression: 'none',
      acks: -1,
      requestTimeoutMs: 1_000,
      inFlightBytesMax: 1_000_000,
      roundBytesMax: Number.MAX_SAFE_INTEGER,
      ...parts,
    })
    this.generator.start()
  }

  /** Time passes in steps of a millisecond; leaders that are named answer at once. */
  pass(ms: number, answering: readonly number[] = [0, 1]): TakenBatch[] {
    const taken: TakenBatch[] = []
    for (let at = 0; at < ms; at++) {
      this.clock.advance(1)
      this.generator.send()
      for (const leader of answering) taken.push(...this.answer(leader))
      this.generator.poll()
    }
    return taken
  }

  answer(leader: number): TakenBatch[] {
    const taken = this.leaders[leader].take()
    for (const batch of taken) this.leaders[leader].answer(batch)
    this.leaders[leader].reclaim()
    return taken
  }

  rows() {
    const { ledger } = this
    return Array.from({ length: ledger.count }, (_, row) => ({
      partition: ledger.partition[row],
      intended: ledger.intendedMs[row] - startMs,
      late: ledger.sentMs[row] - ledger.intendedMs[row],
      latency: ledger.answeredMs[row] - ledger.intendedMs[row],
      status: ledger.status[row],
    }))
  }
}

describe('an open loop', () => {
  it('sends by its schedule, one partition after the other', () => {
    const fixture = new Fixture()
    const taken = fixture.pass(100)
    const partitions = fixture.rows().map(({ partition }) => partition)
    expect(partitions).toEqual(partitions.map((_, at) => at % 4))
    expect(fixture.ledger.count).toBeGreaterThanOrEqual(10)
    for (const { late, status } of fixture.rows()) {
      expect(late).toBeLessThanOrEqual(1)
      expect(status).toBe(ledgerStatus.acknowledged)
    }
    const numbers = taken.flatMap(({ records }) => records.map(({ value }) => value!.join()))
    expect(new Set(numbers).size).toBe(numbers.length)
  })

  it('counts latency from the intended time when it was held up', () => {
    const fixture = new Fixture()
    for (const { ring } of fixture.leaders) ring.close()
    fixture.pass(500)
    expect(fixture.ledger.count).toBe(0)
    for (const leader of fixture.leaders) leader.dieAndReturn()
    fixture.pass(50)
    const held = fixture.rows().filter(({ intended }) => intended < 500)
    expect(held.length).toBeGreaterThanOrEqual(49)
    // The first waited half a second, though it was sent and answered at once after that.
    expect(held[0].latency).toBeGreaterThanOrEqual(490)
    for (const { intended, latency } of held) expect(latency).toBeGreaterThanOrEqual(500 - intended)
    // Nothing was left out and nothing sent twice.
    const intended = fixture.rows().map((row) => row.intended)
    expect(
      intended.sort((a, b) => a - b).every((ms, at) => at === 0 || ms - intended[at - 1] === 10),
    ).toBe(true)
  })

  it('does not let one leader that stands hold up the others', () => {
    const fixture = new Fixture()
    fixture.leaders[0].ring.close()
    fixture.pass(400)
    const rows = fixture.rows()
    expect(rows.length).toBeGreaterThanOrEqual(19)
    for (const { partition, late } of rows) {
      expect(partition % 2).toBe(1)
      expect(late).toBeLessThanOrEqual(1)
    }
    expect(fixture.generator.idleMs()).toBe(1)
  })

  it('begins a round without what another left undone', () => {
    const fixture = new Fixture()
    fixture.leaders[0].ring.close()
    fixture.pass(100)
    fixture.leaders[0].dieAndReturn()
    const before = fixture.ledger.count
    fixture.generator.start()
    fixture.pass(40)
    for (const { late } of fixture.rows().slice(before)) expect(late).toBeLessThanOrEqual(1)
  })
})

describe('a closed loop', () => {
  const closed = { schedule: undefined, inFlightBytesMax: 5_000 }

  it('has no more unanswered than it may, and goes on with every answer', () => {
    const fixture = new Fixture(closed)
    fixture.pass(20, [])
    const inFlight = fixture.ledger.count
    expect(inFlight).toBeGreaterThanOrEqual(5)
    expect(inFlight).toBeLessThanOrEqual(7)
    fixture.answer(0)
    fixture.pass(1, [])
    fixture.pass(1, [])
    expect(fixture.ledger.count).toBeGreaterThan(inFlight)
  })

  it('ends a round after its bytes, and the run with the ledger', () => {
    const fixture = new Fixture({ ...closed, roundBytesMax: 20_000 })
    fixture.pass(200)
    expect(fixture.generator.isFinished).toBe(true)
    expect(fixture.ledger.count).toBeLessThan(30)
    for (let round = 0; round < 50; round++) {
      fixture.generator.start()
      fixture.pass(50)
    }
    expect(fixture.ledger.count).toBe(500)
    expect(fixture.generator.send()).toBe(0)
  })
})

describe('answers', () => {
  it.each([
    ['NONE', ledgerStatus.acknowledged],
    ['REQUEST_TIMED_OUT', ledgerStatus.unknown],
    ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', ledgerStatus.unknown],
    ['NOT_ENOUGH_REPLICAS', ledgerStatus.refused],
    ['NOT_LEADER_OR_FOLLOWER', ledgerStatus.refused],
    ['KAFKA_STORAGE_ERROR', ledgerStatus.refused],
  ] as const)('%s', (error, status) => {
    const fixture = new Fixture()
    fixture.pass(1, [])
    const [batch] = fixture.leaders[0].take()
    fixture.leaders[0].answer(batch, error)
    fixture.generator.poll()
    expect(fixture.ledger.status[0]).toBe(status)
    expect(fixture.ledger.baseOffset[0]).toBe(error === 'NONE' ? 0 : -1)
    expect(fixture.ledger.answeredCount).toBe(1)
    expect(fixture.generator.failure === undefined).toBe(error !== 'KAFKA_STORAGE_ERROR')
  })

  it('of a leader that died are unknown', () => {
    const fixture = new Fixture()
    fixture.pass(1, [])
    fixture.leaders[0].dieAndReturn()
    fixture.generator.poll()
    expect(fixture.ledger.status[0]).toBe(ledgerStatus.unknown)
    expect(fixture.generator.outstanding).toBe(0)
  })

  it('do not come with acks 0: what was sent is unknown', () => {
    const fixture = new Fixture({ acks: 0 })
    fixture.pass(50)
    for (const { status } of fixture.rows()) expect(status).toBe(ledgerStatus.unknown)
    expect(fixture.generator.outstanding).toBe(0)
  })
})
