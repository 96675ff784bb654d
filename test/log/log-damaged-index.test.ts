/** Indexes have no checksum: whatever they say, a truncation cuts where the data says. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { SegmentReader } from '../../src/log/segment-reader.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { appendBatches, labelsOf, openLog } from './log-fixture.ts'

describe('a truncation led by an index of another truth', () => {
  it.each([
    ['beyond the file', () => 0x4000_0000],
    ['at the end of the file', (sizeBytes: number) => sizeBytes],
    ['within a batch', () => 100],
    ['at a later batch', (_: number, batchBytes: number) => 3 * batchBytes],
  ])('an entry that points %s', (_, positionOf) => {
    const directory = temporaryDirectory()
    const log = openLog({ directory, config: { indexIntervalBytes: 1_000_000 } })
    appendBatches(log, 1)
    const batchBytes = log.sizeBytes
    while (log.segmentCount < 3) appendBatches(log, 1)
    const labels = labelsOf(log)
    log.close()
    const name = '0'.repeat(20)
    const { size } = fs.statSync(path.join(directory, `${name}.log`))
    const entry = Buffer.alloc(8)
    entry.writeInt32BE(1, 0)
    entry.writeInt32BE(positionOf(size, batchBytes), 4)
    fs.writeFileSync(path.join(directory, `${name}.index`), entry)
    const again = openLog({ directory, cleanShutdown: true })
    again.truncateTo(4)
    expect(fs.statSync(path.join(directory, `${name}.log`)).size).toBe(2 * batchBytes)
    expect(labelsOf(again)).toEqual(labels.slice(0, 4))
  })
})

describe('a batch whose base offset was changed, which no CRC covers', () => {
  it('is not given to one who asked for what should be there', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    while (log.segmentCount < 2) appendBatches(log, 1)
    const end = log.logEndOffset
    log.close()
    const second = `${String(end - 2).padStart(20, '0')}.log`
    const bytes = fs.readFileSync(path.join(directory, second))
    bytes.writeBigInt64BE(0n, 0)
    fs.writeFileSync(path.join(directory, second), bytes)
    const reader = SegmentReader.open(directory)
    const memory = batchMemory(new ArrayBuffer(10_000))
    expect(() => reader.read(end - 2, end, 1_000, memory, 0)).toThrow(
      expect.objectContaining({ code: 'CORRUPT_MESSAGE' }),
    )
  })
})
