import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { AsyncSegmentReader } from '../../src/log/async-segment-reader.ts'
import { nextOffsetAt, sizeInBytesAt } from '../../src/log/batch-header.ts'
import { type BatchMemory, batchMemory } from '../../src/log/batch-memory.ts'
import { realFileSystem } from '../../src/log/file-system.ts'
import { OpenFiles } from '../../src/log/open-files.ts'
import { SegmentReader } from '../../src/log/segment-reader.ts'
import {
  labels,
  recordsIn,
  runOfRecords,
  textRecord,
  textRecords,
} from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { appendBatches, labelsOf, openLog } from './log-fixture.ts'

const roomBytes = 8_000

function target(): BatchMemory {
  return batchMemory(new SharedArrayBuffer(roomBytes))
}

/** Offset after the last of `bytes` bytes of batches. */
function endOf(memory: BatchMemory, bytes: number): number {
  let at = 0
  let next = -1
  while (at < bytes) {
    next = nextOffsetAt(memory, at)
    at += sizeInBytesAt(memory, at)
  }
  return next
}

interface AnyReader {
  read(
    offset: number,
    endOffset: number,
    maxBytes: number,
    target: BatchMemory,
    position: number,
  ): number | Promise<number>
  forget(): void | Promise<void>
  close(): void | Promise<void>
}

const kinds: readonly [string, (directory: string) => AnyReader][] = [
  ['SegmentReader', (directory) => SegmentReader.open(directory)],
  ['AsyncSegmentReader', (directory) => AsyncSegmentReader.open(directory)],
]

describe.each(kinds)('%s', (_, open) => {
  async function readTo(reader: AnyReader, from: number, end: number, maxBytes: number) {
    const memory = target()
    const found: string[] = []
    let offset = from
    while (offset < end) {
      const bytes = await reader.read(offset, end, maxBytes, memory, 0)
      expect(bytes).toBeGreaterThan(0)
      found.push(...labels(recordsIn(memory, 0, bytes)))
      offset = endOf(memory, bytes)
    }
    return found
  }

  it('follows the owner’s appends from every boundary, over rolls', async () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    const follower = open(directory)
    for (let round = 0; round < 30; round += 1) {
      const from = log.logEndOffset
      appendBatches(log, 1 + (round % 4), 1 + (round % 3))
      const all = labelsOf(log)
      expect(await readTo(follower, from, log.logEndOffset, 300)).toEqual(all.slice(from))
      const fresh = open(directory)
      for (let offset = 0; offset < log.logEndOffset; offset += 11) {
        const memory = target()
        const bytes = await fresh.read(offset, log.logEndOffset, 1, memory, 0)
        const offsets = recordsIn(memory, 0, bytes).map((record) => record.offset)
        expect(offsets).toContain(offset)
      }
      await fresh.close()
    }
    expect(log.segmentCount).toBeGreaterThan(3)
    expect(await readTo(follower, 0, log.logEndOffset, 500)).toEqual(labelsOf(log))
    await follower.close()
  })

  it('never believes a byte at or above the end offset', async () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory, config: { segmentBytes: 1e6 } })
    appendBatches(log, 6)
    const file = path.join(directory, `${'0'.repeat(20)}.log`)
    const whole = fs.readFileSync(file)
    const firstBytes = whole.readInt32BE(8) + 12
    for (let offset = 0; offset < 12; offset += 2) {
      const position = (offset / 2) * firstBytes
      for (const garbage of [0x00, 0xff, 0x02]) {
        const half = Buffer.concat([whole.subarray(0, position), Buffer.alloc(200, garbage)])
        fs.writeFileSync(file, half)
        const reader = open(directory)
        const memory = target()
        expect(await reader.read(0, offset, roomBytes, memory, 0)).toBe(position)
        expect(await reader.read(offset, offset, roomBytes, memory, 0)).toBe(0)
        await reader.close()
      }
    }
  })

  it('returns nothing of a batch that the end offset divides', async () => {
    const directory = temporaryDirectory()
    appendBatches(openLog({ directory }), 2, 3)
    const reader = open(directory)
    expect(await reader.read(0, 2, roomBytes, target(), 0)).toBe(0)
    expect(await readTo(reader, 0, 3, roomBytes)).toHaveLength(3)
    expect(await reader.read(3, 5, roomBytes, target(), 0)).toBe(0)
    await reader.close()
  })

  it('says when the offset’s segment was dropped, and goes on with what there is', async () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    appendBatches(log, 50)
    const reader = open(directory)
    await readTo(reader, 0, 4, 1)
    const files = fs
      .readdirSync(directory)
      .filter((name) => name.endsWith('.log'))
      .sort()
    const second = Number(files[1].slice(0, 20))
    for (const name of files.slice(0, 1)) fs.rmSync(path.join(directory, name))
    await reader.forget()
    await expect(async () => reader.read(4, 100, 500, target(), 0)).rejects.toThrow(
      expect.objectContaining({
        code: 'OFFSET_OUT_OF_RANGE',
        message: expect.stringContaining(String(second)),
      }),
    )
    expect(await readTo(reader, second, 100, 500)).toHaveLength(100 - second)
    await reader.close()
  })

  it('finds its way after the log was truncated and written anew', async () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    appendBatches(log, 40)
    const reader = open(directory)
    await readTo(reader, 0, 70, 300)
    log.truncateTo(20)
    log.append(runOfRecords(textRecords(7, 'other'), textRecords(60, 'more')), 5)
    await reader.forget()
    expect(await readTo(reader, 0, log.logEndOffset, roomBytes)).toEqual(labelsOf(log))
    log.truncateFullyAndStartAt(500)
    appendBatches(log, 3)
    await reader.forget()
    expect(await readTo(reader, 500, 506, 300)).toEqual(labelsOf(log))
    await reader.close()
  })

  it('is not misled by an index that is wrong', async () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    appendBatches(log, 40)
    const all = labelsOf(log)
    log.close()
    for (const name of fs.readdirSync(directory).filter((each) => each.endsWith('.index'))) {
      const bytes = fs.readFileSync(path.join(directory, name))
      for (let at = 4; at < bytes.length; at += 8)
        bytes.writeInt32BE(bytes.readInt32BE(at) + 13, at)
      fs.writeFileSync(path.join(directory, name), bytes)
    }
    for (let offset = 0; offset < 80; offset += 2) {
      const reader = open(directory)
      expect(await readTo(reader, offset, 80, roomBytes)).toEqual(all.slice(offset))
      await reader.close()
    }
  })

  it('names where a batch should be and isn’t', async () => {
    const directory = temporaryDirectory()
    appendBatches(openLog({ directory }), 4)
    fs.writeFileSync(path.join(directory, `${'0'.repeat(20)}.log`), Buffer.alloc(500))
    const reader = open(directory)
    await expect(async () => reader.read(2, 8, 500, target(), 0)).rejects.toThrow(
      expect.objectContaining({ code: 'CORRUPT_MESSAGE' }),
    )
    await reader.close()
  })

  it('without any segment says so', async () => {
    for (const directory of [temporaryDirectory(), path.join(temporaryDirectory(), 'none')]) {
      await expect(async () => open(directory).read(0, 8, 500, target(), 0)).rejects.toThrow(
        expect.objectContaining({ code: 'OFFSET_OUT_OF_RANGE' }),
      )
    }
  })
})

describe('a hint', () => {
  it('leads straight to the batch, and is no more than a hint', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    appendBatches(log, 30)
    const place = log.endPosition
    const from = log.logEndOffset
    appendBatches(log, 3)
    let lists = 0
    const counting = {
      ...realFileSystem,
      list: (directory: string) => {
        lists += 1
        return realFileSystem.list(directory)
      },
    }
    const hinted = SegmentReader.open(directory, { fs: counting })
    const memory = target()
    const bytes = hinted.readFrom(from, place, from + 6, roomBytes, memory, 0)
    expect(labels(recordsIn(memory, 0, bytes))).toEqual(labelsOf(log).slice(from))
    expect(lists).toBe(0)
    hinted.close()
    const wrong = [
      { segmentBase: place.segmentBase, position: place.position + 7 },
      { segmentBase: place.segmentBase, position: 0 },
      { segmentBase: 3, position: 0 },
      { segmentBase: 0, position: 1e9 },
    ]
    for (const each of wrong) {
      const reader = SegmentReader.open(directory)
      const count = reader.readFrom(from, each, from + 2, roomBytes, memory, 0)
      expect(labels(recordsIn(memory, 0, count))).toEqual(labelsOf(log).slice(from, from + 2))
      reader.close()
    }
  })
})

describe('readers of one thread', () => {
  it('share a budget of open files', () => {
    const files = new OpenFiles(realFileSystem, 2)
    const directories = Array.from({ length: 5 }, () => temporaryDirectory())
    for (const directory of directories) appendBatches(openLog({ directory }), 3)
    const readers = directories.map((directory) => SegmentReader.open(directory, { files }))
    for (let offset = 0; offset < 6; offset += 2) {
      for (const reader of readers) {
        expect(reader.read(offset, 6, 1, target(), 0)).toBeGreaterThan(0)
        expect(files.openCount).toBeLessThanOrEqual(2)
      }
    }
    for (const reader of readers) reader.close()
    expect(files.openCount).toBe(0)
  })

  it('read on without a search where they ended', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory, config: { segmentBytes: 1e6 } })
    for (let at = 0; at < 20; at += 1) log.append(runOfRecords([textRecord('x'.repeat(100))]), 0)
    let reads = 0
    const counting = {
      ...realFileSystem,
      read: (...given: Parameters<typeof realFileSystem.read>) => {
        reads += 1
        return realFileSystem.read(...given)
      },
    }
    const reader = SegmentReader.open(directory, { fs: counting })
    reader.read(0, 20, 400, target(), 0)
    const before = reads
    for (let offset = 2; offset < 20; offset += 2) reader.read(offset, 20, 400, target(), 0)
    expect(reads - before).toBe(9)
    reader.close()
  })
})
