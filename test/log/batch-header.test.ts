import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  attributesAt,
  baseOffsetAt,
  baseTimestampAt,
  batchPositions,
  checkBatch,
  compressionAt,
  lastOffsetAt,
  lastOffsetDeltaAt,
  leaderEpochAt,
  maxTimestampAt,
  nextOffsetAt,
  recordCountAt,
  sizeInBytesAt,
  stampBatch,
} from '../../src/log/batch-header.ts'
import { batchField } from '../../src/log/batch-layout.ts'
import { type BatchMemory, batchMemory } from '../../src/log/batch-memory.ts'
import { crc32c } from '../../src/log/crc32c.ts'
import { writeInt64 } from '../../src/log/int64.ts'
import { encodeBatch, runOf, textRecords } from '../support/batch-builder.ts'

/** By hand from the format: one record (timestamp 1000, key null, value 'v'), base offset 42. */
const golden = Buffer.from(
  [
    '000000000000002a', // base offset
    '00000039', // length: 69 - 12
    '00000007', // leader epoch
    '02', // magic
    '00000000', // CRC, filled in below
    '0000', // attributes
    '00000000', // last offset delta
    '00000000000003e8', // base timestamp
    '00000000000003e8', // max timestamp
    'ffffffffffffffff', // producer id
    'ffff', // producer epoch
    'ffffffff', // base sequence
    '00000001', // record count
    '0e', // record: 7 bytes follow
    '00', // attributes
    '00', // timestamp delta
    '00', // offset delta
    '01', // key: null
    '02', // value: 1 byte
    '76', // 'v'
    '00', // headers: none
  ].join(''),
  'hex',
)
golden.writeUInt32BE(crc32c(golden, 21, golden.length), 17)

function copyOf(bytes: Uint8Array): BatchMemory {
  const memory = batchMemory(new SharedArrayBuffer(bytes.length))
  memory.bytes.set(bytes)
  return memory
}

/** Makes the CRC right again after a change. */
function reseal(memory: BatchMemory): void {
  const crc = crc32c(memory.bytes, batchField.attributes, memory.bytes.length)
  memory.view.setUint32(batchField.crc, crc)
}

describe('a header', () => {
  it('is read from the bytes of the format', () => {
    const memory = copyOf(golden)
    expect(checkBatch(memory, 0, golden.length)).toBeUndefined()
    expect(baseOffsetAt(memory, 0)).toBe(42)
    expect(sizeInBytesAt(memory, 0)).toBe(69)
    expect(leaderEpochAt(memory, 0)).toBe(7)
    expect(lastOffsetDeltaAt(memory, 0)).toBe(0)
    expect(lastOffsetAt(memory, 0)).toBe(42)
    expect(nextOffsetAt(memory, 0)).toBe(43)
    expect(recordCountAt(memory, 0)).toBe(1)
    expect(baseTimestampAt(memory, 0)).toBe(1_000)
    expect(maxTimestampAt(memory, 0)).toBe(1_000)
    expect(attributesAt(memory, 0)).toBe(0)
    expect(compressionAt(memory, 0)).toBe('none')
  })

  it('is written as those bytes', () => {
    const memory = encodeBatch([{ key: null, value: Buffer.from('v'), timestampMs: 1_000 }])
    stampBatch(memory, 0, 42, 7)
    expect(Buffer.from(memory.bytes).toString('hex')).toBe(golden.toString('hex'))
  })

  it('keeps its CRC whatever a leader stamps, up to the largest offset', () => {
    const offset = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER - 2 ** 32 })
    const epoch = fc.integer({ min: 0, max: 2 ** 31 - 1 })
    const memory = encodeBatch(textRecords(3, 'x'))
    fc.assert(
      fc.property(offset, epoch, (baseOffset, leaderEpoch) => {
        stampBatch(memory, 0, baseOffset, leaderEpoch)
        expect(checkBatch(memory, 0, memory.bytes.length)).toBeUndefined()
        expect(baseOffsetAt(memory, 0)).toBe(baseOffset)
        expect(nextOffsetAt(memory, 0)).toBe(baseOffset + 3)
        expect(leaderEpochAt(memory, 0)).toBe(leaderEpoch)
      }),
    )
  })
})

describe('checkBatch', () => {
  const setters: readonly [string, (memory: BatchMemory) => void][] = [
    ['length', ({ view }) => view.setInt32(batchField.length, 48)],
    ['length', ({ view }) => view.setInt32(batchField.length, -1)],
    ['length', ({ view }) => view.setInt32(batchField.length, 0x7fff_ffff)],
    ['magic', ({ view }) => view.setInt8(batchField.magic, 1)],
    ['base-offset', ({ view }) => writeInt64(view, batchField.baseOffset, -1)],
    ['base-offset', ({ view }) => view.setInt32(batchField.baseOffset, 0x20_0000)],
    ['last-offset-delta', ({ view }) => view.setInt32(batchField.lastOffsetDelta, -1)],
    ['codec', ({ view }) => view.setInt16(batchField.attributes, 5)],
    ['record-count', ({ view }) => view.setInt32(batchField.recordCount, -1)],
    ['record-count', ({ view }) => view.setInt32(batchField.recordCount, 4)],
    ['timestamp', ({ view }) => view.setInt32(batchField.maxTimestamp, 0x7fff_ffff)],
  ]

  it.each(setters)('names a bad %s even under a right CRC', (fault, change) => {
    const memory = encodeBatch(textRecords(3, 'x'))
    change(memory)
    reseal(memory)
    expect(checkBatch(memory, 0, memory.bytes.length)).toBe(fault)
  })

  it('refuses more records than bytes could hold', () => {
    const memory = encodeBatch(textRecords(3, 'x'))
    memory.view.setInt32(batchField.lastOffsetDelta, 1_000)
    memory.view.setInt32(batchField.recordCount, 1_000)
    reseal(memory)
    expect(checkBatch(memory, 0, memory.bytes.length)).toBe('record-count')
  })

  it('says of each cut where it fell', () => {
    const memory = encodeBatch(textRecords(2, 'x'))
    const size = memory.bytes.length
    for (let available = 0; available < size; available += 1) {
      const fault = available < 61 ? 'header-cut' : 'bytes-cut'
      expect(checkBatch(memory, 0, available)).toBe(fault)
    }
    expect(checkBatch(memory, 0, size + 100)).toBeUndefined()
  })

  it('finds every flipped bit but those a leader stamps', () => {
    const memory = copyOf(golden)
    for (let bit = 0; bit < golden.length * 8; bit += 1) {
      const byte = bit >>> 3
      memory.bytes[byte] ^= 1 << (bit & 7)
      const fault = checkBatch(memory, 0, golden.length)
      const stamped = byte < 8 || (byte >= 12 && byte < 16)
      if (!stamped) expect(fault, `bit ${bit}`).toBeDefined()
      memory.bytes[byte] ^= 1 << (bit & 7)
    }
  })

  it('bears any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(100), (bytes, skip) => {
        const memory = copyOf(bytes)
        const position = Math.min(skip, bytes.length)
        expect(checkBatch(memory, position, bytes.length - position)).toBeDefined()
      }),
    )
  })
})

describe('batchPositions', () => {
  it('notes whole batches, as many as there is room for', () => {
    const batches = [1, 2, 3].map((count) => encodeBatch(textRecords(count, 'x')))
    const { memory, positions } = runOf(batches)
    const total = memory.bytes.length
    const found = new Int32Array(8)
    expect(batchPositions(memory, 0, total, found)).toBe(3)
    expect([...found.subarray(0, 3)]).toEqual([...positions])
    expect(batchPositions(memory, 0, total - 1, found)).toBe(2)
    expect(batchPositions(memory, 0, total, found.subarray(0, 2))).toBe(2)
    expect(batchPositions(memory, 0, 0, found)).toBe(0)
  })
})
