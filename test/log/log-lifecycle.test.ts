/** A log alone over its lives: closed, crashed, failed, cut, and lent to somebody else. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { Log } from '../../src/log/log.ts'
import type { RecoveryProgress } from '../../src/log/log-recovery.ts'
import { FaultyFileSystem } from '../support/faulty-file-system.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'
import { copyDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { appendBatches, openLog } from './log-fixture.ts'

const codeOf = (code: string) => expect.objectContaining({ name: 'TidemarkError', code })
const clock = new ManualClock()

function append(log: Log, ...values: readonly string[]): void {
  log.append(values.map((value) => ({ value })))
}

function texts(log: Log): string[] {
  return [...log.records()].map(({ offset, value }) => `${offset}:${Buffer.from(value!)}`)
}

function stateOf(directory: string): string[] {
  const file = path.join(directory, 'standalone-checkpoint')
  return fs.readFileSync(file, 'utf8').trimEnd().split('\n').slice(2)
}

describe('the directory', () => {
  it('belongs to one log at a time, and is free again after its end', async () => {
    const directory = path.join(temporaryDirectory(), 'deep', 'orders-0')
    const log = await Log.open(directory)
    await expect(Log.open(directory)).rejects.toEqual(codeOf('DIRECTORY_IN_USE'))
    append(log, 'a')
    await log.close()
    await log.close()
    const again = await Log.open(directory)
    expect(texts(again)).toEqual(['0:a'])
    await again.close()
  })

  it('is free again when opening it failed', async () => {
    const directory = temporaryDirectory()
    const topicId = 'AAAAAAAAAAAAAAAAAAAAAA'
    await (await Log.open(directory, {}, { topicId })).close()
    const other = Log.open(directory, {}, { topicId: 'BBBBBBBBBBBBBBBBBBBBBB' })
    await expect(other).rejects.toEqual(codeOf('INCONSISTENT_TOPIC_ID'))
    await (await Log.open(directory, {}, { topicId })).close()
  })

  it.each([
    ['another version', '1\n0\n'],
    ['an unknown entry', '0\n1\nrecovery-line 5\n'],
    ['no number', '0\n1\nrecovery-point x\n'],
    ['too few lines', '0\n2\nrecovery-point 5\n'],
  ])('is refused with a checkpoint of %s', async (_, text) => {
    const directory = temporaryDirectory()
    fs.writeFileSync(path.join(directory, 'standalone-checkpoint'), text)
    const opening = Log.open(directory)
    await expect(opening).rejects.toEqual(codeOf('CORRUPT_FILE'))
    await expect(opening).rejects.toThrow('standalone-checkpoint line')
  })

  it('says nothing of a clean end while the log is open', async () => {
    const directory = temporaryDirectory()
    const log = await Log.open(directory)
    append(log, 'a', 'b')
    await log.close()
    const closed = ['recovery-point 2', 'log-start-offset 0', 'clean-end-offset 2']
    expect(stateOf(directory)).toEqual(closed)
    const again = await Log.open(directory)
    expect(stateOf(directory)).toEqual(closed.slice(0, 2))
    await again.close()
    expect(stateOf(directory)).toEqual(closed)
  })
})

describe('after a crash', () => {
  it('what was flushed is there, and what was not may be', async () => {
    const random = new SeededRandom(7)
    for (let round = 0; round < 60; round += 1) {
      const disk = new MemoryFileSystem()
      const config = { 'segment.bytes': 16_384, 'batch.size': 2_000 }
      const log = await Log.open('/log', config, { fs: disk, clock })
      let flushed = 0
      for (let at = 0; at < 30; at += 1) {
        append(log, ...Array.from({ length: 1 + random.nextBelow(4) }, () => 'x'.repeat(700)))
        if (random.nextBelow(4) > 0) continue
        await log.flush()
        flushed = log.logEndOffset
        expect(log.recoveryPoint).toBe(flushed)
      }
      const end = log.logEndOffset
      disk.crash(random)
      const again = await Log.open('/log', config, { fs: disk, clock })
      expect(again.logEndOffset).toBeGreaterThanOrEqual(flushed)
      expect(again.logEndOffset).toBeLessThanOrEqual(end)
      const offsets = [...again.records()].map(({ offset }) => offset)
      expect(offsets).toEqual(Array.from({ length: again.logEndOffset }, (_, at) => at))
    }
  })

  it('is read again segment by segment, told each time, and lets others work between', async () => {
    const directory = path.join(temporaryDirectory(), 'orders-0')
    const log = await Log.open(directory, { 'segment.bytes': 16_384, 'batch.size': 2_000 })
    for (let at = 0; at < 60; at += 1) append(log, 'x'.repeat(1_500))
    const { segmentCount, sizeBytes } = log
    expect(segmentCount).toBeGreaterThan(4)
    const copy = copyDirectory(directory)
    await log.close()
    let turns = 0
    let isOpen = false
    const turn = () => {
      turns += 1
      if (!isOpen) setImmediate(turn)
    }
    setImmediate(turn)
    const told: RecoveryProgress[] = []
    const again = await Log.open(copy, {}, { onRecovery: (progress) => told.push(progress) })
    isOpen = true
    expect(told.at(-1)).toEqual({ doneBytes: sizeBytes, totalBytes: sizeBytes })
    expect(told.map(({ doneBytes }) => doneBytes)).toEqual(
      told.map(({ doneBytes }) => doneBytes).toSorted((a, b) => a - b),
    )
    expect([told.length, turns >= segmentCount]).toEqual([segmentCount, true])
    expect(again.logEndOffset).toBe(60)
    await again.close()
    const clean = vi.fn()
    await (await Log.open(copy, {}, { onRecovery: clean })).close()
    expect(clean).not.toHaveBeenCalled()
  })

  it('each append is there with flush.messages 1', async () => {
    const disk = new MemoryFileSystem()
    const log = await Log.open('/log', { 'flush.messages': 1 }, { fs: disk, clock })
    append(log, 'a')
    append(log, 'b', 'c')
    expect(log.recoveryPoint).toBe(3)
    disk.crash(new SeededRandom(1), 'none')
    const again = await Log.open('/log', {}, { fs: disk, clock })
    expect(texts(again)).toEqual(['0:a', '1:b', '2:c'])
  })

  it('records that were deleted or cut off do not come back', async () => {
    const random = new SeededRandom(3)
    for (let round = 0; round < 20; round += 1) {
      const disk = new MemoryFileSystem()
      const log = await Log.open('/log', {}, { fs: disk, clock })
      for (const value of 'abcdefgh') append(log, value)
      await log.flush()
      expect(log.truncateTo(6)).toBe(true)
      expect(log.deleteRecordsBefore(2)).toBe(2)
      append(log, 'new')
      await log.flush()
      disk.crash(random)
      const again = await Log.open('/log', {}, { fs: disk, clock })
      expect(texts(again)).toEqual(['2:c', '3:d', '4:e', '5:f', '6:new'])
      expect(again.deleteRecordsBefore(-1)).toBe(7)
      disk.crash(random)
      const empty = await Log.open('/log', {}, { fs: disk, clock })
      expect(empty.describe()).toMatchObject({ logStartOffset: 7, logEndOffset: 7 })
    }
  })
})

describe('what the log drops', () => {
  const config = {
    'segment.bytes': 16_384,
    'retention.ms': 1_000,
    'file.delete.delay.ms': 50,
  }

  it('goes by age when it is asked to, and its files a while later', async () => {
    const directory = temporaryDirectory()
    const own = new ManualClock()
    const log = await Log.open(directory, config, { clock: own })
    for (let at = 0; at < 10; at += 1) append(log, 'x'.repeat(4_000))
    const segments = log.segmentCount
    expect(log.deleteOldSegments()).toBe(0)
    own.advance(1_001)
    append(log, 'young')
    expect(log.deleteOldSegments()).toBe(segments - 1)
    expect(log.segmentCount).toBe(1)
    expect(log.logStartOffset).toBeGreaterThan(0)
    expect(() => log.records({ fromOffset: 0 })).toThrow(codeOf('OFFSET_OUT_OF_RANGE'))
    expect(stateOf(directory)).toContain(`log-start-offset ${log.logStartOffset}`)
    const deleted = () => fs.readdirSync(directory).filter((name) => name.endsWith('.deleted'))
    expect(deleted().length).toBeGreaterThan(0)
    own.advance(51)
    expect(log.deleteOldSegments()).toBe(0)
    expect(deleted()).toEqual([])
    const start = log.logStartOffset
    await log.close()
    const again = await Log.open(directory, config)
    expect(again.logStartOffset).toBe(start)
    await again.close()
  })

  it('goes by itself when a retention is set, and only then', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const own = new ManualClock()
    const log = await Log.open(temporaryDirectory(), config, { clock: own })
    const keeper = await Log.open(temporaryDirectory(), { 'segment.bytes': 16_384 }, { clock: own })
    for (const each of [log, keeper]) {
      for (let at = 0; at < 10; at += 1) append(each, 'x'.repeat(4_000))
    }
    own.advance(1e12)
    vi.advanceTimersByTime(300_000)
    expect(log.logStartOffset).toBe(10)
    expect(keeper.logStartOffset).toBe(0)
    expect(keeper.deleteOldSegments()).toBe(0)
    await log.close()
    vi.advanceTimersByTime(600_000)
  })

  it('is given back of what was deleted by offset', async () => {
    const log = await Log.open(temporaryDirectory(), { 'segment.bytes': 16_384 })
    for (let at = 0; at < 10; at += 1) append(log, 'x'.repeat(4_000))
    expect(log.deleteRecordsBefore(9)).toBe(9)
    expect(log.deleteRecordsBefore(3)).toBe(9)
    expect(log.segmentCount).toBeGreaterThan(1)
    log.deleteOldSegments()
    expect(log.segmentCount).toBe(1)
    for (const offset of [11, -2, 2.5, Number.NaN]) {
      expect(() => log.deleteRecordsBefore(offset)).toThrow(codeOf('OFFSET_OUT_OF_RANGE'))
    }
  })

  it('reaches the disk by itself with flush.ms', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const log = await Log.open(temporaryDirectory(), { 'flush.ms': 20 })
    append(log, 'a')
    append(log, 'b')
    vi.advanceTimersByTime(19)
    expect(log.recoveryPoint).toBe(0)
    vi.advanceTimersByTime(1)
    while (log.recoveryPoint < 2) await new Promise((resolve) => setImmediate(resolve))
    await log.close()
  })
})

describe('when others had the directory', () => {
  it('what they appended is checked before it is read', async () => {
    const directory = temporaryDirectory()
    const log = await Log.open(directory)
    append(log, 'a', 'b')
    await log.close()
    const other = openLog({ directory, cleanShutdown: true })
    appendBatches(other, 2)
    other.close()
    // The last of it was damaged: without a look at it nobody would know.
    const file = path.join(directory, `${'0'.repeat(20)}.log`)
    const bytes = fs.readFileSync(file)
    bytes[bytes.length - 1]! ^= 1
    fs.writeFileSync(file, bytes)
    const again = await Log.open(directory)
    expect(texts(again)).toEqual(['0:a', '1:b', '2:b2-0', '3:b2-1'])
    append(again, 'mine')
    expect(texts(again).at(-1)).toBe('4:mine')
  })

  it('what Apache Kafka wrote is read, and appended to', async () => {
    const kafka = path.join(import.meta.dirname, '../fixtures/kafka-4.4/codec-zstd-0')
    const directory = copyDirectory(kafka)
    const log = await Log.open(directory, { 'compression.type': 'zstd' })
    const before = [...log.records()]
    expect(before.length).toBeGreaterThan(0)
    const { baseOffset } = log.append([{ key: 'ours', value: 'ours' }])
    expect(baseOffset).toBe(before.at(-1)!.offset + 1)
    await log.close()
    const again = await Log.open(directory)
    expect([...again.records()].length).toBe(before.length + 1)
    await again.close()
  })
})

describe('after its end', () => {
  const calls: readonly [string, (log: Log) => unknown][] = [
    ['append', (log) => log.append([{ value: 'x' }])],
    ['append of nothing', (log) => log.append([])],
    ['appendBatches', (log) => log.appendBatches(new Uint8Array(0))],
    ['truncateTo', (log) => log.truncateTo(0)],
    ['deleteRecordsBefore', (log) => log.deleteRecordsBefore(0)],
    ['flush', (log) => log.flush()],
  ]
  const reads: readonly [string, (log: Log) => unknown][] = [
    ['records', (log) => [...log.records()]],
    ['batches', (log) => [...log.batches()]],
    ['offsetForTimestamp', (log) => log.offsetForTimestamp(0)],
    ['maxTimestampOffset', (log) => log.maxTimestampOffset()],
  ]

  it.each([...calls, ...reads, ['follow', (log: Log) => log.follow()] as const])(
    'a closed log refuses %s',
    async (_, call) => {
      const log = await Log.open(temporaryDirectory())
      append(log, 'a')
      const open = log.records()
      await log.close()
      await expect((async () => call(log))()).rejects.toEqual(codeOf('BROKER_CLOSED'))
      expect(() => open.next()).toThrow(codeOf('BROKER_CLOSED'))
      expect(log.describe()).toMatchObject({ logEndOffset: 1 })
    },
  )

  it('a failed log is read, refuses all else, and is recovered when it is opened again', async () => {
    const disk = new FaultyFileSystem(new MemoryFileSystem(), new SeededRandom(1))
    const log = await Log.open('/log', {}, { fs: disk, clock })
    append(log, 'a', 'b')
    await log.flush()
    append(log, 'c')
    disk.goodSyncs = 0
    await expect(log.flush()).rejects.toEqual(codeOf('KAFKA_STORAGE_ERROR'))
    expect(log.failure).toEqual(codeOf('KAFKA_STORAGE_ERROR'))
    for (const [, call] of calls) {
      const failed = expect((async () => call(log))()).rejects
      await failed.toMatchObject({ code: 'KAFKA_STORAGE_ERROR', cause: log.failure })
    }
    for (const [, call] of reads) call(log)
    expect(texts(log)).toEqual(['0:a', '1:b', '2:c'])
    await log.close()
    disk.disk.crash(new SeededRandom(2))
    disk.clearFaults()
    const again = await Log.open('/log', {}, { fs: disk, clock })
    expect(texts(again)).toEqual(['0:a', '1:b'])
  })
})
