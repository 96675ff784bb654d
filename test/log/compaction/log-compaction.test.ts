import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../../src/errors.ts'
import { batchMemory } from '../../../src/log/batch-memory.ts'
import { Cleaner } from '../../../src/log/compaction/cleaner.ts'
import { SegmentReader } from '../../../src/log/segment-reader.ts'
import { stampedRun, textRecords } from '../../support/batch-builder.ts'
import {
  compact,
  contents,
  directory,
  newDisk,
  openKeyed,
  put,
  roll,
  withoutRolls,
} from './keyed-log.ts'

const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const

describe('a compacted log', () => {
  it.each(codecs)('keeps the latest record of each key where it was, codec %s', (compression) => {
    const fs = newDisk()
    const log = openKeyed(fs)
    put(log, ['a=1 b=1 c=1', 'a=2 d=1', 'b=2'], { compression })
    put(log, ['a=3 a=4 a=5 e=1'], { compression })
    roll(log)
    put(log, ['d=2'])
    const end = log.logEndOffset
    const result = compact(fs, log)!
    expect(withoutRolls(contents(log))).toEqual([
      '2:c=1',
      '4:d=1',
      '5:b=2',
      '8:a=5',
      '9:e=1',
      `${end - 1}:d=2`,
    ])
    expect(log.logEndOffset).toBe(end)
    expect(result.recordsKept).toBeLessThan(result.recordsRead)
  })

  it('does not touch what is above the last stable offset, nor the segment written to', () => {
    const fs = newDisk()
    const log = openKeyed(fs)
    put(log, ['a=1'])
    roll(log)
    const first = log.logEndOffset - 1
    put(log, ['a=2'])
    roll(log)
    put(log, ['a=3', 'a=4'])
    expect(compact(fs, log, { lastStableOffset: first - 1 })).toBeUndefined()
    compact(fs, log, { lastStableOffset: log.segmentCount > 2 ? first : 0 })
    expect(withoutRolls(contents(log)).map((label) => label.split(':')[1])).toEqual([
      'a=1',
      'a=2',
      'a=3',
      'a=4',
    ])
    compact(fs, log)
    expect(withoutRolls(contents(log)).map((label) => label.split(':')[1])).toEqual([
      'a=2',
      'a=3',
      'a=4',
    ])
  })

  it('keeps tombstones until their horizon, which the first compaction sets', () => {
    const fs = newDisk()
    const log = openKeyed(fs, { config: { deleteRetentionMs: 500 } })
    put(log, ['a=1 b=1', 'a='])
    roll(log)
    compact(fs, log, { nowMs: 10_000 })
    expect(withoutRolls(contents(log))).toEqual(['1:b=1', '2:a='])
    const again = (nowMs: number) => {
      roll(log)
      compact(fs, log, { nowMs })
      return withoutRolls(contents(log))
    }
    expect(again(10_499)).toEqual(['1:b=1', '2:a='])
    expect(again(10_500)).toEqual(['1:b=1'])
  })

  it('goes on where it ended, and merges small segments', () => {
    const fs = newDisk()
    const log = openKeyed(fs)
    for (let round = 0; round < 5; round += 1) {
      put(log, [`a=${round}`, `b=${round}`])
      roll(log)
    }
    const before = log.segmentCount
    compact(fs, log)
    expect(log.compaction.cleanedOffset).toBe(log.logEndOffset - 1)
    expect(log.segmentCount).toBeLessThanOrEqual(before)
    put(log, ['a=9'])
    roll(log)
    compact(fs, log)
    expect(withoutRolls(contents(log)).map((label) => label.split(':')[1])).toEqual(['b=4', 'a=9'])
  })

  it('does its work in rounds when the keys need more memory than there is', () => {
    const fs = newDisk()
    const log = openKeyed(fs)
    for (let at = 0; at < 300; at += 1) put(log, [`key-${at % 100}=${at}`])
    roll(log)
    let rounds = 0
    while (compact(fs, log, { mapBytes: 24 * 23 }) !== undefined) rounds += 1
    expect(rounds).toBeGreaterThan(4)
    const left = withoutRolls(contents(log))
    for (let key = 0; key < 100; key += 1) {
      expect(left).toContain(`${200 + key}:key-${key}=${200 + key}`)
    }
    // A record whose successor lies in a later round has gone with that round.
    expect(left).toHaveLength(100)
  })

  it('refuses records without a key, one by one or in a batch', () => {
    const log = openKeyed(newDisk())
    const refuse = (text: string) => {
      try {
        put(log, [text])
        return 'taken'
      } catch (error) {
        return isTidemarkError(error) ? error.code : String(error)
      }
    }
    expect(refuse('=1')).toBe('INVALID_RECORD')
    expect(refuse('a=1 =2')).toBe('INVALID_RECORD')
    expect(refuse('a=1 b=2')).toBe('taken')
    expect(log.logEndOffset).toBe(2)
  })

  it('drops records without a key that it has from before', () => {
    const fs = newDisk()
    const before = openKeyed(fs, { config: { compacts: false } })
    put(before, ['=1 a=1', '=2'])
    roll(before)
    before.close()
    const log = openKeyed(fs, { cleanShutdown: true })
    compact(fs, log)
    expect(withoutRolls(contents(log))).toEqual(['1:a=1'])
  })
})

describe('a compaction beside other things', () => {
  it('lets appends go on between any two steps', () => {
    const fs = newDisk()
    const log = openKeyed(fs)
    for (let at = 0; at < 40; at += 1) put(log, [`a=${at} b=${at}`])
    const now = { nowMs: 5_000, lastStableOffset: log.logEndOffset }
    const cleaner = new Cleaner(fs, log.compaction.plan(now, 10_000)!)
    let steps = 0
    while (cleaner.step() > 0) {
      put(log, [`c=${steps}`])
      steps += 1
    }
    const before = contents(log)
    expect(log.compaction.replace(cleaner.result)).toBeGreaterThan(3)
    const after = contents(log)
    expect(after.length).toBeLessThan(before.length)
    expect(before).toEqual(expect.arrayContaining(after))
    for (let at = 0; at < steps; at += 1) {
      expect(after.some((label) => label.endsWith(`c=${at}`))).toBe(true)
    }
  })

  it.each([
    ['was cut', (log: ReturnType<typeof openKeyed>) => log.truncateTo(3)],
    ['began anew', (log: ReturnType<typeof openKeyed>) => log.truncateFullyAndStartAt(500)],
    [
      'lost its beginning',
      (log: ReturnType<typeof openKeyed>) => {
        log.deleteRecordsBefore(-1, log.logEndOffset)
        log.deleteOldSegments({ nowMs: 0, highWatermark: log.logEndOffset })
      },
    ],
  ])('is not taken by a log that %s meanwhile', (_, change) => {
    const fs = newDisk()
    const log = openKeyed(fs)
    for (let at = 0; at < 40; at += 1) put(log, [`a=${at}`])
    const now = { nowMs: 5_000, lastStableOffset: log.logEndOffset }
    const cleaner = new Cleaner(fs, log.compaction.plan(now, 10_000)!)
    while (cleaner.step() > 0);
    change(log)
    put(log, ['z=1'])
    const before = contents(log)
    expect(log.compaction.replace(cleaner.result)).toBe(0)
    expect(contents(log)).toEqual(before)
    log.close()
    const again = openKeyed(fs, { cleanShutdown: true, logStartOffset: log.logStartOffset })
    expect(contents(again)).toEqual(before)
    expect(fs.list(directory)!.filter((name) => name.endsWith('.cleaned'))).toEqual([])
  })

  it('leaves a reader in another thread nothing to miss, wherever it is', () => {
    for (let position = 0; position < 40; position += position < 6 ? 1 : 4) {
      const fs = newDisk()
      const small = openKeyed(fs)
      for (let at = 0; at < 40; at += 1) put(small, [`k${at}=1`, `a=${at}`])
      small.close()
      // Some segments become one, at the place where the reader is or before or behind it.
      const log = openKeyed(fs, { cleanShutdown: true, config: { segmentBytes: 1_200 } })
      const end = log.logEndOffset
      const reader = SegmentReader.open(directory, { fs })
      const target = batchMemory(new ArrayBuffer(4_096))
      const seen: number[] = []
      let offset = 0
      let isCompacted = false
      while (offset < end) {
        if (offset >= 2 * position && !isCompacted) {
          compact(fs, log)
          log.flush()
          isCompacted = true
        }
        // The first time told where to look, as a follower is: then it has listed nothing yet.
        const bytes =
          offset === 0
            ? reader.readFrom(0, { segmentBase: 0, position: 0 }, end, 100, target, 0)
            : reader.read(offset, end, 100, target, 0)
        expect(bytes, `at ${offset}, compacted before ${2 * position}`).toBeGreaterThan(0)
        let at = 0
        while (at < bytes) {
          seen.push(Number(target.view.getBigInt64(at)))
          offset = seen.at(-1)! + target.view.getInt32(at + 23) + 1
          at += target.view.getInt32(at + 8) + 12
        }
      }
      // All keys but `a` occur once: their records are at the even offsets.
      expect(seen.filter((each) => each % 2 === 0)).toHaveLength(40)
    }
  })

  it('takes gaps from a leader that has compacted, and from nobody else', () => {
    const log = openKeyed(newDisk())
    log.appendReplicated(stampedRun([textRecords(2, 'x')], 0, 0))
    const apart = stampedRun([textRecords(2, 'y')], 7, 0)
    expect(() => log.appendReplicated(apart)).toThrow(
      expect.objectContaining({ code: 'OFFSET_OUT_OF_RANGE' }),
    )
    log.appendReplicated(apart, 'allowed')
    expect(log.logEndOffset).toBe(9)
    const back = stampedRun([textRecords(2, 'y')], 8, 0)
    expect(() => log.appendReplicated(back, 'allowed')).toThrow(
      expect.objectContaining({ code: 'OFFSET_OUT_OF_RANGE' }),
    )
  })
})
