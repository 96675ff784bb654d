import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.ts'
import { SeededRandom } from '../../../src/lab/statistics-random.ts'
import { batchMemory } from '../../../src/log/batch-memory.ts'
import { realFileSystem } from '../../../src/log/file-system.ts'
import { logConfigDefaults } from '../../../src/log/log-config.ts'
import type { PartitionLog } from '../../../src/log/partition-log.ts'
import { removeFiles } from '../../../src/log/retention/doomed-files.ts'
import { maxSegmentMs } from '../../../src/log/roll-time.ts'
import { SegmentReader } from '../../../src/log/segment-reader.ts'
import { runOfRecords, textRecords } from '../../support/batch-builder.ts'
import { MemoryFileSystem } from '../../support/memory-file-system.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { type LogSetup, labelsOf, openLog } from '../log-fixture.ts'

const nowMs = 100_000

/** One record a batch, five batches a segment, each a second newer than the one before. */
function fill(log: PartitionLog, records: number): void {
  for (let at = 0; at < records; at += 1) {
    const offset = log.logEndOffset
    log.append(runOfRecords(textRecords(1, `r${offset}`, offset * 1_000)), 0)
  }
}

function openFives(setup: LogSetup = {}): PartitionLog {
  const batchBytes = runOfRecords(textRecords(1, 'r10', 1)).memory.bytes.length
  const config = { segmentBytes: 5 * batchBytes, ...setup.config }
  return openLog({ ...setup, config })
}

function names(log: PartitionLog, ending: string): string[] {
  return readdirSync(log.directory)
    .filter((name) => name.endsWith(ending))
    .map((name) => String(Number.parseInt(name, 10)))
    .sort((a, b) => Number(a) - Number(b))
}

describe('a log that drops its beginning', () => {
  it.each([
    [1, 3],
    [6, 2],
    [15, 1],
  ])('96: after records before %i were deleted, %i of 3 segments are left', (start, left) => {
    const log = openFives()
    fill(log, 15)
    expect(log.segmentCount).toBe(3)
    expect(log.deleteRecordsBefore(start, 15)).toBe(start)
    log.deleteOldSegments({ nowMs, highWatermark: 15 })
    expect([log.segmentCount, log.logStartOffset, log.logEndOffset]).toEqual([left, start, 15])
    expect(labelsOf(log)).toHaveLength(15 - start)
  })

  it('93: deletes no record above the high watermark, and no segment that reaches beyond', () => {
    const log = openFives({ config: { retentionBytes: 0 } })
    fill(log, 15)
    expect(() => log.deleteRecordsBefore(8, 7)).toThrow(
      expect.objectContaining({ code: 'OFFSET_OUT_OF_RANGE' }),
    )
    expect(() => log.deleteRecordsBefore(-2, 7)).toThrow(
      expect.objectContaining({ code: 'OFFSET_OUT_OF_RANGE' }),
    )
    expect(log.deleteOldSegments({ nowMs, highWatermark: 9 })).toBe(1)
    expect([log.logStartOffset, log.segmentCount]).toEqual([5, 2])
    expect(log.deleteRecordsBefore(-1, 7)).toBe(7)
    expect(log.deleteRecordsBefore(3, 7)).toBe(7)
  })

  it('drops by age, and keeps a new segment when all had gone', () => {
    const log = openFives({ config: { retentionMs: 4_000 } })
    fill(log, 15)
    expect(log.deleteOldSegments({ nowMs: 13_500, highWatermark: 15 })).toBe(2)
    expect(log.logStartOffset).toBe(10)
    expect(log.deleteOldSegments({ nowMs: 19_000, highWatermark: 15 })).toBe(1)
    expect([log.logStartOffset, log.logEndOffset, log.sizeBytes]).toEqual([15, 15, 0])
    expect(log.deleteOldSegments({ nowMs: 99_000, highWatermark: 15 })).toBe(0)
    fill(log, 1)
    expect(labelsOf(log)).toEqual(['15:r15-0'])
  })

  it('takes the age of a segment of an earlier life from its file', () => {
    const directory = temporaryDirectory()
    const first = openFives({ directory })
    fill(first, 15)
    first.close()
    const config = { retentionMs: 4_000 }
    const log = openFives({ directory, config, cleanShutdown: true })
    expect(log.deleteOldSegments({ nowMs: 8_001, highWatermark: 15 })).toBe(1)
  })

  it('counts the age of records without a time from the last write to the file', () => {
    const log = openLog({ config: { retentionMs: 1_000 } })
    log.append(runOfRecords(textRecords(1, 'timeless', -1)), 0)
    const writtenMs = realFileSystem.modifiedMs(`${log.directory}/${'0'.repeat(20)}.log`)!
    expect(log.deleteOldSegments({ nowMs: writtenMs + 1_000, highWatermark: 1 })).toBe(0)
    expect(log.deleteOldSegments({ nowMs: writtenMs + 1_001, highWatermark: 1 })).toBe(1)
  })

  it('begins its epochs where it begins itself', () => {
    const log = openFives()
    fill(log, 5)
    log.append(runOfRecords(textRecords(5, 'later')), 3)
    log.deleteRecordsBefore(7, 10)
    expect(log.leaderEpochs.entries).toEqual([{ leaderEpoch: 3, startOffset: 7 }])
  })

  it('renames the files, and has them removed after the delay', () => {
    const clock = new ManualClock(nowMs)
    const log = openFives({ clock, config: { retentionBytes: 0, fileDeleteDelayMs: 500 } })
    fill(log, 15)
    log.deleteOldSegments({ nowMs, highWatermark: 10 })
    expect(names(log, '.log')).toEqual(['10'])
    expect(names(log, '.log.deleted')).toEqual(['0', '5'])
    expect(names(log, '.timeindex.deleted')).toEqual(['0', '5'])
    expect(log.doomed.takeDue(nowMs + 499)).toEqual([])
    removeFiles(realFileSystem, log.doomed.takeDue(nowMs + 500))
    expect(names(log, '.deleted')).toEqual([])
  })

  it('takes the rest of them away when it is opened again', () => {
    const directory = temporaryDirectory()
    const log = openFives({ directory, config: { retentionBytes: 0 } })
    fill(log, 15)
    log.deleteOldSegments({ nowMs, highWatermark: 10 })
    log.close()
    const again = openFives({ directory, cleanShutdown: true })
    expect(names(again, '.deleted')).toEqual([])
    expect([again.logStartOffset, again.logEndOffset]).toEqual([10, 15])
  })

  it('tells whoever reads what is gone, and lets an open file be read to its end', () => {
    const log = openFives({ config: { retentionBytes: 0 } })
    fill(log, 15)
    const target = batchMemory(new ArrayBuffer(4_096))
    const open = SegmentReader.open(log.directory)
    const late = SegmentReader.open(log.directory)
    expect(open.read(0, 15, 1, target, 0)).toBeGreaterThan(0)
    expect(late.read(12, 15, 1, target, 0)).toBeGreaterThan(0)
    log.deleteOldSegments({ nowMs, highWatermark: 10 })
    const outOfRange = expect.objectContaining({ code: 'OFFSET_OUT_OF_RANGE' })
    expect(() => log.read(9, 15, 4_096, target, 0)).toThrow(outOfRange)
    expect(() => late.read(9, 15, 4_096, target, 0)).toThrow(outOfRange)
    for (let offset = 1; offset < 5; offset += 1) {
      expect(open.read(offset, 15, 1, target, 0)).toBeGreaterThan(0)
    }
    expect(() => open.read(5, 15, 4_096, target, 0)).toThrow(outOfRange)
    expect(log.read(10, 15, 4_096, target, 0)).toBeGreaterThan(0)
  })

  it('98: begins anew at a written log start that lies beyond what the disk kept', () => {
    const directory = temporaryDirectory()
    const log = openFives({ directory })
    fill(log, 3)
    log.close()
    const again = openFives({ directory, logStartOffset: 4 })
    expect([again.logStartOffset, again.logEndOffset, again.segmentCount]).toEqual([4, 4, 1])
  })
})

describe('a log start that is written down first', () => {
  it('rises at once, and files go when it is known to be on disk', () => {
    const log = openFives({ config: { retentionBytes: 0 } })
    fill(log, 15)
    const now = { nowMs, highWatermark: 15 }
    expect(log.deleteOldSegments({ ...now, writtenLogStart: 0 })).toBe(0)
    expect([log.logStartOffset, log.segmentCount]).toEqual([15, 4])
    expect(log.deleteOldSegments({ ...now, writtenLogStart: 12 })).toBe(2)
    expect(names(log, '.log')).toEqual(['10', '15'])
    expect(log.deleteOldSegments({ ...now, writtenLogStart: 15 })).toBe(1)
    expect(names(log, '.log')).toEqual(['15'])
  })

  it('is what an opening goes by: segments below are removed', () => {
    const directory = temporaryDirectory()
    const log = openFives({ directory })
    fill(log, 15)
    log.close({ flush: false })
    const again = openFives({ directory, logStartOffset: 11 })
    expect([again.logStartOffset, again.segmentCount]).toEqual([11, 1])
    expect(labelsOf(again)).toHaveLength(4)
  })
})

describe('the power goes while the beginning goes', () => {
  it.each([undefined, 20])('no more is lost than had expired; written log start %s', (written) => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const fs = new MemoryFileSystem()
      fs.makeDirectory('/b/t-0')
      fs.syncDirectory('/')
      const at = { fs, directory: '/b/t-0', config: { retentionBytes: 0 } }
      const log = openFives(at)
      fill(log, 25)
      log.flush()
      fill(log, 3)
      const start = written === undefined ? {} : { writtenLogStart: written }
      log.deleteOldSegments({ nowMs, highWatermark: 22, ...start })
      fs.crash(new SeededRandom(seed), seed % 2 === 0 ? 'mixed' : undefined)
      const again = openFives({ ...at, logStartOffset: written ?? 0 })
      expect(again.logEndOffset, `seed ${seed}`).toBeGreaterThanOrEqual(25)
      expect(again.logStartOffset % 5).toBe(0)
      expect(labelsOf(again)).toHaveLength(again.logEndOffset - again.logStartOffset)
    }
  })
})

describe('the time to roll', () => {
  const config = { ...logConfigDefaults, segmentMs: 1_000 }

  it('is the same for all replicas, earlier by less than the jitter', () => {
    const jitter = { ...config, segmentJitterMs: 400 }
    const times = Array.from({ length: 200 }, (_, base) => maxSegmentMs(jitter, '/a/t-0', base))
    expect(times).toEqual(times.map((_, base) => maxSegmentMs(jitter, '/b/t-0', base)))
    expect(Math.min(...times)).toBeGreaterThan(600)
    expect(Math.max(...times)).toBeLessThanOrEqual(1_000)
    expect(new Set(times).size).toBeGreaterThan(100)
    expect(times).not.toEqual(times.map((_, base) => maxSegmentMs(jitter, '/a/t-1', base)))
  })

  it('is that of the settings without jitter, and of a compacted log no later than its lag', () => {
    expect(maxSegmentMs(config, '/a/t-0', 7)).toBe(1_000)
    expect(maxSegmentMs({ ...config, maxCompactionLagMs: 300 }, '/a/t-0', 7)).toBe(1_000)
    const compacted = { ...config, compacts: true, maxCompactionLagMs: 300 }
    expect(maxSegmentMs(compacted, '/a/t-0', 7)).toBe(300)
  })
})
