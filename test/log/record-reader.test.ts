import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../src/errors.ts'
import { checkBatch, compressions } from '../../src/log/batch-header.ts'
import { batchField } from '../../src/log/batch-layout.ts'
import type { BatchMemory } from '../../src/log/batch-memory.ts'
import { crc32c } from '../../src/log/crc32c.ts'
import { forEachRecord, readRecords, recordOf } from '../../src/log/record-reader.ts'
import { encodeBatch, textRecords } from '../support/batch-builder.ts'

function reseal(memory: BatchMemory): void {
  const crc = crc32c(memory.bytes, batchField.attributes, memory.bytes.length)
  memory.view.setUint32(batchField.crc, crc)
}

/** Records, or the code of the one error that bad bytes may cost. */
function outcome(memory: BatchMemory): number | string {
  try {
    return [...readRecords(memory, 0)].length
  } catch (error) {
    if (isTidemarkError(error)) return error.code
    throw error
  }
}

describe('forEachRecord', () => {
  it('shows the same records as readRecords', () => {
    for (const compression of compressions) {
      const memory = encodeBatch(
        [...textRecords(20, 'words'), { key: null, value: null, timestampMs: 5 }],
        { compression },
      )
      const seen: unknown[] = []
      forEachRecord(memory, 0, (place) => seen.push(recordOf(place)))
      expect(seen).toEqual([...readRecords(memory, 0)])
      expect(seen).toHaveLength(21)
    }
  })

  it('gives all records the time of the append where the broker set it', () => {
    const memory = encodeBatch([...textRecords(1, 'a', 500), ...textRecords(1, 'b', 900)])
    memory.view.setInt16(batchField.attributes, 0x08)
    reseal(memory)
    expect([...readRecords(memory, 0)].map(({ timestampMs }) => timestampMs)).toEqual([900, 900])
  })

  it('finds nothing in a batch that was emptied', () => {
    const memory = encodeBatch(textRecords(2, 'x'))
    memory.view.setInt32(batchField.recordCount, 0)
    reseal(memory)
    expect([...readRecords(memory, 0)]).toEqual([])
  })
})

describe('hostile bytes', () => {
  it.each([1, 2, 3, 4])('that codec number %d did not make cost one clear error', (codec) => {
    const memory = encodeBatch(textRecords(3, 'x'))
    memory.view.setInt16(batchField.attributes, codec)
    reseal(memory)
    expect(checkBatch(memory, 0, memory.bytes.length)).toBeUndefined()
    expect(outcome(memory)).toBe('CORRUPT_MESSAGE')
  })

  it('under a right CRC cost records or one typed error, whichever byte is changed', () => {
    const header = { key: 'h', value: Buffer.from('1') }
    for (const compression of compressions) {
      const records = textRecords(12, 'words').map((each) => ({ ...each, headers: [header] }))
      const memory = encodeBatch(records, { compression })
      for (let at: number = batchField.attributes; at < memory.bytes.length; at += 1) {
        const original = memory.bytes[at]
        for (const value of [0, 1, 0x7f, 0x80, 0xff, original ^ 0x10]) {
          memory.bytes[at] = value
          reseal(memory)
          if (checkBatch(memory, 0, memory.bytes.length) === undefined) {
            const allowed = [12, 'CORRUPT_MESSAGE', 0]
            expect(allowed, `${compression} byte ${at} = ${value}`).toContain(outcome(memory))
          }
        }
        memory.bytes[at] = original
      }
    }
  })

  it('in any number cost records or one typed error', () => {
    const change = fc.tuple(fc.nat(), fc.nat(255))
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 1, maxLength: 12 }),
        fc.constantFrom(...compressions),
        (changes, compression) => {
          const memory = encodeBatch(textRecords(9, 'text text'), { compression })
          const room = memory.bytes.length - batchField.attributes
          for (const [at, value] of changes)
            memory.bytes[batchField.attributes + (at % room)] = value
          reseal(memory)
          if (checkBatch(memory, 0, memory.bytes.length) === undefined) outcome(memory)
        },
      ),
    )
  })

  it('cannot make an LZ4 frame take more memory than a batch may', () => {
    const memory = encodeBatch(textRecords(200, 'the same words'), { compression: 'lz4' })
    // A block that says it is 2 GiB of stored bytes.
    memory.view.setUint32(batchField.records + 7, 0xffff_ffff, true)
    reseal(memory)
    expect(outcome(memory)).toBe('CORRUPT_MESSAGE')
  })
})
