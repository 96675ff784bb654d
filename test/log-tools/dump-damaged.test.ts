/** What `dump` prints of files that are not whole, and of payloads that are not text. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../src/errors.ts'
import { stampBatch } from '../../src/log/batch-header.ts'
import { checkDumpable, dumpFile } from '../../src/log-tools/dump-file.ts'
import type { DumpLine } from '../../src/log-tools/dump-line.ts'
import { dumpText } from '../../src/log-tools/dump-text.ts'
import { encodeBatch, textRecords } from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

function fileOf(name: string, ...parts: readonly Uint8Array[]): string {
  const file = path.join(temporaryDirectory(), name)
  writeFileSync(file, Buffer.concat(parts))
  return file
}

function batchAt(offset: number, text: string): Uint8Array {
  const memory = encodeBatch(textRecords(2, text))
  stampBatch(memory, 0, offset, 3)
  return memory.bytes
}

function dump(file: string): DumpLine[] {
  return [...dumpFile(file, { records: true })]
}

function typesOf(lines: readonly DumpLine[]): string[] {
  return lines.map(({ type }) => type)
}

const segment = '00000000000000000000.log'

describe('a segment', () => {
  it('that is cut is printed up to there', () => {
    const lines = dump(fileOf(segment, batchAt(0, 'a'), batchAt(2, 'b').subarray(0, 50)))
    expect(typesOf(lines)).toEqual(['file', 'batch', 'record', 'record', 'end'])
    expect(lines.at(-1)).toMatchObject({ complete: false, position: 81, bytes: 131 })
    expect(dumpText(lines.at(-1)!)).toMatch(/^NOT WHOLE: stopped at 81 of 131: expected a whole/)
  })

  it('with a batch of wrong CRC is printed past it, without its records', () => {
    const broken = Uint8Array.from(batchAt(2, 'b'))
    broken[70] ^= 1
    const lines = dump(fileOf(segment, batchAt(0, 'a'), broken, batchAt(4, 'c')))
    expect(typesOf(lines)).toEqual([
      'file',
      'batch',
      'record',
      'record',
      'batch',
      'batch',
      'record',
      'record',
      'end',
    ])
    expect(lines[4]).toMatchObject({ isvalid: false, position: 81 })
    expect(dumpText(lines[4]!)).toMatch(/isvalid: false {2}! expected CRC 0x\w+ as stated, found/)
    expect(dumpText(lines.at(-1)!)).toMatch(/^NOT WHOLE: read to the end, 243 bytes of 243/)
  })
})

describe('payloads', () => {
  it('that are not text are given in base64, and none can pass for a line of ours', () => {
    const memory = encodeBatch([
      {
        key: Buffer.of(0xff, 0x00),
        value: Buffer.from('a\nwhole: 3 bytes\u001b[2J\u009b'),
        timestampMs: 5,
        headers: [{ key: 'h', value: null }],
      },
    ])
    const [, , record] = dump(fileOf(segment, memory.bytes))
    expect(record).toMatchObject({ key: { base64: '/wA=' }, headers: [{ key: 'h', value: null }] })
    expect(dumpText(record!)).toBe(
      '| offset: 0 timestamp: 5 headers: ["h": null] key: base64:/wA= value: "a\\nwhole: 3 bytes\\u001b[2J\\u009b"',
    )
  })
})

describe('other files', () => {
  it.each([
    ['00000000000000000000.index', Buffer.alloc(11, 1), 8],
    ['00000000000000000000.timeindex', Buffer.alloc(13, 1), 12],
    ['00000000000000000000.txnindex', Buffer.alloc(35, 1), 34],
    ['00000000000000000000.snapshot', Buffer.alloc(11, 1), 0],
    ['leader-epoch-checkpoint', Buffer.from('0\n2\n1 2\nx\n'), 8],
    ['recovery-point-offset-checkpoint', Buffer.from('0\n1\nt 0 5\n?'), 10],
  ])('say where they stop: %s', (name, bytes, position) => {
    const lines = dump(fileOf(name, bytes))
    expect(lines.at(-1)).toMatchObject({ type: 'end', complete: false, position })
  })

  it.each([['nothing.txt'], ['0.log'], ['00000000000000000000.log.gz']])('refuse %s', (name) => {
    const file = fileOf(name)
    expect(() => checkDumpable(file)).toThrow(/not a file of a log/)
    expect(() => checkDumpable(`${file}.not`)).toThrow(/no such file/)
    try {
      checkDumpable(path.dirname(file))
    } catch (error) {
      expect(isTidemarkError(error, 'INVALID_ARGUMENT')).toBe(true)
    }
  })
})
