import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BatchEncoder } from '../../src/log/batch-encoder.ts'
import {
  checkBatch,
  compressionAt,
  lastOffsetDeltaAt,
  maxTimestampAt,
  recordCountAt,
  sizeInBytesAt,
  stampBatch,
} from '../../src/log/batch-header.ts'
import { type BatchMemory, batchMemory } from '../../src/log/batch-memory.ts'
import { payloadCopies } from '../../src/log/payload-copies.ts'
import {
  batchSizeBound,
  type LogRecord,
  type ProduceRecord,
  uniformBatchSizeBound,
} from '../../src/log/record.ts'
import { readRecords } from '../../src/log/record-reader.ts'
import { encodeBatch, textRecord, textRecords } from '../support/batch-builder.ts'

const bytesOrNull = fc.option(fc.uint8Array({ maxLength: 60 }))
const header = fc.record({ key: fc.string({ maxLength: 8 }), value: bytesOrNull })
const record: fc.Arbitrary<ProduceRecord> = fc.record({
  key: bytesOrNull,
  value: bytesOrNull,
  timestampMs: fc.oneof(
    fc.integer({ min: 1_700_000_000_000, max: 1_700_000_100_000 }),
    fc.integer({ min: -1, max: 2 ** 50 }),
  ),
  headers: fc.array(header, { maxLength: 3 }),
})
const records = fc.array(record, { minLength: 1, maxLength: 40 })

function plain({ key, value, timestampMs, headers }: ProduceRecord | LogRecord) {
  const text = (bytes: Uint8Array | null) =>
    bytes === null ? null : Buffer.from(bytes).toString('hex')
  return {
    key: text(key),
    value: text(value),
    timestampMs,
    headers: (headers ?? []).map((each) => ({ key: each.key, value: text(each.value) })),
  }
}

function memoryOf(bytes: number): BatchMemory {
  return batchMemory(new SharedArrayBuffer(bytes))
}

describe.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const)(
  'with compression %s',
  (compression) => {
    it('records come back as they went in, within the bound', () => {
      fc.assert(
        fc.property(records, (input) => {
          const memory = encodeBatch(input, { compression })
          expect(memory.bytes.length).toBeLessThanOrEqual(batchSizeBound(input))
          expect(sizeInBytesAt(memory, 0)).toBe(memory.bytes.length)
          expect(checkBatch(memory, 0, memory.bytes.length)).toBeUndefined()
          stampBatch(memory, 0, 1_000, 1)
          const output = [...readRecords(memory, 0)]
          expect(output.map(plain)).toEqual(input.map(plain))
          expect(output.map(({ offset }) => offset)).toEqual(input.map((_, at) => 1_000 + at))
          expect(recordCountAt(memory, 0)).toBe(input.length)
          expect(lastOffsetDeltaAt(memory, 0)).toBe(input.length - 1)
          const newest = Math.max(...input.map(({ timestampMs }) => timestampMs))
          expect(maxTimestampAt(memory, 0)).toBe(newest)
        }),
      )
    })
  },
)

describe('room', () => {
  it('is exact: the bound fits, one byte less does not, and then nothing has changed', () => {
    fc.assert(
      fc.property(records, (input) => {
        const bound = batchSizeBound(input)
        expect(encodeBatch(input).bytes.length).toBe(bound)
        const encoder = new BatchEncoder()
        const memory = memoryOf(bound)
        encoder.begin(memory, 0, bound - 1, { compression: 'none' })
        for (const each of input.slice(0, -1)) expect(encoder.tryAppend(each)).toBe(true)
        const before = Buffer.from(memory.bytes).toString('hex')
        expect(encoder.tryAppend(input.at(-1)!)).toBe(false)
        expect(encoder.recordCount).toBe(input.length - 1)
        expect(Buffer.from(memory.bytes).toString('hex')).toBe(before)
        encoder.abandon()
      }),
    )
  })

  it('is kept to at any place in the memory', () => {
    const encoder = new BatchEncoder()
    const memory = memoryOf(1_000)
    memory.bytes.fill(0xaa)
    encoder.begin(memory, 100, 300, { compression: 'none' })
    while (encoder.tryAppend(textRecord('some text'))) expect(encoder.recordCount).toBeLessThan(99)
    const size = encoder.finish()
    expect(size).toBeLessThanOrEqual(300)
    expect(memory.bytes.subarray(0, 100).every((byte) => byte === 0xaa)).toBe(true)
    expect(memory.bytes.subarray(100 + size).every((byte) => byte === 0xaa)).toBe(true)
    expect(checkBatch(memory, 100, size)).toBeUndefined()
  })
})

describe('a batch', () => {
  it('without a record takes no bytes', () => {
    const encoder = new BatchEncoder()
    encoder.begin(memoryOf(100), 0, 100, { compression: 'none' })
    expect(encoder.finish()).toBe(0)
  })

  it('is stored plain where compression makes it no smaller', () => {
    const value = Uint8Array.from({ length: 40 }, (_, at) => (at * 167 + 13) & 0xff)
    const noise = encodeBatch([{ key: null, value, timestampMs: 1 }], { compression: 'lz4' })
    expect(compressionAt(noise, 0)).toBe('none')
    const text = encodeBatch(textRecords(50, 'the same words'), { compression: 'lz4' })
    expect(compressionAt(text, 0)).toBe('lz4')
    expect(text.bytes.length).toBeLessThan(batchSizeBound(textRecords(50, 'the same words')) / 2)
  })

  it('carries producer id, epoch, sequence and flags', () => {
    const options = {
      compression: 'none',
      producerId: 2 ** 40,
      producerEpoch: 3,
      baseSequence: 99,
      transactional: true,
      control: true,
    } as const
    const { view, bytes } = encodeBatch(textRecords(1, 'x'), options)
    expect(view.getBigInt64(43)).toBe(2n ** 40n)
    expect(view.getInt16(51)).toBe(3)
    expect(view.getInt32(53)).toBe(99)
    expect(view.getInt16(21)).toBe(0x30)
    expect(checkBatch({ view, bytes }, 0, bytes.length)).toBeUndefined()
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -(2 ** 52)])(
    'refuses the timestamp %d',
    (timestampMs) => {
      const encoder = new BatchEncoder()
      encoder.begin(memoryOf(200), 0, 200, { compression: 'none' })
      expect(() => encoder.tryAppend(textRecord('x', timestampMs))).toThrow(
        expect.objectContaining({ code: 'INVALID_RECORD' }),
      )
      expect(encoder.recordCount).toBe(0)
    },
  )
})

describe('records that the caller fills', () => {
  it('are the same as those given', () => {
    const encoder = new BatchEncoder()
    const bound = uniformBatchSizeBound(10, 3, 5, 1_000)
    const memory = memoryOf(bound)
    encoder.begin(memory, 0, bound, { compression: 'none' })
    for (let at = 0; at < 10; at += 1) {
      const position = encoder.tryAppendRaw(7_000 + at, 3, 5)
      expect(position).toBeGreaterThan(0)
      Buffer.from(`k-${at}`).copy(encoder.rawBytes, encoder.rawKeyPosition)
      Buffer.from(`val-${at}`).copy(encoder.rawBytes, position)
    }
    expect(encoder.tryAppendRaw(7_010, 3, 5)).toBe(-1)
    const size = encoder.finish()
    const given = Array.from({ length: 10 }, (_, at) => ({
      key: Buffer.from(`k-${at}`),
      value: Buffer.from(`val-${at}`),
      timestampMs: 7_000 + at,
    }))
    expect(Buffer.from(memory.bytes.subarray(0, size))).toEqual(
      Buffer.from(encodeBatch(given).bytes),
    )
  })

  it('may have neither key nor value', () => {
    const encoder = new BatchEncoder()
    const memory = memoryOf(200)
    encoder.begin(memory, 0, 200, { compression: 'none' })
    expect(encoder.tryAppendRaw(1, -1, -1)).toBeGreaterThan(0)
    expect(encoder.tryAppendRaw(1, 0, 0)).toBeGreaterThan(0)
    encoder.finish()
    const lengths = [...readRecords(memory, 0)].map(({ key, value }) => [
      key?.length,
      value?.length,
    ])
    expect(lengths).toEqual([
      [undefined, undefined],
      [0, 0],
    ])
  })
})

describe('payload copies', () => {
  it('count every byte of payload once', () => {
    const input: ProduceRecord[] = [
      { key: Buffer.from('four'), value: Buffer.alloc(100), timestampMs: 1 },
      { key: null, value: null, timestampMs: 1, headers: [{ key: 'ab', value: Buffer.from('c') }] },
    ]
    const before = payloadCopies.bytes
    encodeBatch(input)
    expect(payloadCopies.bytes - before).toBe(4 + 100 + 2 + 1)
  })
})
