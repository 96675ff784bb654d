import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isTidemarkError } from '../../src/errors.ts'
import { type InputPlaces, type InputRecords, loadInput } from '../../src/lab/input.ts'
import { BatchEncoder } from '../../src/log/batch-encoder.ts'
import { stampBatch } from '../../src/log/batch-header.ts'
import { batchField, batchMagic } from '../../src/log/batch-layout.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { crc32c } from '../../src/log/crc32c.ts'
import type { ProduceRecord } from '../../src/log/record.ts'

const options = { recordBytesMax: 1000 }
let directory = ''
let fileCount = 0

beforeAll(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-input-'))
})

afterAll(() => {
  fs.rmSync(directory, { recursive: true })
})

function file(content: string | Uint8Array): string {
  const name = path.join(directory, `file-${fileCount++}`)
  fs.writeFileSync(name, content)
  return name
}

function part(input: InputRecords, places: InputPlaces, index: number): string | null {
  const length = places.lengths[index]!
  if (length < 0) return null
  return Buffer.from(input.payload, places.positions[index]!, length).toString('latin1')
}

function values(input: InputRecords): (string | null)[] {
  return Array.from({ length: input.recordCount }, (_, index) => part(input, input, index))
}

function load(content: string | Uint8Array, overrides = {}): InputRecords {
  return loadInput(file(content), { ...options, ...overrides })
}

/** The message less the path. */
function refusal(name: string, overrides = {}): string {
  try {
    loadInput(name, { ...options, ...overrides })
  } catch (error) {
    expect(isTidemarkError(error, 'INVALID_ARGUMENT')).toBe(true)
    const { message } = error as Error
    expect(message.startsWith(`--input ${name}: `)).toBe(true)
    expect(message).not.toContain('\n')
    return message.slice(`--input ${name}: `.length)
  }
  throw new Error('nothing was thrown')
}

describe('text', () => {
  test.each([
    ['LF', 'a\nbc\nd\n', ['a', 'bc', 'd']],
    ['CRLF', 'a\r\nbc\r\n', ['a', 'bc']],
    ['no end at the last line', 'a\nbc', ['a', 'bc']],
    ['one line', 'abc', ['abc']],
    ['empty lines', 'a\n\n\r\nb\n', ['a', '', '', 'b']],
    ['CR inside a line stays', 'a\rb\r\r\n', ['a\rb\r']],
    ['bytes that are not UTF-8', Buffer.from('a\xff\xfe\n\x80', 'latin1'), ['a\xff\xfe', '\x80']],
  ])('%s', (_, content, expected) => {
    const input = load(content)
    expect(input.kind).toBe('text')
    expect(values(input)).toEqual(expected)
    expect(input.bytes).toBe(expected.join('').length)
    expect(input.truncated).toBe(false)
    expect(input.keys).toBeUndefined()
  })

  test('any lines come back as they are, in shared memory', () => {
    const line = fc
      .uint8Array({ maxLength: 40 })
      .map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 10 && byte !== 13 && byte !== 0)))
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), fc.constantFrom('\n', '\r\n'), (lines, end) => {
        fc.pre(lines.some((bytes) => bytes.length > 0))
        const texts = lines.map((bytes) => bytes.toString('latin1'))
        const input = load(Buffer.from(texts.map((text) => text + end).join(''), 'latin1'))
        expect(values(input)).toEqual(texts)
        expect(input.recordBytesLargest).toBe(Math.max(...texts.map((text) => text.length)))
        for (const array of [input.positions, input.lengths]) {
          expect(array.buffer).toBeInstanceOf(SharedArrayBuffer)
        }
      }),
      { numRuns: 50 },
    )
  })

  test('of a file above the cap, the whole lines before it are used', () => {
    const content = 'aaa\nbbb\nccc\n'
    expect(values(load(content, { maxBytes: 10 }))).toEqual(['aaa', 'bbb'])
    expect(load(content, { maxBytes: 10 }).truncated).toBe(true)
    expect(values(load(content, { maxBytes: 8 }))).toEqual(['aaa', 'bbb'])
    expect(load(content, { maxBytes: 12 }).truncated).toBe(false)
  })

  test('a line that is too long is named by its number', () => {
    const long = file(`short\n${'x'.repeat(1001)}\n`)
    expect(refusal(long)).toBe(
      'line 2 has 1001 bytes, a record may have 1000; a larger --batch-bytes allows it',
    )
    expect(values(loadInput(file(`${'x'.repeat(1000)}\r\n`), options))[0]).toHaveLength(1000)
    expect(refusal(long, { maxBytes: 1007 })).toMatch(/^line 2 has at least 1001 bytes/)
    expect(values(loadInput(long, { ...options, maxBytes: 900 }))).toEqual(['short'])
  })

  test('a first line beyond the cap', () => {
    const message = refusal(file('x'.repeat(100)), { maxBytes: 50 })
    expect(message).toBe(
      'line 1 has at least 50 bytes, a record may have 50; a larger --batch-bytes allows it',
    )
  })

  test('line ends alone are no records to produce', () => {
    expect(refusal(file('\n\r\n\n'))).toMatch(/^holds no bytes but line ends/)
  })
})

interface SegmentBatch {
  readonly records: readonly ProduceRecord[]
  readonly compression?: 'none' | 'lz4'
  readonly control?: boolean
}

function record(
  value: string | null,
  key: string | null = null,
  timestampMs = 1000,
): ProduceRecord {
  const bytes = (text: string | null) => (text === null ? null : Buffer.from(text))
  return { key: bytes(key), value: bytes(value), timestampMs }
}

function segment(batches: readonly SegmentBatch[]): Buffer {
  const encoder = new BatchEncoder()
  let offset = 0
  return Buffer.concat(
    batches.map(({ records, compression = 'none', control = false }) => {
      const memory = batchMemory(new ArrayBuffer(64 * 1024))
      encoder.begin(memory, 0, memory.bytes.length, { compression, control })
      for (const item of records) expect(encoder.tryAppend(item)).toBe(true)
      const size = encoder.finish()
      stampBatch(memory, 0, offset, 0)
      offset += records.length
      return Buffer.from(memory.bytes.slice(0, size))
    }),
  )
}

describe('segment', () => {
  const plain = [
    { records: [record('one', 'k1', 100), record('two', null, 105)] },
    { records: [record(null, 'k3', 110), record('', 'k4', 109), record('five', null, 120)] },
  ]

  test.each(['none', 'lz4'] as const)('keys, values and timestamps, %s', (compression) => {
    const input = load(segment(plain.map((batch) => ({ ...batch, compression }))))
    expect(input).toMatchObject({ kind: 'segment', recordCount: 5, truncated: false, warnings: [] })
    expect(values(input)).toEqual(['one', 'two', null, '', 'five'])
    const { keys } = input
    expect([0, 1, 2, 3, 4].map((i) => part(input, keys!, i))).toEqual([
      'k1',
      null,
      'k3',
      'k4',
      null,
    ])
    expect([...input.timestampsMs!]).toEqual([100, 105, 110, 109, 120])
    expect(input.bytes).toBe(16)
    expect(input.recordBytesLargest).toBe(5)
  })

  test('LZ4 that really compresses', () => {
    const long = 'abc'.repeat(300)
    const input = load(segment([{ records: [record(long), record(long)], compression: 'lz4' }]))
    expect(input.fileBytes).toBeLessThan(500)
    expect(values(input)).toEqual([long, long])
  })

  test('without any key there is no column of keys', () => {
    expect(load(segment([{ records: [record('a')] }])).keys).toBeUndefined()
  })

  test('transaction markers are left out, headers too, and that is said', () => {
    const headers = [{ key: 'h', value: Buffer.from('v') }]
    const input = load(
      segment([
        { records: [{ ...record('a'), headers }, record('b')] },
        { records: [record('marker', 'type')], control: true },
        { records: [record('c')] },
      ]),
    )
    expect(values(input)).toEqual(['a', 'b', 'c'])
    expect(input.warnings).toHaveLength(1)
    expect(input.warnings[0]).toMatch(/: 1 of 3 records have headers, which are left out$/)
  })

  test('cut at every byte, the whole batches before are used, with a warning', () => {
    const whole = segment(plain)
    const first = segment([plain[0]!]).length
    for (let size = first; size < whole.length; size++) {
      const input = load(whole.subarray(0, size))
      expect(values(input)).toEqual(['one', 'two'])
      expect(input.warnings).toHaveLength(size === first ? 0 : 1)
      if (size === first) continue
      expect(input.warnings[0]).toContain(`batch at position ${first} is cut off by the end`)
      expect(input.warnings[0]).toContain('the 2 records before it are used')
    }
  })

  test('a damaged batch ends it, with a warning; a damaged first batch refuses it', () => {
    const damaged = segment(plain)
    damaged[damaged.length - 1]! ^= 1
    const input = load(damaged)
    expect(values(input)).toEqual(['one', 'two'])
    expect(input.warnings[0]).toContain('fails its checks (crc)')
    damaged[80]! ^= 1
    expect(refusal(file(damaged))).toBe(
      'the batch at position 0 fails its checks (crc), must be a Kafka .log segment with records',
    )
  })

  test('a codec that is not read is named', () => {
    const bytes = segment([{ records: [record('a')] }])
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    view.setInt16(batchField.attributes, 7)
    view.setUint32(batchField.crc, crc32c(bytes, batchField.attributes, bytes.length))
    expect(refusal(file(bytes))).toMatch(/^the batch at position 0 fails its checks \(codec\)/)
  })

  test('above the cap, the records that fit are used', () => {
    const input = load(segment(plain), { maxBytes: 9 })
    expect(values(input)).toEqual(['one', 'two'])
    expect(input).toMatchObject({ truncated: true, warnings: [] })
  })

  test('a record that is too large is named by its offset', () => {
    const large = file(segment([...plain, { records: [record('x'.repeat(999), 'kk')] }]))
    expect(refusal(large)).toBe('the record at offset 5 has 1001 bytes, a record may have 1000')
    expect(refusal(file(segment(plain)), { maxBytes: 3 })).toMatch(/^the record at offset 0 has 5/)
  })

  test('a segment of transaction markers alone has nothing to produce', () => {
    const bytes = segment([{ records: [record('m', 'k')], control: true }])
    expect(refusal(file(bytes))).toMatch(/^it has no records with a key or value/)
  })

  test('any bytes changed anywhere give records or one error in a line', () => {
    const whole = segment(plain)
    const change = fc.tuple(fc.nat({ max: whole.length - 1 }), fc.integer({ min: 1, max: 255 }))
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const bytes = Buffer.from(whole)
        for (const [position, mask] of changes) bytes[position]! ^= mask
        try {
          expect(load(bytes).recordCount).toBeGreaterThan(0)
        } catch (error) {
          expect(isTidemarkError(error, 'INVALID_ARGUMENT')).toBe(true)
          expect((error as Error).message).not.toContain('\n')
        }
      }),
    )
  })
})

describe('neither', () => {
  const must = 'must be a file with lines of text, or a Kafka .log segment (batches of magic 2)'

  test.each([
    ['empty', () => file(''), `is empty, ${must}`],
    ['a directory', () => directory, `is a directory, ${must}`],
    ['absent', () => path.join(directory, 'absent'), `there is no such file, ${must}`],
    ['below a file', () => path.join(file('x'), 'y'), `there is no such file, ${must}`],
    ['a device', () => '/dev/null', `is not a regular file, ${must}`],
    ['zeros', () => file(new Uint8Array(500)), `is binary, ${must}`],
    ['compressed', () => file(gzipSync('x'.repeat(1e5))), `is binary, ${must}`],
    ['UTF-16', () => file(Buffer.from('a text\n', 'utf16le')), `is binary, ${must}`],
  ])('%s', (_, make, message) => {
    expect(refusal(make())).toBe(message)
  })

  test('a pipe is refused, not waited for', () => {
    const pipe = path.join(directory, 'pipe')
    execFileSync('mkfifo', [pipe])
    expect(refusal(pipe)).toBe(`is not a regular file, ${must}`)
  })

  test('a segment of an old message format is told', () => {
    const bytes = segment([{ records: [record('a')] }])
    expect(bytes[batchField.magic]).toBe(batchMagic)
    bytes[batchField.magic] = 1
    expect(refusal(file(bytes))).toBe(
      `looks like a segment of Kafka's message format 1 (older than 0.11), ${must}`,
    )
  })

  test('a cap out of range is a mistake of the caller', () => {
    expect(() => load('a', { maxBytes: 0 })).toThrow(/^maxBytes of an input 0: must be from 1 to/)
  })
})
