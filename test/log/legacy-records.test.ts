/** Messages of magic 0 and 1, as Apache Kafka 4.4 writes them (test/fixtures/kafka-legacy). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../src/errors.ts'
import { checkBatch, sizeInBytesAt } from '../../src/log/batch-header.ts'
import { type BatchMemory, batchMemory } from '../../src/log/batch-memory.ts'
import { decompressRecords } from '../../src/log/codec.ts'
import { xxHash32 } from '../../src/log/legacy-lz4.ts'
import {
  checkLegacyMessage,
  countLegacyCrc,
  legacyMessageAt,
  legacySizeAt,
} from '../../src/log/legacy-message.ts'
import { readLegacyRecords } from '../../src/log/legacy-records.ts'
import type { LogRecord } from '../../src/log/record.ts'
import { readRecords } from '../../src/log/record-reader.ts'
import { repository } from '../support/source-files.ts'

const file = join(repository, 'test/fixtures/kafka-legacy/legacy-0/00000000000000000000.log')
const magicPosition = 16
const crcPosition = 12

function fixture(): BatchMemory {
  const bytes = Uint8Array.from(readFileSync(file))
  return batchMemory(bytes.buffer)
}

/** Where messages and batches begin. */
function positionsOf(memory: BatchMemory): number[] {
  const positions: number[] = []
  for (let at = 0; at < memory.bytes.length; at += legacySizeAt(memory, at)) positions.push(at)
  return positions
}

function magicOf(memory: BatchMemory, position: number): number {
  return memory.view.getInt8(position + magicPosition)
}

/** By the rule in scripts/kafka/LegacySegment.java. */
function expectedRecord(offset: number) {
  const timeless = offset < 20
  const appendTime = offset >= 60
  return {
    offset,
    timestampMs: timeless ? -1 : appendTime ? 1_500_000_000_000 : 1_400_000_000_000 + offset,
    key: offset % 4 === 3 ? null : `key-${offset}`,
    value: offset % 7 === 6 ? null : `value ${offset} `.repeat(10),
  }
}

function plain({ offset, timestampMs, key, value }: LogRecord) {
  const text = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString())
  return { offset, timestampMs, key: text(key), value: text(value) }
}

describe('a segment with every format of messages', () => {
  it('is read whole', () => {
    const memory = fixture()
    const read = positionsOf(memory).flatMap((at) => {
      const left = memory.bytes.length - at
      if (magicOf(memory, at) === 2) {
        expect(checkBatch(memory, at, left)).toBeUndefined()
        expect(sizeInBytesAt(memory, at)).toBe(legacySizeAt(memory, at))
        return [...readRecords(memory, at)]
      }
      expect(checkLegacyMessage(memory, at, left)).toBeUndefined()
      return readLegacyRecords(memory, at)
    })
    expect(read.map(plain)).toEqual(read.map((_, offset) => expectedRecord(offset)))
    expect(read).toHaveLength(75)
  })

  it('has each codec of the time in each format', () => {
    const memory = fixture()
    const found = positionsOf(memory)
      .filter((at) => magicOf(memory, at) < 2)
      .map((at) => legacyMessageAt(memory, at))
    const kinds = new Set(found.map(({ magic, compression }) => `${magic} ${compression}`))
    expect([...kinds].sort()).toEqual([
      '0 gzip',
      '0 lz4',
      '0 none',
      '0 snappy',
      '1 gzip',
      '1 lz4',
      '1 none',
      '1 snappy',
    ])
  })
})

describe('LZ4 of magic 0', () => {
  it('carries a header checksum that no reader of the standard takes', () => {
    const memory = fixture()
    const at = positionsOf(memory).find((position) => {
      const { magic, compression } = legacyMessageAt(memory, position)
      return magic === 0 && compression === 'lz4'
    })!
    const value = legacyMessageAt(memory, at).value!
    const read = () => decompressRecords('lz4', value, 0, value.length, 1 << 20)
    expect(read).toThrow(/LZ4 frame/)
    expect(readLegacyRecords(memory, at)).toHaveLength(5)
  })
})

describe('hostile messages', () => {
  const memory = fixture()
  const legacy = positionsOf(memory).filter((at) => magicOf(memory, at) < 2)

  it('are found by any single bit', () => {
    for (const at of legacy) {
      const size = legacySizeAt(memory, at)
      for (let bit = 8 * crcPosition; bit < 8 * size; bit += 1) {
        memory.bytes[at + (bit >> 3)] ^= 1 << (bit & 7)
        expect(checkLegacyMessage(memory, at, size), `bit ${bit} at ${at}`).toBeDefined()
        memory.bytes[at + (bit >> 3)] ^= 1 << (bit & 7)
      }
    }
  })

  it('under a right CRC cost records or one typed error', () => {
    const change = fc.tuple(fc.nat(), fc.nat(255))
    fc.assert(
      fc.property(fc.nat(), fc.array(change, { maxLength: 6 }), (which, changes) => {
        const at = legacy[which % legacy.length]!
        const size = legacySizeAt(memory, at)
        const message = batchMemory(memory.bytes.slice(at, at + size).buffer)
        for (const [byte, value] of changes) {
          message.bytes[magicPosition + (byte % (size - magicPosition))] = value
        }
        message.view.setUint32(crcPosition, countLegacyCrc(message, 0))
        if (checkLegacyMessage(message, 0, size) !== undefined) return
        try {
          readLegacyRecords(message, 0)
        } catch (error) {
          if (!isTidemarkError(error, 'CORRUPT_MESSAGE')) throw error
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('of any bytes are judged without an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
        checkLegacyMessage(batchMemory(Uint8Array.from(bytes).buffer), 0, bytes.length)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('xxHash32', () => {
  it.each([
    ['', 0x02cc5d05],
    ['a', 0x550d7456],
    ['abc', 0x32d153ff],
  ])('of %j is known', (text, hash) => {
    expect(xxHash32(Buffer.from(text))).toBe(hash)
  })
})
