import { describe, expect, it } from 'vitest'
import { ChunkSize } from '../../src/client/chunk-size.ts'
import { limits } from '../../src/limits.ts'

const KiB = 1024

describe('the size of a read', () => {
  it('grows up to its bound while reads are filled, and shrinks when they are not', () => {
    const size = new ChunkSize(1024 * KiB)
    const sizes = Array.from({ length: 4 }, () => {
      const { bytes } = size
      size.filled(bytes)
      return bytes
    })
    expect(sizes).toEqual([16, 64, 256, 1024].map((each) => each * KiB))
    const smaller = Array.from({ length: 5 }, () => {
      size.filled(100)
      return size.bytes
    })
    expect(smaller).toEqual([256, 64, 16, 16, 16].map((each) => each * KiB))
  })

  it('ends at a bound that is no power of its factor', () => {
    const size = new ChunkSize(100 * KiB)
    for (const expected of [16, 64, 100, 100]) {
      expect(size.bytes).toBe(expected * KiB)
      size.filled(size.bytes)
    }
  })

  it('stays while reads are neither full nor nearly empty', () => {
    const size = new ChunkSize(1024 * KiB)
    for (const filled of [2, 5, 8]) {
      size.filled(filled * KiB)
      expect(size.bytes).toBe(16 * KiB)
    }
  })

  it('is never above a small bound, but for a batch that is larger', () => {
    const size = new ChunkSize(1_000)
    size.filled(1_000)
    expect(size.bytes).toBe(1_000)
    expect(size.grow()).toBe(true)
    expect(size.bytes).toBe(2_000)
    size.filled(1_900)
    expect(size.bytes).toBe(2_000)
    size.filled(10)
    expect(size.bytes).toBe(1_000)
  })

  it('grows to the largest batch that anybody believes in, and no further', () => {
    const size = new ChunkSize(1024 * KiB)
    let tries = 0
    while (size.grow()) tries += 1
    expect(size.bytes).toBe(limits.batchBytesMax)
    expect(tries).toBe(14)
  })
})
