import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lookupOffsetIndex, OffsetIndex } from '../../src/log/offset-index.ts'
import { TimeIndex } from '../../src/log/time-index.ts'

const steps = fc.array(
  fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 9_000 })),
  {
    maxLength: 60,
  },
)

function ascending(given: readonly (readonly [number, number])[]): [number, number][] {
  let offset = 0
  let position = 0
  return given.map(([offsetStep, positionStep]) => {
    offset += offsetStep
    position += positionStep
    return [offset, position]
  })
}

describe('OffsetIndex', () => {
  it('is written as Kafka writes it', () => {
    const index = new OffsetIndex()
    index.append(9, 4_100)
    index.append(300, 70_000)
    expect(Buffer.from(index.encode(0)).toString('hex')).toBe('00000009000010040000012c00011170')
    expect(Buffer.from(index.encode(1)).toString('hex')).toBe('0000012c00011170')
    expect(index.encode(2)).toHaveLength(0)
  })

  it('finds the greatest entry at or below, in memory and in the file', () => {
    fc.assert(
      fc.property(steps, fc.nat(3_200), (given, offset) => {
        const entries = ascending(given)
        const index = new OffsetIndex()
        for (const [relativeOffset, position] of entries) index.append(relativeOffset, position)
        const expected = entries.findLast(([relativeOffset]) => relativeOffset <= offset)?.[1] ?? 0
        expect(index.lookup(offset)).toBe(expected)
        expect(lookupOffsetIndex(index.encode(0), offset)).toBe(expected)
        const loaded = new OffsetIndex()
        expect(loaded.load(index.encode(0), 2 ** 31 - 1)).toBe(true)
        expect(loaded.lookup(offset)).toBe(expected)
        expect(loaded.count).toBe(entries.length)
      }),
    )
  })

  it('drops entries of batches that were cut off', () => {
    const index = new OffsetIndex()
    for (const [offset, position] of [
      [5, 100],
      [9, 200],
      [20, 300],
    ])
      index.append(offset, position)
    index.truncateToPosition(200)
    expect([index.count, index.lastRelativeOffset, index.lastPosition]).toEqual([1, 5, 100])
    index.truncateToPosition(0)
    expect([index.count, index.lastRelativeOffset, index.lastPosition]).toEqual([0, -1, 0])
  })

  it.each([
    ['offsets that don’t ascend', [5, 100, 5, 200]],
    ['positions that don’t ascend', [5, 100, 6, 100]],
    ['a position at the segment’s end', [5, 1_000]],
    ['a negative position', [5, -1]],
    ['a negative offset', [-1, 5]],
  ])('refuses a file with %s', (_, numbers) => {
    const bytes = Buffer.alloc(numbers.length * 4)
    for (const [at, number] of numbers.entries()) bytes.writeInt32BE(number, at * 4)
    expect(new OffsetIndex().load(bytes, 1_000)).toBe(false)
  })

  it('refuses a file that ends within an entry, and passes over preallocated zeros', () => {
    const index = new OffsetIndex()
    index.append(5, 100)
    index.append(9, 200)
    const bytes = Buffer.concat([index.encode(0), Buffer.alloc(800)])
    const loaded = new OffsetIndex()
    expect(loaded.load(bytes, 1_000)).toBe(true)
    expect(loaded.count).toBe(2)
    expect(lookupOffsetIndex(bytes, 7)).toBe(100)
    expect(new OffsetIndex().load(index.encode(0).subarray(0, 12), 1_000)).toBe(false)
  })

  it('bears any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.integer(), (bytes, offset) => {
        new OffsetIndex().load(bytes, 10_000)
        expect(lookupOffsetIndex(bytes, offset)).toBeGreaterThanOrEqual(0)
      }),
    )
  })
})

describe('TimeIndex', () => {
  it('is written as Kafka writes it', () => {
    const index = new TimeIndex()
    index.maybeAppend(1_700_000_000_123, 9)
    expect(Buffer.from(index.encode(0)).toString('hex')).toBe('0000018bcfe5687b00000009')
  })

  it('takes newer timestamps only', () => {
    const index = new TimeIndex()
    index.maybeAppend(10, 1)
    index.maybeAppend(10, 2)
    index.maybeAppend(9, 3)
    index.maybeAppend(11, 4)
    expect([index.count, index.lastTimestampMs, index.lastRelativeOffset]).toEqual([2, 11, 4])
    index.truncateTo(4)
    expect([index.count, index.lastTimestampMs, index.lastRelativeOffset]).toEqual([1, 10, 1])
  })

  it('comes back from its file', () => {
    fc.assert(
      fc.property(steps, (given) => {
        const index = new TimeIndex()
        for (const [relativeOffset, timestampMs] of ascending(given)) {
          index.maybeAppend(timestampMs * 1e6, relativeOffset)
        }
        const loaded = new TimeIndex()
        expect(loaded.load(index.encode(0))).toBe(true)
        expect(loaded.encode(0)).toEqual(index.encode(0))
        const padded = new TimeIndex()
        expect(padded.load(Buffer.concat([index.encode(0), Buffer.alloc(120)]))).toBe(true)
        if (index.count > 0) expect(padded.count).toBe(index.count)
      }),
    )
  })

  it.each([
    [
      'timestamps that go back',
      [
        [10, 1],
        [9, 2],
      ],
    ],
    [
      'offsets that go back',
      [
        [10, 2],
        [11, 1],
      ],
    ],
    ['a negative offset', [[10, -1]]],
  ])('refuses a file with %s', (_, entries) => {
    const bytes = Buffer.alloc(entries.length * 12)
    for (const [at, [timestampMs, offset]] of entries.entries()) {
      bytes.writeBigInt64BE(BigInt(timestampMs), at * 12)
      bytes.writeInt32BE(offset, at * 12 + 8)
    }
    expect(new TimeIndex().load(bytes)).toBe(false)
  })

  it('bears any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const index = new TimeIndex()
        if (index.load(bytes)) expect(index.count).toBeLessThanOrEqual(bytes.length / 12)
      }),
    )
  })
})
