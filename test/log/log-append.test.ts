import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { leaderEpochAt, stampBatch } from '../../src/log/batch-header.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { payloadCopies } from '../../src/log/payload-copies.ts'
import {
  encodeBatch,
  labels,
  recordsIn,
  runOf,
  runOfRecords,
  stampedRun,
  textRecord,
  textRecords,
} from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { appendBatches, labelsOf, openLog, readAll } from './log-fixture.ts'

describe('the leader’s door', () => {
  it('gives offsets and epoch in place and writes exactly those bytes', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    const run = runOfRecords(textRecords(3, 'a'), textRecords(1, 'b'))
    log.append(run, 4)
    expect(log.logEndOffset).toBe(4)
    expect(leaderEpochAt(run.memory, run.positions[1])).toBe(4)
    const file = fs.readFileSync(path.join(directory, `${'0'.repeat(20)}.log`))
    expect(file).toEqual(Buffer.from(run.memory.bytes))
    expect(labelsOf(log)).toEqual(['0:a-0', '1:a-1', '2:a-2', '3:b-0'])
    expect(log.leaderEpochs.entries).toEqual([{ leaderEpoch: 4, startOffset: 0 }])
    expect(log.endPosition).toEqual({ segmentBase: 0, position: file.length })
  })

  it.each([1, 2, 3, 1_024, 1_025, 2_500])(
    'takes %d batches that lie apart in one call',
    (count) => {
      const config = { segmentBytes: 2 ** 30, indexIntervalBytes: 4096 }
      const batches = Array.from({ length: count }, (_, at) => encodeBatch([textRecord(`v${at}`)]))
      for (const gapBytes of [0, 7]) {
        const log = openLog({ config })
        log.append(runOf(batches, gapBytes), 0)
        expect(log.logEndOffset).toBe(count)
        expect(labelsOf(log)).toEqual(batches.map((_, at) => `${at}:v${at}`))
      }
    },
  )

  it('copies no payload', () => {
    const log = openLog()
    const run = runOfRecords(textRecords(3, 'a'), textRecords(1, 'b'))
    const before = payloadCopies.bytes
    log.append(run, 0)
    log.read(0, 4, 1_000, batchMemory(new SharedArrayBuffer(1_000)), 0)
    expect(payloadCopies.bytes).toBe(before)
  })

  it('takes no batch that is too large, nor the others of its run', () => {
    const log = openLog({ config: { maxMessageBytes: 200 } })
    const run = runOfRecords(textRecords(1, 'a'), [textRecord('x'.repeat(200))])
    expect(() => log.append(run, 0)).toThrow(
      expect.objectContaining({
        code: 'RECORD_TOO_LARGE',
        message: expect.stringContaining('200'),
      }),
    )
    expect([log.logEndOffset, log.sizeBytes, log.failure]).toEqual([0, 0, undefined])
    expect(leaderEpochAt(run.memory, 0)).toBe(-1)
    log.append(runOfRecords(textRecords(1, 'b')), 0)
    expect(labelsOf(log)).toEqual(['0:b-0'])
  })

  it('takes no batch larger than a segment', () => {
    const log = openLog({ config: { segmentBytes: 300 } })
    expect(() => log.append(runOfRecords([textRecord('x'.repeat(300))]), 0)).toThrow(
      expect.objectContaining({ code: 'RECORD_LIST_TOO_LARGE' }),
    )
  })

  it('takes nothing that isn’t a batch', () => {
    const log = openLog()
    const run = runOfRecords(textRecords(1, 'a'))
    run.memory.view.setInt32(8, 5_000)
    expect(() => log.append(run, 0)).toThrow(expect.objectContaining({ code: 'CORRUPT_MESSAGE' }))
    run.positions[0] = -1
    expect(() => log.append(run, 0)).toThrow(expect.objectContaining({ code: 'CORRUPT_MESSAGE' }))
    expect(log.sizeBytes).toBe(0)
  })
})

describe('the follower’s door', () => {
  it('writes the leader’s bytes, so that the files are equal, rolls included', () => {
    const [leaderDirectory, followerDirectory] = [temporaryDirectory(), temporaryDirectory()]
    const leader = openLog({ directory: leaderDirectory })
    const follower = openLog({ directory: followerDirectory })
    for (let at = 0; at < 30; at += 1) {
      const run = runOfRecords(textRecords(1 + (at % 3), `b${at}`), textRecords(2, `c${at}`))
      leader.append(run, at >>> 3)
      follower.appendReplicated(run)
    }
    expect(leader.segmentCount).toBeGreaterThan(2)
    leader.close()
    follower.close()
    const names = fs.readdirSync(leaderDirectory).sort()
    expect(fs.readdirSync(followerDirectory).sort()).toEqual(names)
    for (const name of names) {
      const bytes = fs.readFileSync(path.join(followerDirectory, name))
      expect(bytes.equals(fs.readFileSync(path.join(leaderDirectory, name))), name).toBe(true)
    }
  })

  it('is the same whether the batches come one by one or all at once', () => {
    const batches = Array.from({ length: 40 }, (_, at) => textRecords(1 + (at % 4), `b${at}`))
    const total = batches.reduce((sum, records) => sum + records.length, 0)
    const [one, all] = [temporaryDirectory(), temporaryDirectory()]
    const slow = openLog({ directory: one })
    let offset = 0
    for (const records of batches) {
      slow.appendReplicated(stampedRun([records], offset, 1))
      offset += records.length
    }
    const fast = openLog({ directory: all })
    fast.appendReplicated(stampedRun(batches, 0, 1))
    expect([slow.logEndOffset, fast.logEndOffset]).toEqual([total, total])
    slow.close()
    fast.close()
    expect(fs.readdirSync(all).sort()).toEqual(fs.readdirSync(one).sort())
    for (const name of fs.readdirSync(one)) {
      expect(fs.readFileSync(path.join(all, name))).toEqual(fs.readFileSync(path.join(one, name)))
    }
  })

  it.each([
    ['before the end', 3],
    ['after the end', 5],
  ])('refuses a batch that begins %s, and writes nothing', (_, baseOffset) => {
    const log = openLog()
    appendBatches(log, 2)
    const size = log.sizeBytes
    expect(() => log.appendReplicated(stampedRun([textRecords(1, 'x')], baseOffset, 0))).toThrow(
      expect.objectContaining({
        code: 'OFFSET_OUT_OF_RANGE',
        message: `a replicated batch begins at ${baseOffset}, expected is 4`,
      }),
    )
    expect([log.logEndOffset, log.sizeBytes, log.failure]).toEqual([4, size, undefined])
  })

  it('refuses a run with a gap in it, and writes nothing', () => {
    const log = openLog()
    const run = stampedRun([textRecords(2, 'a'), textRecords(2, 'b')], 0, 0)
    stampBatch(run.memory, run.positions[1], 3, 0)
    expect(() => log.appendReplicated(run)).toThrow(
      expect.objectContaining({ code: 'OFFSET_OUT_OF_RANGE' }),
    )
    expect([log.logEndOffset, log.sizeBytes]).toEqual([0, 0])
  })

  it('refuses epochs that go back, within a run too, and batches without one', () => {
    const log = openLog()
    log.appendReplicated(stampedRun([textRecords(2, 'a')], 0, 5))
    const older = stampedRun([textRecords(2, 'b')], 2, 4)
    expect(() => log.appendReplicated(older)).toThrow(
      expect.objectContaining({ code: 'FENCED_LEADER_EPOCH' }),
    )
    const mixed = stampedRun([textRecords(1, 'b'), textRecords(1, 'c')], 2, 7)
    stampBatch(mixed.memory, mixed.positions[1], 3, 6)
    expect(() => log.appendReplicated(mixed)).toThrow(
      expect.objectContaining({ code: 'FENCED_LEADER_EPOCH' }),
    )
    const unstamped = openLog()
    expect(() => unstamped.appendReplicated(runOfRecords(textRecords(1, 'a')))).toThrow(
      expect.objectContaining({ code: 'FENCED_LEADER_EPOCH' }),
    )
    expect([log.logEndOffset, unstamped.logEndOffset]).toEqual([2, 0])
    expect(log.leaderEpochs.entries).toEqual([{ leaderEpoch: 5, startOffset: 0 }])
  })

  it('learns the epochs from the batches', () => {
    const log = openLog()
    const run = stampedRun([textRecords(2, 'a'), textRecords(3, 'b'), textRecords(1, 'c')], 0, 1)
    stampBatch(run.memory, run.positions[1], 2, 3)
    stampBatch(run.memory, run.positions[2], 5, 3)
    log.appendReplicated(run)
    expect(log.leaderEpochs.entries).toEqual([
      { leaderEpoch: 1, startOffset: 0 },
      { leaderEpoch: 3, startOffset: 2 },
    ])
    expect(log.endOffsetFor(2)).toEqual({ leaderEpoch: 1, endOffset: 2 })
    expect(log.endOffsetFor(3)).toEqual({ leaderEpoch: 3, endOffset: 6 })
  })
})

describe('conformance 90: rolling', () => {
  it('keeps every segment within its bytes, and names it by its first offset', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    appendBatches(log, 60)
    const files = fs
      .readdirSync(directory)
      .filter((name) => name.endsWith('.log'))
      .sort()
    expect(files.length).toBe(log.segmentCount)
    expect(log.segmentCount).toBeGreaterThan(3)
    let total = 0
    for (const name of files) {
      const bytes = fs.readFileSync(path.join(directory, name))
      expect(bytes.length).toBeLessThanOrEqual(1_000)
      expect(Number(bytes.readBigInt64BE(0))).toBe(Number(name.slice(0, 20)))
      total += bytes.length
    }
    expect(log.sizeBytes).toBe(total)
    expect(readAll(log).map(({ offset }) => offset)).toEqual(
      Array.from({ length: 120 }, (_, at) => at),
    )
  })

  it('goes by the records’ time, counted from the first of the segment', () => {
    const log = openLog({ config: { segmentMs: 100 } })
    const at = (timestampMs: number) => log.append(runOfRecords([textRecord('x', timestampMs)]), 0)
    for (const timestampMs of [1_000, 1_100, 1_050]) at(timestampMs)
    expect(log.segmentCount).toBe(1)
    at(1_101)
    expect(log.segmentCount).toBe(2)
    at(1_201)
    expect(log.segmentCount).toBe(2)
    at(1_202)
    expect(log.segmentCount).toBe(3)
  })

  it('goes by the segment’s age where records have no time', () => {
    const clock = new ManualClock()
    const log = openLog({ clock, config: { segmentMs: 100 } })
    const append = () => log.append(runOfRecords([textRecord('x', -1)]), 0)
    append()
    clock.advance(100)
    append()
    expect(log.segmentCount).toBe(1)
    clock.advance(1)
    append()
    expect(log.segmentCount).toBe(2)
  })

  it('counts the time from the first record after a reopen too', () => {
    const directory = temporaryDirectory()
    const setup = { directory, config: { segmentMs: 100 } }
    const first = openLog(setup)
    first.append(runOfRecords([textRecord('x', 1_000)]), 0)
    first.close()
    const log = openLog({ ...setup, cleanShutdown: true })
    log.append(runOfRecords([textRecord('x', 1_100)]), 0)
    expect(log.segmentCount).toBe(1)
    log.append(runOfRecords([textRecord('x', 1_101)]), 0)
    expect(log.segmentCount).toBe(2)
  })

  it('goes by the index being full', () => {
    const config = { segmentBytes: 1e6, indexIntervalBytes: 0, segmentIndexBytes: 40 }
    const log = openLog({ config })
    appendBatches(log, 6)
    expect(log.segmentCount).toBe(1)
    appendBatches(log, 1)
    expect(log.segmentCount).toBe(2)
  })

  it('goes by offsets that an index entry couldn’t hold', () => {
    const log = openLog({ config: { segmentBytes: 1e6 } })
    const run = stampedRun([textRecords(1, 'a')], 0, 0)
    run.memory.view.setInt32(23, 2 ** 31 - 1)
    log.appendReplicated(run)
    expect([log.segmentCount, log.logEndOffset]).toEqual([1, 2 ** 31])
    log.appendReplicated(stampedRun([textRecords(2, 'b')], 2 ** 31, 0))
    expect([log.segmentCount, log.logEndOffset]).toEqual([2, 2 ** 31 + 2])
    expect(labels(readAll(log, 2 ** 31))).toEqual([`${2 ** 31}:b-0`, `${2 ** 31 + 1}:b-1`])
  })

  it('replaces what a file of that name held (RollSegmentThatAlreadyExists)', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    appendBatches(log, 1)
    for (let offset = 4; offset < 40; offset += 2) {
      fs.writeFileSync(path.join(directory, `${String(offset).padStart(20, '0')}.log`), 'left over')
      fs.writeFileSync(path.join(directory, `${String(offset).padStart(20, '0')}.index`), 'old')
    }
    appendBatches(log, 15)
    expect(log.segmentCount).toBeGreaterThan(1)
    expect(readAll(log)).toHaveLength(32)
  })
})

describe('reads', () => {
  it('begin with the batch that holds the offset, wherever it is asked for', () => {
    const log = openLog()
    appendBatches(log, 40, 3)
    const target = batchMemory(new SharedArrayBuffer(4_000))
    for (let offset = 119; offset >= 0; offset -= 1) {
      const bytes = log.read(offset, 120, 1, target, 100)
      const offsets = recordsIn(target, 100, bytes).map((record) => record.offset)
      const base = offset - (offset % 3)
      expect(offsets).toEqual([base, base + 1, base + 2])
    }
  })

  it('conformance 91: take whole batches up to the bytes and the end offset given', () => {
    const log = openLog({ config: { segmentBytes: 1e6 } })
    appendBatches(log, 10, 2)
    const target = batchMemory(new SharedArrayBuffer(4_000))
    const batchBytes = log.sizeBytes / 10
    const countOf = (endOffset: number, maxBytes: number) =>
      recordsIn(target, 0, log.read(4, endOffset, maxBytes, target, 0)).length
    expect(countOf(20, 4_000)).toBe(16)
    expect(countOf(10, 4_000)).toBe(6)
    expect(countOf(11, 4_000)).toBe(6)
    expect(countOf(5, 4_000)).toBe(0)
    expect(countOf(4, 4_000)).toBe(0)
    expect(countOf(99, 4_000)).toBe(16)
    expect(countOf(20, Math.ceil(batchBytes) * 2 + 10)).toBe(4)
    expect(countOf(20, 0)).toBe(2)
  })

  it('conformance 86: outside the log are refused, at its end are empty', () => {
    const log = openLog()
    appendBatches(log, 3)
    const target = batchMemory(new SharedArrayBuffer(1_000))
    expect(log.read(6, 100, 1_000, target, 0)).toBe(0)
    for (const offset of [-1, 7, Number.NaN]) {
      expect(() => log.read(offset, 100, 1_000, target, 0)).toThrow(
        expect.objectContaining({ code: 'OFFSET_OUT_OF_RANGE' }),
      )
    }
    expect(log.advanceLogStart(4)).toBe(true)
    expect(log.advanceLogStart(3)).toBe(false)
    expect(() => log.read(3, 100, 1_000, target, 0)).toThrow(
      expect.objectContaining({ code: 'OFFSET_OUT_OF_RANGE' }),
    )
    expect(() => log.advanceLogStart(7)).toThrow(
      expect.objectContaining({ code: 'OFFSET_OUT_OF_RANGE' }),
    )
  })

  it('say when not even one batch fits', () => {
    const log = openLog()
    appendBatches(log, 3)
    for (const room of [0, 10, 61, 70]) {
      const target = batchMemory(new SharedArrayBuffer(1_000))
      expect(() => log.read(0, 6, 1_000, target, 1_000 - room)).toThrow(
        expect.objectContaining({ code: 'RECORD_TOO_LARGE' }),
      )
    }
  })
})

describe('settings', () => {
  it.each([
    ['segmentBytes', 0],
    ['segmentBytes', 2 ** 31],
    ['segmentMs', 0],
    ['indexIntervalBytes', -1],
    ['segmentIndexBytes', 8],
    ['maxMessageBytes', 1.5],
  ])('%s %d is refused by name', (name, value) => {
    expect(() => openLog({ config: { [name]: value } })).toThrow(
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        message: expect.stringContaining(`${name} ${value}: allowed are`),
      }),
    )
  })
})
