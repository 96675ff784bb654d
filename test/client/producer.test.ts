import { describe, expect, it } from 'vitest'
import { murmur2 } from '../../src/client/partitioner.ts'
import type { SendRecord } from '../../src/client/producer-record.ts'
import { outcomeOf, ProducerFixture, type TakenBatch } from './leader-stub.ts'

const record = (value: string, partition = 0): SendRecord => ({ topic: 't', partition, value })
const valuesOf = (batches: readonly TakenBatch[]) => batches.flatMap(({ values }) => values)

describe('where a record goes', () => {
  it('by its key as with Apache Kafka, without one in turn', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ acks: 0 })
    const keyed = producer.send({ topic: 't', key: 'foobar', value: 'x' })
    const turns = ['a', 'b', 'c', 'd', 'e'].map((value) => producer.send({ topic: 't', value }))
    await fixture.pass(1)
    expect((await keyed).partition).toBe((murmur2(Buffer.from('foobar')) & 0x7fff_ffff) % 4)
    const partitions = (await Promise.all(turns)).map(({ partition }) => partition)
    expect(partitions).toEqual([0, 1, 2, 3, 0])
  })

  it('carries key, value, headers and time, null and empty told apart', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ acks: 0 })
    const headers = [
      { key: 'trace', value: Buffer.from('id-1') },
      { key: 'none', value: null },
    ]
    outcomeOf(producer.send({ ...record('v'), key: 'k', headers, timestampMs: 1_234.9 }))
    outcomeOf(producer.send({ topic: 't', partition: 0, key: null, value: null, timestampMs: -1 }))
    outcomeOf(producer.send({ topic: 't', partition: 0, key: '', value: '' }))
    await fixture.pass(1)
    const [{ records }] = fixture.leader.take()
    expect(records.map(({ key, value, timestampMs }) => [key, value, timestampMs])).toEqual([
      [Buffer.from('k'), Buffer.from('v'), 1_234].map(plain),
      [null, null, -1],
      [Buffer.from(''), Buffer.from(''), Date.now() - 1].map(plain),
    ])
    expect(records[0].headers.map(({ key, value }) => [key, plain(value)])).toEqual([
      ['trace', plain(Buffer.from('id-1'))],
      ['none', null],
    ])
  })

  it('answers with the record’s own offset in the batch', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer()
    const first = producer.send(record('a'))
    await fixture.answerAll()
    const more = [producer.send(record('b')), producer.send({ ...record('c'), timestampMs: 77 })]
    await fixture.answerAll()
    expect(await first).toMatchObject({ topic: 't', partition: 0, offset: 0 })
    expect(await Promise.all(more)).toMatchObject([{ offset: 1 }, { offset: 2, timestampMs: 77 }])
  })
})

describe('batches', () => {
  it('hold what was sent in one turn of the event loop when there is no linger', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ acks: 0 })
    for (const value of ['a', 'b', 'c']) outcomeOf(producer.send(record(value)))
    await fixture.pass(1)
    outcomeOf(producer.send(record('d')))
    await fixture.pass(1)
    expect(fixture.leader.take().map(({ values }) => values)).toEqual([['a', 'b', 'c'], ['d']])
  })

  it('wait for more as long as linger says, and no longer', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ acks: 0, lingerMs: 50 })
    outcomeOf(producer.send(record('a')))
    await fixture.pass(30)
    outcomeOf(producer.send(record('b')))
    await fixture.pass(18)
    expect(fixture.leader.take()).toEqual([])
    await fixture.pass(4)
    expect(fixture.leader.take().map(({ values }) => values)).toEqual([['a', 'b']])
  })

  it('leave when they are full, linger or not, and never hold more than batchBytes', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ acks: 0, lingerMs: 60_000, batchBytes: 1_000 })
    for (let at = 0; at < 60; at++) outcomeOf(producer.send(record(`value-${at}`.padEnd(20, '.'))))
    await fixture.pass(1)
    const batches = fixture.leader.take()
    expect(batches.length).toBeGreaterThan(0)
    for (const { bytes } of batches) expect(bytes).toBeLessThanOrEqual(1_000)
  })

  it('are as full as batchBytes lets them be, with small records too', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ acks: 0, lingerMs: 60_000, batchBytes: 4_096 })
    for (let at = 0; at < 1_000; at++) outcomeOf(producer.send(record('0123456789')))
    await fixture.pass(1)
    for (const { bytes } of fixture.leader.take()) expect(bytes).toBeGreaterThan(4_096 * 0.95)
  })

  it('take one record that is larger than batchBytes', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ acks: 0, batchBytes: 100 })
    outcomeOf(producer.send(record('x'.repeat(5_000))))
    outcomeOf(producer.send(record('y')))
    await fixture.pass(1)
    expect(fixture.leader.take().map(({ records }) => records.length)).toEqual([1, 1])
  })

  it('keep the order of a partition over many batches', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ batchBytes: 300 })
    const sent = Array.from({ length: 200 }, (_, at) => `v${at}`)
    const answers = sent.map((value) => producer.send(record(value)))
    expect(valuesOf(await fixture.answerAll())).toEqual(sent)
    const offsets = (await Promise.all(answers)).map(({ offset }) => offset)
    expect(offsets).toEqual(sent.map((_, at) => at))
  })

  it('are compressed with LZ4 when asked, and stored plainly when that does not help', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ acks: 0, compression: 'lz4' })
    outcomeOf(producer.send(record('again and '.repeat(500))))
    await fixture.pass(1)
    outcomeOf(producer.send(record('q')))
    await fixture.pass(1)
    const [long, short] = fixture.leader.take()
    expect(long.compression).toBe('lz4')
    expect(long.bytes).toBeLessThan(1_000)
    expect(long.values).toEqual(['again and '.repeat(500)])
    expect([short.compression, short.values]).toEqual(['none', ['q']])
  })

  it('carry times that lie far apart', async () => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ acks: 0 })
    const times = [0, 2 ** 50, -(2 ** 50), 5]
    for (const timestampMs of times) outcomeOf(producer.send({ ...record('x'), timestampMs }))
    await fixture.pass(1)
    const records = fixture.leader.take().flatMap((batch) => batch.records)
    expect(records.map(({ timestampMs }) => timestampMs)).toEqual(times)
  })
})

describe('acks', () => {
  it.each([
    ['all', -1],
    [1, 1],
    [0, 0],
  ] as const)('%s reaches the leader as %i', async (acks, word) => {
    const fixture = new ProducerFixture()
    const producer = fixture.producer({ acks, requestTimeoutMs: 4_321 })
    const answer = outcomeOf(producer.send(record('a')))
    await fixture.pass(1)
    const [batch] = fixture.leader.take()
    expect([batch.acks, batch.timeoutMs]).toEqual([word, 4_321])
    // Without acknowledgement it is over when it was handed over, and the offset is not known.
    if (acks === 0) expect(answer.value).toMatchObject({ offset: -1 })
    else {
      expect(answer.value).toBeUndefined()
      fixture.leader.answer(batch)
      await fixture.answerAll()
      expect(answer.value).toMatchObject({ offset: 0 })
    }
  })

  it('of one producer do not reach another that shares the ring', async () => {
    const fixture = new ProducerFixture()
    const [first, second] = [fixture.producer(), fixture.producer()]
    const answers = [outcomeOf(first.send(record('a'))), outcomeOf(second.send(record('b')))]
    await fixture.pass(1)
    const [a, b] = fixture.leader.take()
    fixture.leader.answer(b, 'CORRUPT_MESSAGE')
    fixture.leader.answer(a)
    await fixture.pass(2)
    expect(answers[0].value).toMatchObject({ offset: 0 })
    expect(answers[1].value).toBe('CORRUPT_MESSAGE')
  })
})

/** Buffers compare by content, whatever memory they lie in. */
function plain(value: unknown): unknown {
  return value instanceof Uint8Array ? new Uint8Array(value) : value
}
