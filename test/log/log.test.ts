/** The log that a program embeds: what it takes, what it gives back, and what it refuses. */
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import type { StandaloneConfigInput } from '../../src/config.ts'
import { batchField } from '../../src/log/batch-layout.ts'
import { crc32c } from '../../src/log/crc32c.ts'
import { Log } from '../../src/log/log.ts'
import type { LogRecord } from '../../src/log/record.ts'
import type { RecordInput } from '../../src/log/record-input.ts'
import { encodeBatch, textRecords } from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const clock = new ManualClock(5_000)

async function open(directory = temporaryDirectory(), config: StandaloneConfigInput = {}) {
  return Log.open(directory, config, { clock })
}

function texts(records: Iterable<LogRecord>): string[] {
  return [...records].map(({ offset, value }) => `${offset}:${Buffer.from(value ?? []).toString()}`)
}

function values(...list: readonly string[]): RecordInput[] {
  return list.map((value) => ({ value }))
}

function thrown(call: () => unknown): unknown {
  try {
    return call()
  } catch (cause) {
    return cause
  }
}

const codeOf = (code: string) => expect.objectContaining({ name: 'TidemarkError', code })

const part = fc.oneof(
  fc.constant(null),
  fc.uint8Array({ maxLength: 200 }),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
)
const anyRecord: fc.Arbitrary<RecordInput> = fc.record(
  {
    key: part,
    value: part,
    timestampMs: fc.oneof(fc.constant(-1), fc.integer({ min: 0, max: 2 ** 40 })),
    headers: fc.array(
      fc.record({ key: fc.string({ unit: 'grapheme', maxLength: 20 }), value: part }),
      {
        maxLength: 3,
      },
    ),
  },
  { requiredKeys: ['value'] },
)

function bytesOf(value: Uint8Array | string | null | undefined): Buffer | null {
  return value === null || value === undefined ? null : Buffer.from(value as string)
}

describe('append and read', () => {
  it('gives back what was appended, whatever the batches', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(anyRecord, { maxLength: 12 }), { maxLength: 6 }),
        fc.constantFrom('none', 'gzip', 'lz4'),
        fc.constantFrom(100, 400, 131_072),
        async (appends, compression, batchSize) => {
          const directory = temporaryDirectory()
          const log = await open(directory, {
            'compression.type': compression as 'none',
            'batch.size': batchSize,
            'segment.bytes': 16_384,
          })
          const expected: unknown[] = []
          for (const records of appends) {
            const before = log.logEndOffset
            const result = log.append(records)
            expect(result).toMatchObject({
              baseOffset: before,
              lastOffset: before + records.length - 1,
            })
            for (const { key, value, timestampMs, headers } of records) {
              expected.push({
                offset: expected.length,
                key: bytesOf(key),
                value: bytesOf(value),
                timestampMs: timestampMs ?? 5_000,
                headers: (headers ?? []).map((each) => ({ ...each, value: bytesOf(each.value) })),
              })
            }
          }
          const read = [...log.records()].map(({ key, value, headers, ...rest }) => ({
            ...rest,
            key: bytesOf(key),
            value: bytesOf(value),
            headers: headers.map((each) => ({ ...each, value: bytesOf(each.value) })),
          }))
          expect(read).toEqual(expected)
          await log.close()
          fs.rmSync(directory, { recursive: true })
        },
      ),
      { numRuns: 60 },
    )
  })

  it('fills batches up to their size, and gives a larger record its own', async () => {
    const log = await open(undefined, { 'batch.size': 300 })
    const result = log.append([...values('a'.repeat(100), 'b'.repeat(100), 'c'.repeat(500), 'd')])
    expect(result).toMatchObject({ batchCount: 3, baseOffset: 0, lastOffset: 3 })
    const batches = [...log.batches()]
    expect(batches.map(({ baseOffset, lastOffset }) => [baseOffset, lastOffset])).toEqual([
      [0, 1],
      [2, 2],
      [3, 3],
    ])
    expect(result.sizeBytes).toBe(log.sizeBytes)
    expect(batches.map(({ sizeBytes, bytes }) => sizeBytes - bytes.length)).toEqual([0, 0, 0])
  })

  it('reads batches that are larger than what an iterator reads at once', async () => {
    const log = await open()
    const large = 'x'.repeat(700_000)
    log.append(values('a', large, 'b'))
    log.append(values(large, 'c'))
    expect([...log.records()].map(({ value }) => value!.length)).toEqual([1, 7e5, 1, 7e5, 1])
  })

  it('no records are nothing', async () => {
    const log = await open()
    const nothing = {
      baseOffset: 0,
      lastOffset: -1,
      batchCount: 0,
      sizeBytes: 0,
      isDuplicate: false,
    }
    expect(log.append([])).toEqual(nothing)
    expect(log.appendBatches(new Uint8Array(0))).toEqual(nothing)
  })

  it('what was read stays good while more is read and appended', async () => {
    const log = await open()
    const expected: string[] = []
    for (let at = 0; at < 40; at += 1) {
      log.append(values(`${at}`.repeat(5_000), `${at}`))
      expected.push(`${2 * at}:${`${at}`.repeat(5_000)}`, `${2 * at + 1}:${at}`)
    }
    const kept = [...log.records()]
    log.append(values('z'.repeat(100_000)))
    expect(texts(kept)).toEqual(expected)
  })
})

describe('where reading begins and ends', () => {
  const filled = async (): Promise<Log> => {
    const log = await open()
    for (let at = 0; at < 4; at += 1) {
      const timestampMs = 1_000 * at
      log.append([
        { value: `a${at}`, timestampMs },
        { value: `b${at}`, timestampMs: timestampMs + 1 },
      ])
    }
    return log
  }

  it('within a batch at both ends', async () => {
    const log = await filled()
    expect(texts(log.records({ fromOffset: 3, toOffset: 5 }))).toEqual(['3:b1', '4:a2'])
    expect([...log.batches({ fromOffset: 3, toOffset: 5 })].map((each) => each.baseOffset)).toEqual(
      [2, 4],
    )
    expect(texts(log.records({ fromOffset: 8 }))).toEqual([])
    expect(texts(log.records({ fromOffset: 7, toOffset: 100 }))).toEqual(['7:b3'])
    expect(texts(log.records({ toOffset: 0 }))).toEqual([])
  })

  it('at a time', async () => {
    const log = await filled()
    expect(texts(log.records({ fromTimestamp: 2_001 }))[0]).toBe('5:b2')
    expect(texts(log.records({ fromTimestamp: 9_000 }))).toEqual([])
    expect(log.offsetForTimestamp(2_001)).toEqual({ offset: 5, timestampMs: 2_001, leaderEpoch: 0 })
    expect(log.offsetForTimestamp(9_000)).toBeUndefined()
    expect(log.maxTimestampOffset()).toMatchObject({ offset: 7, timestampMs: 3_001 })
  })

  it('at the end as it was when asked', async () => {
    const log = await filled()
    const records = log.records({ fromOffset: 6 })
    log.append(values('more'))
    expect(texts(records)).toEqual(['6:a3', '7:b3'])
  })

  it.each([
    ['below the start', { fromOffset: 1 }, 'OFFSET_OUT_OF_RANGE'],
    ['beyond the end', { fromOffset: 9 }, 'OFFSET_OUT_OF_RANGE'],
    ['a fraction', { fromOffset: 2.5 }, 'INVALID_ARGUMENT'],
    ['a text', { fromOffset: '3' as unknown as number }, 'INVALID_ARGUMENT'],
    ['an end below zero', { toOffset: -1 }, 'INVALID_ARGUMENT'],
    ['no time', { fromTimestamp: Number.NaN }, 'INVALID_ARGUMENT'],
    ['two beginnings', { fromOffset: 3, fromTimestamp: 1 }, 'INVALID_ARGUMENT'],
  ])('refuses %s at once', async (_, options, code) => {
    const log = await filled()
    log.deleteRecordsBefore(2)
    expect(() => log.records(options)).toThrow(codeOf(code))
    expect(() => log.batches(options)).toThrow(codeOf(code))
    if (!('toOffset' in options)) expect(() => log.follow(options)).toThrow(codeOf(code))
  })

  it('a truncation while reading ends it, and what was read ahead is not shown', async () => {
    const log = await filled()
    const records = log.records()
    expect(texts([records.next().value as LogRecord])).toEqual(['0:a0'])
    log.truncateTo(4)
    log.append(values('new'))
    // The batch it is in, then what the log holds now.
    expect(texts(records)).toEqual(['1:b0', '2:a1', '3:b1', '4:new'])
    const more = log.records()
    more.next()
    more.next()
    more.next()
    log.truncateTo(0)
    more.next()
    expect(() => more.next()).toThrow(codeOf('OFFSET_OUT_OF_RANGE'))
  })
})

describe('bad input leaves nothing behind', () => {
  const good = values('a'.repeat(200), 'b'.repeat(200))
  it.each<[string, unknown, string, string]>([
    ['no list', 'records', 'INVALID_ARGUMENT', 'records'],
    ['no object', [...good, 7], 'INVALID_RECORD', 'record 2'],
    ['null', [null], 'INVALID_RECORD', 'record 0'],
    ['no value', [...good, { key: 'k' }], 'INVALID_RECORD', 'record 2: value'],
    ['a number as a value', [...good, { value: 7 }], 'INVALID_RECORD', 'record 2: value'],
    ['a number as a key', [...good, { key: 7, value: 'v' }], 'INVALID_RECORD', 'record 2: key'],
    ['no time', [{ value: 'v', timestampMs: Number.NaN }], 'INVALID_RECORD', 'record 0: timestamp'],
    ['a time beyond', [{ value: 'v', timestampMs: 2 ** 52 }], 'INVALID_RECORD', 'timestamp'],
    ['a text as a time', [{ value: 'v', timestampMs: '5' }], 'INVALID_RECORD', 'timestamp'],
    ['headers as an object', [...good, { value: 'v', headers: {} }], 'INVALID_RECORD', 'record 2'],
    [
      'a header without a key',
      [{ value: 'v', headers: [{ value: 'x' }] }],
      'INVALID_RECORD',
      'head',
    ],
    ['a header that is null', [{ value: 'v', headers: [null] }], 'INVALID_RECORD', 'header'],
    ['a large record', [...good, { value: 'x'.repeat(1_100) }], 'RECORD_TOO_LARGE', '1000'],
  ])('%s', async (_, records, code, text) => {
    const log = await open(undefined, { 'batch.size': 300, 'max.message.bytes': 1_000 })
    log.append(values('first'))
    const before = log.describe()
    const error = thrown(() => log.append(records as RecordInput[]))
    expect(error).toEqual(codeOf(code))
    expect(String(error)).toContain(text)
    expect(log.describe()).toEqual(before)
    log.append(values('next'))
    expect(texts(log.records())).toEqual(['0:first', '1:next'])
  })

  it('a batch that is no batch', async () => {
    const log = await open()
    const batch = Buffer.from(encodeBatch(textRecords(3, 'r')).bytes)
    const flipped = Buffer.from(batch)
    flipped[batch.length - 2]! ^= 4
    const gap = Buffer.from(batch)
    gap.writeInt32BE(5, batchField.lastOffsetDelta)
    gap.writeUInt32BE(crc32c(gap, batchField.attributes, gap.length), batchField.crc)
    const two = (second: Buffer) => Buffer.concat([batch, second])
    for (const [bytes, code, detail] of [
      [two(flipped), 'CORRUPT_MESSAGE', `position ${batch.length}: crc`],
      [two(batch.subarray(0, 50)), 'CORRUPT_MESSAGE', `position ${batch.length}: header-cut`],
      [two(batch.subarray(0, 70)), 'CORRUPT_MESSAGE', `position ${batch.length}: bytes-cut`],
      [two(gap), 'INVALID_RECORD', `position ${batch.length}: 3 records for 6 offsets`],
      [Buffer.alloc(100), 'CORRUPT_MESSAGE', 'position 0'],
      ['bytes' as unknown as Buffer, 'INVALID_ARGUMENT', 'bytes'],
    ] as const) {
      const error = thrown(() => log.appendBatches(bytes))
      expect(error).toEqual(codeOf(code))
      expect(String(error)).toContain(detail)
    }
    expect(log.logEndOffset).toBe(0)
    log.appendBatches(two(Buffer.from(batch)))
    expect(log.logEndOffset).toBe(6)
  })

  it('an epoch below the latest', async () => {
    const log = await open()
    log.append(values('a'), { leaderEpoch: 4 })
    log.append(values('b'))
    expect([...log.batches()].map(({ leaderEpoch }) => leaderEpoch)).toEqual([4, 4])
    expect(() => log.append(values('c'), { leaderEpoch: 3 })).toThrow(codeOf('FENCED_LEADER_EPOCH'))
    expect(log.logEndOffset).toBe(2)
  })

  it.each([
    ['an unknown setting', { 'segment.size': 1 }, 'segment.size'],
    ['a setting of topics alone', { 'min.insync.replicas': 1 }, 'min.insync.replicas'],
    ['a value out of range', { 'segment.bytes': 10 }, 'segment.bytes = 10'],
    ['an unknown codec', { 'compression.type': 'brotli' }, 'compression.type'],
  ])('%s', async (_, config, text) => {
    const directory = path.join(temporaryDirectory(), 'log')
    const opening = open(directory, config as StandaloneConfigInput)
    await expect(opening).rejects.toEqual(codeOf('INVALID_CONFIG'))
    await expect(opening).rejects.toThrow(text)
    expect(fs.existsSync(directory)).toBe(false)
  })
})

describe('batches of another log', () => {
  it('keep their records and get offsets and epoch of this one', async () => {
    const from = await open(undefined, { 'compression.type': 'gzip', 'batch.size': 500 })
    from.append(values(...Array.from({ length: 50 }, (_, at) => `value ${at}`)))
    const to = await open()
    to.append(values('first'), { leaderEpoch: 2 })
    for (const { bytes } of from.batches()) to.appendBatches(bytes.slice())
    expect(texts(to.records({ fromOffset: 1 }))).toEqual(
      texts(from.records()).map((text, at) => `${at + 1}:${text.split(':')[1]}`),
    )
    expect([...to.batches()].at(-1)).toMatchObject({ leaderEpoch: 2, compression: 'gzip' })
  })
})
