import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { murmur2, partitionForKey } from '../../src/client/partitioner.ts'

describe('murmur2', () => {
  /** From Apache Kafka's own UtilsTest. */
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])('of %j is what Apache Kafka makes of it', (key, hash) => {
    expect(murmur2(Buffer.from(key))).toBe(hash)
  })

  it('takes bytes as unsigned, like Java with its masks', () => {
    const high = Uint8Array.of(0xff, 0x80, 0xfe, 0x90, 0xe0, 0xd0, 0xc0)
    expect(murmur2(high)).not.toBe(murmur2(high.map((byte) => byte & 0x7f)))
    expect(Number.isInteger(murmur2(high))).toBe(true)
  })
})

describe('partitionForKey', () => {
  it('is within the topic for any key, also for hashes below zero', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.integer({ min: 1, max: 10_000 }), (key, partitions) => {
        const partition = partitionForKey(key, partitions)
        expect(Number.isInteger(partition)).toBe(true)
        expect(partition).toBeGreaterThanOrEqual(0)
        expect(partition).toBeLessThan(partitions)
      }),
    )
  })

  it('drops the sign bit as Kafka does, and does not negate', () => {
    expect(partitionForKey(Buffer.from('21'), 1_000)).toBe((-973932308 & 0x7fff_ffff) % 1_000)
    expect(partitionForKey(Buffer.from('abc'), 1_000)).toBe(107)
  })
})
