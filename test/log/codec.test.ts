import { createRequire } from 'node:module'
import zlib from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../src/errors.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { type Codecs, compressRecords, decompressRecords } from '../../src/log/codec.ts'
import { nodeZstd, WasmZstd } from '../../src/log/zstd-library.ts'

const codecs: readonly Codecs[] = ['gzip', 'snappy', 'lz4', 'zstd']
const allowedBytes = 64 * 1024

function compress(codec: Codecs, bytes: Uint8Array): Uint8Array {
  return compressRecords(codec, bytes, 0, bytes.length)
}

function decompress(codec: Codecs, bytes: Uint8Array, bytesMax = allowedBytes): Buffer {
  return Buffer.from(decompressRecords(codec, bytes, 0, bytes.length, bytesMax))
}

/** The text of the error that it costs, which must be a typed one. */
function refusal(codec: Codecs, bytes: Uint8Array, bytesMax = allowedBytes): string {
  try {
    decompress(codec, bytes, bytesMax)
  } catch (error) {
    if (isTidemarkError(error, 'CORRUPT_MESSAGE')) return error.message
    throw error
  }
  return 'nothing'
}

function words(bytes: number): Buffer {
  return Buffer.from('every word of it is written twice, '.repeat(Math.ceil(bytes / 34))).subarray(
    0,
    bytes,
  )
}

describe.each(codecs)('%s', (codec) => {
  it.each([0, 1, 100, 32_768, 32_769, 200_000, 5_000_000])('gives back %d bytes', (size) => {
    const bytes = words(size)
    const block = compress(codec, bytes)
    if (size > 100) expect(block.length).toBeLessThan(size / 2)
    // LZ4 counts with the most that its blocks may hold.
    expect(decompress(codec, block, size + allowedBytes).equals(bytes)).toBe(true)
  })

  it('gives back what cannot be made smaller, from within shared memory', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 500 }), fc.nat(9), (bytes, margin) => {
        const shared = new Uint8Array(new SharedArrayBuffer(bytes.length + 2 * margin))
        shared.set(bytes, margin)
        const block = compressRecords(codec, shared, margin, margin + bytes.length)
        const target = new Uint8Array(new SharedArrayBuffer(block.length + 2 * margin))
        target.set(block, margin)
        const back = decompressRecords(codec, target, margin, margin + block.length, allowedBytes)
        expect(Buffer.from(back).equals(bytes)).toBe(true)
      }),
    )
  })

  it('refuses what holds more than is allowed', () => {
    const block = compress(codec, Buffer.alloc(2_000_000))
    expect(refusal(codec, block, 1_000_000)).not.toBe('nothing')
    expect(decompress(codec, block, 8_000_000).length).toBe(2_000_000)
  })

  it('refuses a block that is cut, wherever it is', () => {
    const block = compress(codec, words(3_000))
    // Snappy's stream has no end of its own: cut between blocks it is only shorter.
    const first = codec === 'snappy' ? 17 : 1
    for (let end = first; end < block.length; end += 1) {
      expect(refusal(codec, block.subarray(0, end)), `cut at ${end}`).not.toBe('nothing')
    }
  })

  it('costs bytes or one typed error, whatever is in the block', () => {
    const whole = compress(codec, words(3_000))
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 9 }),
        fc.option(fc.uint8Array({ maxLength: 80 })),
        (changes, other) => {
          const block = Buffer.from(whole)
          for (const [at, value] of changes) block[at % block.length] = value
          if (other !== null) block.set(other.subarray(0, block.length), 0)
          refusal(codec, block)
          if (other !== null) refusal(codec, other)
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('several blocks, one after the other', () => {
  it.each(['gzip', 'snappy', 'zstd'] as const)('are one for %s', (codec) => {
    const twice = Buffer.concat([compress(codec, words(50)), compress(codec, words(70))])
    expect(decompress(codec, twice).equals(Buffer.concat([words(50), words(70)]))).toBe(true)
  })
})

describe('lz4', () => {
  const lz4 = createRequire(import.meta.url)('lz4-napi') as {
    compressFrameSync(data: Buffer, options: object): Buffer
  }

  it('is written as Kafka reads it: version 1, independent blocks of a size that it knows', () => {
    for (const size of [10, 100_000, 3_000_000]) {
      const block = compress('lz4', words(size))
      expect(block[4]! & 0b1110_0011).toBe(0b0110_0000)
      expect((block[5]! >>> 4) & 7).toBeGreaterThanOrEqual(4)
      expect(block[5]! & 0b1000_1111).toBe(0)
    }
  })

  it('stores a block that would not be smaller, and compresses the next', () => {
    const random = new SeededRandom(1)
    const noise = Uint8Array.from({ length: 65_536 }, () => random.nextBelow(256))
    const frame = compress('lz4', Buffer.concat([noise, words(65_536), words(1)]))
    const view = new DataView(frame.buffer, frame.byteOffset)
    expect(view.getUint32(7, true)).toBe(0x8001_0000)
    const second = view.getUint32(11 + 65_536, true)
    expect(second).toBeLessThan(1_000)
    expect(view.getUint32(15 + 65_536 + second, true)).toBe(0x8000_0001)
    expect(frame.length).toBe(65_536 + second + 1 + 7 + 4 * 4)
    const back = decompress('lz4', frame, 200_000)
    expect(back.equals(Buffer.concat([noise, words(65_536), words(1)]))).toBe(true)
  })

  it('is read with checksums of its blocks and of all, which are checked', () => {
    const options = { contentChecksum: true, blockChecksums: true }
    const block = lz4.compressFrameSync(words(100_000), options)
    expect(decompress('lz4', block, 10_000_000).equals(words(100_000))).toBe(true)
    for (const at of [block.length - 1, block.length - 9]) {
      const changed = Buffer.from(block)
      changed[at] ^= 1
      expect(refusal('lz4', changed, 10_000_000)).toMatch(/^LZ4 frame: /)
    }
  })
})

describe('snappy', () => {
  it('is read without a header as well', () => {
    // Raw: 5 bytes, as one literal of 5.
    expect(decompress('snappy', Buffer.from('\x05\x10hello')).toString()).toBe('hello')
  })

  it('cannot state more than its bytes can stand for', () => {
    const stated = Buffer.of(0xff, 0xff, 0xff, 0x7f, 0)
    expect(refusal('snappy', stated, 2 ** 30)).toBe(
      'snappy: 268435455 bytes stated by a block of 5',
    )
  })

  it('refuses a version that it does not know', () => {
    const block = Buffer.from(compress('snappy', words(9)))
    block.writeInt32BE(0, 12)
    expect(refusal('snappy', block)).toBe('snappy: version 0')
  })
})

describe('zstd', () => {
  it('passes over a frame to be skipped, and needs no stated size', () => {
    const skippable = Buffer.from('502a4d1803000000aabbcc', 'hex')
    // Window of 1 KiB, no size: a stored block of 2 bytes, then 300 times one byte, the last.
    const frame = Buffer.from('28b52ffd00' + '00' + '100000' + '6869' + '630900' + '21', 'hex')
    const back = decompress('zstd', Buffer.concat([skippable, frame]))
    expect(back.toString()).toBe(`hi${'!'.repeat(300)}`)
  })

  it.each([
    ['a dictionary', '28b52ffd0100070100004a', 'zstd: needs a dictionary'],
    ['a reserved bit', '28b52ffd0800010000', 'zstd: a reserved bit is set'],
    ['a reserved block', '28b52ffd0000070000', 'zstd: a block of a reserved kind'],
    [
      'a block beyond its window',
      '28b52ffd0000' + '092000',
      'zstd: a block of 1025 bytes, at most 1024',
    ],
    [
      'more than its blocks hold',
      '28b52ffda0ffffff7f010000',
      'zstd: 2147483647 bytes stated, blocks for 0',
    ],
    ['another magic number', '29b52ffd0000010000', 'zstd: wrong magic number'],
  ])('refuses %s', (_, hex, message) => {
    expect(refusal('zstd', Buffer.from(hex, 'hex'))).toBe(message)
  })

  it('gives a large heap back, and goes on', () => {
    const library = new WasmZstd()
    const large = Buffer.alloc(70 * 1024 * 1024)
    const block = library.compress(large)
    expect(library.decompress(block, large.length).length).toBe(large.length)
    const small = library.compress(words(1_000))
    expect(Buffer.from(library.decompress(small, 1_000)).equals(words(1_000))).toBe(true)
    expect(() => library.decompress(small, 999)).toThrow(/error \d+/)
  })

  it("is Node's own where Node has it", () => {
    const own = nodeZstd()
    expect(own !== undefined).toBe('zstdCompressSync' in zlib)
    if (own === undefined) return
    const wasm = new WasmZstd()
    expect(Buffer.from(own.decompress(wasm.compress(words(99)), 99)).equals(words(99))).toBe(true)
    expect(Buffer.from(wasm.decompress(own.compress(words(99)), 99)).equals(words(99))).toBe(true)
  })
})
