import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  VarintCursor,
  varintSize,
  varlongMagnitudeMax,
  varlongSize,
  writeVarint,
  writeVarlong,
} from '../../src/log/varint.ts'

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const int53 = fc.integer({ min: -varlongMagnitudeMax, max: varlongMagnitudeMax })

function cursorOver(...bytes: number[]): VarintCursor {
  return new VarintCursor(Uint8Array.from(bytes), 0, bytes.length)
}

describe('zig-zag numbers', () => {
  it.each([
    [0, [0]],
    [-1, [1]],
    [1, [2]],
    [63, [0x7e]],
    [-64, [0x7f]],
    [64, [0x80, 0x01]],
    [300, [0xd8, 0x04]],
    [2 ** 31 - 1, [0xfe, 0xff, 0xff, 0xff, 0x0f]],
    [-(2 ** 31), [0xff, 0xff, 0xff, 0xff, 0x0f]],
  ])('%d is written as Kafka does', (value, bytes) => {
    const target = new Uint8Array(10)
    expect(writeVarint(target, 0, value)).toBe(bytes.length)
    expect([...target.subarray(0, bytes.length)]).toEqual(bytes)
    expect(writeVarlong(target, 0, value)).toBe(bytes.length)
    expect([...target.subarray(0, bytes.length)]).toEqual(bytes)
  })

  it('come back, and take the bytes they are said to take', () => {
    const target = new Uint8Array(12)
    fc.assert(
      fc.property(int32, (value) => {
        const end = writeVarint(target, 1, value)
        expect(end - 1).toBe(varintSize(value))
        expect(new VarintCursor(target, 1, end).readVarint()).toBe(value)
      }),
    )
    fc.assert(
      fc.property(int53, (value) => {
        const end = writeVarlong(target, 1, value)
        expect(end - 1).toBe(varlongSize(value))
        const cursor = new VarintCursor(target, 1, end)
        expect(cursor.readVarlong()).toBe(value)
        expect(cursor.position).toBe(end)
      }),
    )
  })

  it('reach to 64 bits when small enough in value', () => {
    const target = new Uint8Array(12)
    const end = writeVarlong(target, 0, varlongMagnitudeMax)
    expect(new VarintCursor(target, 0, end).readVarlong()).toBe(varlongMagnitudeMax)
    const below = writeVarlong(target, 0, -varlongMagnitudeMax)
    expect(new VarintCursor(target, 0, below).readVarlong()).toBe(-varlongMagnitudeMax)
  })
})

describe('bytes nobody vouches for', () => {
  it.each([
    ['cut off', [0x80]],
    ['six bytes long', [0x80, 0x80, 0x80, 0x80, 0x80, 0x01]],
    ['wider than 32 bits', [0xff, 0xff, 0xff, 0xff, 0x1f]],
    ['nothing', []],
  ])('a varint that is %s is refused', (_, bytes) => {
    expect(() => cursorOver(...bytes).readVarint()).toThrow(
      expect.objectContaining({ code: 'CORRUPT_MESSAGE' }),
    )
  })

  it.each([
    ['cut off', [0x80, 0x80]],
    ['eleven bytes long', [...Array(10).fill(0x80), 0x01]],
    ['not held exactly by a number', [...Array(9).fill(0xff), 0x01]],
  ])('a varlong that is %s is refused', (_, bytes) => {
    expect(() => cursorOver(...bytes).readVarlong()).toThrow(
      expect.objectContaining({ code: 'CORRUPT_MESSAGE' }),
    )
  })

  it('are never stepped over beyond their end', () => {
    const cursor = cursorOver(1, 2, 3)
    expect(cursor.skip(3)).toBe(0)
    expect(() => cursor.skip(1)).toThrow(expect.objectContaining({ code: 'CORRUPT_MESSAGE' }))
    expect(() => cursor.readByte()).toThrow(expect.objectContaining({ code: 'CORRUPT_MESSAGE' }))
  })
})
