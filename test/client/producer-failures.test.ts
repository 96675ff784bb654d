import { describe, expect, it } from 'vitest'
import type { ProducerOptions } from '../../src/client/producer-options.ts'
import type { SendRecord } from '../../src/client/producer-record.ts'
import type { ErrorCode } from '../../src/errors.ts'
import { outcomeOf, ProducerFixture } from './leader-stub.ts'

const record = (value: string, partition = 0): SendRecord => ({ topic: 't', partition, value })

describe('a refused batch', () => {
  it.each<ErrorCode>(['NOT_LEADER_OR_FOLLOWER', 'NOT_ENOUGH_REPLICAS'])(
    'is sent again after %s, a moment later',
    async (error) => {
      const fixture = new ProducerFixture()
      const answer = outcomeOf(fixture.producer().send(record('a')))
      await fixture.pass(1)
      fixture.leader.answer(fixture.leader.take()[0], error)
      await fixture.pass(5)
      expect([answer.value, fixture.leader.take()]).toEqual([undefined, []])
      expect((await fixture.answerAll()).map(({ values }) => values)).toEqual([['a']])
      expect(answer.value).toMatchObject({ offset: 0 })
    },
  )

  it.each<ErrorCode>([
    'REQUEST_TIMED_OUT',
    'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
    'KAFKA_STORAGE_ERROR',
    'CORRUPT_MESSAGE',
    'RECORD_TOO_LARGE',
  ])('is not sent again after %s: it may be in the log, or never will', async (error) => {
    const fixture = new ProducerFixture()
    const answer = outcomeOf(fixture.producer().send(record('a')))
    await fixture.pass(1)
    fixture.leader.answer(fixture.leader.take()[0], error)
    await fixture.pass(1_000)
    expect([answer.value, fixture.leader.take()]).toEqual([error, []])
  })

  it('goes to the new leader', async () => {
    const fixture = new ProducerFixture()
    const answer = outcomeOf(fixture.producer().send(record('a')))
    await fixture.pass(1)
    fixture.other.lead(0)
    fixture.leader.answer(fixture.leader.take()[0], 'NOT_LEADER_OR_FOLLOWER')
    await fixture.pass(100)
    fixture.other.answer(fixture.other.take()[0])
    await fixture.pass(100)
    expect(answer.value).toMatchObject({ offset: 0 })
    expect(fixture.leader.take()).toEqual([])
  })

  it('is not sent again if the leader that leads no more had appended it', async () => {
    const fixture = new ProducerFixture()
    const answer = outcomeOf(fixture.producer().send(record('a')))
    await fixture.pass(1)
    fixture.other.lead(0)
    fixture.leader.answer(fixture.leader.take()[0], 'NOT_LEADER_OR_FOLLOWER', 7)
    await fixture.pass(100)
    expect(answer.value).toBe('NETWORK_EXCEPTION')
    expect(fixture.other.take()).toEqual([])
  })

  it('keeps its place: all were refused, and all arrive in the order of send', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ batchBytes: 100 })
    const sent = ['a', 'b', 'c', 'd', 'e', 'f'].map((value) => value.repeat(60))
    for (const value of sent) outcomeOf(producer.send(record(value)))
    await fixture.pass(1)
    const refused = fixture.leader.take()
    expect(refused).toHaveLength(6)
    for (const batch of refused) fixture.leader.answer(batch, 'NOT_ENOUGH_REPLICAS')
    await fixture.pass(1)
    outcomeOf(producer.send(record('later')))
    const arrived = (await fixture.answerAll()).flatMap(({ values }) => values)
    expect(arrived).toEqual([...sent, 'later'])
  })

  it('fails with its last error when delivery.timeout is over', async () => {
    const fixture = new ProducerFixture()
    const answer = outcomeOf(fixture.producer({ deliveryTimeoutMs: 200 }).send(record('a')))
    let attempts = 0
    for (let ms = 0; ms < 400 && answer.value === undefined; ms += 5) {
      await fixture.pass(5)
      for (const batch of fixture.leader.take()) {
        attempts++
        fixture.leader.answer(batch, 'NOT_ENOUGH_REPLICAS')
      }
    }
    expect(['NOT_ENOUGH_REPLICAS', 'REQUEST_TIMED_OUT']).toContain(answer.value)
    expect(attempts).toBeGreaterThan(5)
  })

  it('takes no new records with it into its own time-out', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ deliveryTimeoutMs: 100 })
    const old = outcomeOf(producer.send(record('old')))
    await fixture.pass(85)
    fixture.leader.answer(fixture.leader.take()[0], 'NOT_ENOUGH_REPLICAS')
    await fixture.pass(5)
    const fresh = outcomeOf(producer.send(record('fresh')))
    await fixture.pass(40)
    for (const batch of fixture.leader.take()) fixture.leader.answer(batch)
    await fixture.answerAll()
    expect(old.value).toBe('REQUEST_TIMED_OUT')
    expect(fresh.value).toMatchObject({ partition: 0 })
  })
})

describe('a leader that cannot take more', () => {
  it('is waited for without loss and in order', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ batchBytes: 16_384 })
    const sent = Array.from({ length: 100 }, (_, at) => `${at}`.padEnd(8_000, '.'))
    const answers = sent.map((value) => producer.send(record(value)))
    await fixture.pass(50)
    // The ring holds 256 KiB; what did not fit waits here.
    expect(fixture.ring.outstanding).toBeLessThan(33)
    expect((await fixture.answerAll()).flatMap(({ values }) => values)).toEqual(sent)
    expect((await Promise.all(answers)).map(({ offset }) => offset)).toEqual([...sent.keys()])
  })

  it('fails what was never handed over when delivery.timeout is over', async () => {
    const fixture = new ProducerFixture()
    fixture.leader.ring.close()
    const answer = outcomeOf(fixture.producer({ deliveryTimeoutMs: 200 }).send(record('a')))
    await fixture.pass(190)
    expect(answer.value).toBeUndefined()
    await fixture.pass(20)
    expect(answer.value).toBe('REQUEST_TIMED_OUT')
  })

  it('and dies leaves the outcome unknown: nothing is sent twice', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer()
    const lost = outcomeOf(producer.send(record('a')))
    await fixture.pass(1)
    expect(fixture.leader.take()).toHaveLength(1)
    fixture.leader.dieAndReturn()
    const next = outcomeOf(producer.send(record('b')))
    const arrived = (await fixture.answerAll()).flatMap(({ values }) => values)
    expect(arrived).toEqual(['b'])
    expect(lost.value).toBe('NETWORK_EXCEPTION')
    expect(next.value).toMatchObject({ offset: 0 })
  })

  it('does not hold up the partitions of others', async () => {
    const fixture = new ProducerFixture()
    fixture.other.lead(1)
    fixture.leader.ring.close()
    const producer = fixture.producer()
    outcomeOf(producer.send(record('stuck', 0)))
    const free = outcomeOf(producer.send(record('free', 1)))
    await fixture.pass(5)
    fixture.other.answer(fixture.other.take()[0])
    await fixture.pass(5)
    expect(free.value).toMatchObject({ partition: 1, offset: 0 })
  })
})

describe('bufferBytes', () => {
  it('make send wait, in order, until answers make room', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ bufferBytes: 5_000, batchBytes: 1_000 })
    const sent = Array.from({ length: 50 }, (_, at) => `${at}`.padEnd(500, '.'))
    const answers = sent.map((value) => outcomeOf(producer.send(record(value))))
    await fixture.pass(20)
    const first = fixture.leader.take()
    const handedOver = first.reduce((sum, { records }) => sum + records.length, 0)
    expect(handedOver).toBeGreaterThanOrEqual(8)
    expect(handedOver).toBeLessThanOrEqual(11)
    for (const batch of first) fixture.leader.answer(batch)
    fixture.leader.reclaim()
    const rest = await fixture.answerAll()
    expect([...first, ...rest].flatMap(({ values }) => values)).toEqual(sent)
    expect(answers.map(({ value }) => (value as { offset: number }).offset)).toEqual([
      ...sent.keys(),
    ])
  })

  it('are given back by failures too', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ bufferBytes: 1, batchBytes: 1 })
    for (let round = 0; round < 5; round++) {
      const answer = outcomeOf(producer.send(record('a')))
      await fixture.pass(5)
      for (const batch of fixture.leader.take()) fixture.leader.answer(batch, 'CORRUPT_MESSAGE')
      await fixture.pass(5)
      expect(answer.value).toBe('CORRUPT_MESSAGE')
    }
  })
})

describe('flush', () => {
  it('sends what lingers and waits for the answers', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ lingerMs: 60_000 })
    outcomeOf(producer.send(record('a')))
    const flushed = outcomeOf(producer.flush())
    await fixture.pass(10)
    const [batch] = fixture.leader.take()
    expect([batch.values, 'value' in flushed]).toEqual([['a'], false])
    fixture.leader.answer(batch)
    await fixture.pass(10)
    expect('value' in flushed).toBe(true)
  })

  it('does not wait for what is sent after it', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ lingerMs: 60_000 })
    outcomeOf(producer.send(record('a')))
    const flushed = outcomeOf(producer.flush())
    await fixture.pass(5)
    outcomeOf(producer.send(record('b')))
    fixture.leader.answer(fixture.leader.take()[0])
    await fixture.pass(20)
    expect('value' in flushed).toBe(true)
    expect(fixture.leader.take()).toEqual([])
  })

  it('is over at once when there is nothing', async () => {
    const fixture = new ProducerFixture()
    await fixture.producer().flush()
  })
})

describe('closing', () => {
  it('waits for everything sent, and refuses more from the first moment', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ lingerMs: 60_000 })
    const before = outcomeOf(producer.send(record('a')))
    const closed = outcomeOf(producer.close())
    const after = outcomeOf(producer.send(record('b')))
    await fixture.answerAll()
    await fixture.pass(10)
    expect([before.value, after.value]).toMatchObject([{ offset: 0 }, 'BROKER_CLOSED'])
    expect('value' in closed).toBe(true)
    await producer.close()
    await expect(producer.send(record('c'))).rejects.toMatchObject({ code: 'BROKER_CLOSED' })
  })

  it('by abort fails what is queued, what is in flight, and what waits for room', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ bufferBytes: 300 })
    const inFlight = outcomeOf(producer.send(record('a'.repeat(200))))
    await fixture.pass(1)
    const queued = outcomeOf(producer.send(record('b')))
    const waiting = outcomeOf(producer.send(record('c')))
    producer.abort()
    await fixture.pass(1)
    const closed = 'BROKER_CLOSED'
    expect([inFlight.value, queued.value, waiting.value]).toEqual([closed, closed, closed])
    // A late answer finds nobody, and does no harm.
    for (const batch of fixture.leader.take()) fixture.leader.answer(batch)
    await fixture.pass(200)
  })

  it('leaves no timer and no listener behind', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer()
    outcomeOf(producer.send(record('a')))
    await fixture.answerAll()
    await fixture.pass(5)
    await producer.close()
    await fixture.pass(1_000)
    expect(fixture.ring.outstanding).toBe(0)
  })
})

describe('bad input', () => {
  const bad = (changes: object) => ({ ...record('x'), ...changes }) as SendRecord

  it.each<[string, SendRecord, ErrorCode, RegExp]>([
    ['an unknown topic', bad({ topic: 'u' }), 'UNKNOWN_TOPIC_OR_PARTITION', /"u"/],
    ['a partition too high', bad({ partition: 4 }), 'UNKNOWN_TOPIC_OR_PARTITION', /4.*0 to 3/],
    ['a partition below 0', bad({ partition: -1 }), 'UNKNOWN_TOPIC_OR_PARTITION', /-1.*0 to 3/],
    ['half a partition', bad({ partition: 0.5 }), 'UNKNOWN_TOPIC_OR_PARTITION', /0\.5.*0 to 3/],
    ['a record too large', bad({ value: 'x'.repeat(70_000) }), 'RECORD_TOO_LARGE', /at most 65\d+/],
    ['no time', bad({ timestampMs: Number.NaN }), 'INVALID_RECORD', /timestamp NaN/],
    ['a time without end', bad({ timestampMs: 1e300 }), 'INVALID_RECORD', /timestamp 1e\+300/],
    ['a number as value', bad({ value: 7 }), 'INVALID_RECORD', /value.*number/],
    ['no value at all', bad({ value: undefined }), 'INVALID_RECORD', /value.*undefined/],
    ['an object as key', bad({ key: {} }), 'INVALID_RECORD', /key.*object/],
    ['a header without key', bad({ headers: [{ value: null }] }), 'INVALID_RECORD', /header/],
    ['a number as header', bad({ headers: [{ key: 'a', value: 5 }] }), 'INVALID_RECORD', /header/],
  ])('%s is refused alone, in one line', async (_, input, code, message) => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer()
    const neighbour = outcomeOf(producer.send(record('good')))
    const error = await producer.send(input).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
    expect((error as Error).message).not.toContain('\n')
    await fixture.answerAll()
    expect(neighbour.value).toMatchObject({ offset: 0 })
  })

  it.each<[object, ErrorCode, RegExp]>([
    [{ acks: 2 }, 'INVALID_REQUIRED_ACKS', /acks = 2: allowed are 0, 1, all/],
    [{ acks: '1' }, 'INVALID_REQUIRED_ACKS', /acks = 1/],
    [{ lingerMs: -1 }, 'INVALID_ARGUMENT', /lingerMs = -1/],
    [{ lingerMs: Number.NaN }, 'INVALID_ARGUMENT', /lingerMs = NaN/],
    [{ lingerMs: 2 ** 31 }, 'INVALID_ARGUMENT', /lingerMs = 2147483648/],
    [{ lingerMs: '5' }, 'INVALID_ARGUMENT', /lingerMs = 5: .*numbers/],
    [{ requestTimeoutMs: Infinity }, 'INVALID_ARGUMENT', /requestTimeoutMs = Infinity/],
    [{ requestTimeoutMs: 0.5 }, 'INVALID_ARGUMENT', /requestTimeoutMs = 0\.5/],
    [{ bufferBytes: 0 }, 'INVALID_ARGUMENT', /bufferBytes = 0/],
    [{ batchBytes: 65_537 }, 'INVALID_ARGUMENT', /batchBytes = 65537: .*at most/],
    [{ compression: 'brotli' }, 'INVALID_ARGUMENT', /compression = brotli: .*none.*lz4/],
    [{ linger: 5 }, 'INVALID_ARGUMENT', /linger.*unknown/],
  ])('options %j', (options, code, message) => {
    const fixture = new ProducerFixture()
    const make = () => fixture.producer(options as ProducerOptions)
    expect(make).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }))
  })

  it('undefined stands for the default', async () => {
    const fixture = new ProducerFixture()
    const options: object = { acks: undefined, lingerMs: undefined, compression: undefined }
    const answer = outcomeOf(fixture.producer(options).send(record('a')))
    await fixture.answerAll()
    expect(answer.value).toMatchObject({ offset: 0 })
  })
})
