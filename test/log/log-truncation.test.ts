import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { readLeaderEpochs } from '../../src/log/leader-epochs.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import {
  labels,
  recordsIn,
  runOfRecords,
  stampedRun,
  textRecord,
  textRecords,
} from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { appendBatches, labelsOf, openLog, readAll } from './log-fixture.ts'

function lengthsOf(log: ReturnType<typeof openLog>): number[] {
  return [log.logStartOffset, log.logEndOffset, readAll(log).length]
}

describe('conformance 95: truncateTo', () => {
  const batches = 24

  it('cuts to each batch’s start, goes on from there, and survives both ways of reopening', () => {
    for (let offset = 0; offset <= 2 * batches; offset += 2) {
      const directory = temporaryDirectory()
      const log = openLog({ directory })
      appendBatches(log, batches)
      const before = labelsOf(log)
      expect(log.truncateTo(offset)).toBe(offset < 2 * batches)
      expect(log.logEndOffset).toBe(offset)
      expect(labelsOf(log)).toEqual(before.slice(0, offset))
      log.append(runOfRecords(textRecords(1, 'after')), 3)
      const after = [...before.slice(0, offset), `${offset}:after-0`]
      expect(labelsOf(log)).toEqual(after)
      log.close()
      for (const cleanShutdown of [true, false]) {
        const again = openLog({ directory, cleanShutdown })
        expect(labelsOf(again)).toEqual(after)
        expect(again.sizeBytes).toBe(log.sizeBytes)
        again.close()
      }
    }
  })

  it('cuts whole batches: one that holds the offset goes too, and the end is the offset', () => {
    const log = openLog()
    appendBatches(log, 4, 3)
    expect(log.truncateTo(7)).toBe(true)
    expect(log.logEndOffset).toBe(7)
    const target = batchMemory(new SharedArrayBuffer(1_000))
    expect(recordsIn(target, 0, log.read(0, 7, 1_000, target, 0))).toHaveLength(6)
    expect(log.read(6, 7, 1_000, target, 0)).toBe(0)
    log.append(runOfRecords(textRecords(1, 'x')), 0)
    expect(labels(recordsIn(target, 0, log.read(6, 8, 1_000, target, 0)))).toEqual(['7:x-0'])
  })

  it('beyond the end changes nothing', () => {
    const log = openLog()
    appendBatches(log, 3)
    const size = log.sizeBytes
    expect(log.truncateTo(6)).toBe(false)
    expect(log.truncateTo(1_000)).toBe(false)
    expect([...lengthsOf(log), log.sizeBytes]).toEqual([0, 6, 6, size])
  })

  it('below the first segment starts anew there', () => {
    const log = openLog()
    log.truncateFullyAndStartAt(100)
    appendBatches(log, 3)
    expect(log.truncateTo(40)).toBe(true)
    expect(lengthsOf(log)).toEqual([40, 40, 0])
    appendBatches(log, 1)
    expect(lengthsOf(log)).toEqual([40, 42, 2])
  })

  it.each([-1, 0.5, Number.NaN])('to %d is refused', (offset) => {
    const log = openLog()
    for (const truncate of [
      () => log.truncateTo(offset),
      () => log.truncateFullyAndStartAt(offset),
    ]) {
      expect(truncate).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
    }
    expect(log.failure).toBeUndefined()
  })

  it('takes the recovery point and the start offset with it', () => {
    const log = openLog()
    appendBatches(log, 10)
    log.flush()
    expect(log.recoveryPoint).toBe(20)
    log.advanceLogStart(12)
    log.truncateTo(8)
    expect([log.logStartOffset, log.logEndOffset, log.recoveryPoint]).toEqual([8, 8, 8])
  })

  it('rolls by the time of what is left, not of what is gone', () => {
    const log = openLog({ config: { segmentMs: 100 } })
    log.append(runOfRecords([textRecord('x', 5_000)]), 0)
    log.truncateTo(0)
    log.append(runOfRecords([textRecord('x', 1_000)]), 0)
    log.append(runOfRecords([textRecord('x', 1_100)]), 0)
    expect(log.segmentCount).toBe(1)
    log.append(runOfRecords([textRecord('x', 1_101)]), 0)
    expect(log.segmentCount).toBe(2)
  })

  it('leaves indexes as they would be made from what is left', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory, config: { segmentBytes: 1e6 } })
    const append = (count: number, firstMs: number) => {
      for (let at = 0; at < count; at += 1) {
        log.append(runOfRecords([textRecord('some text', firstMs + at)]), 0)
      }
    }
    append(30, 1_000)
    log.truncateTo(11)
    append(30, 500)
    log.close()
    const name = `${'0'.repeat(20)}.timeindex`
    const written = fs.readFileSync(path.join(directory, name))
    recoverLog(directory, { recoveryPoint: 0, logStartOffset: 0, config: log.config })
    expect(written).toEqual(fs.readFileSync(path.join(directory, name)))
    expect(Number(written.readBigInt64BE(written.length - 12))).toBe(1_010)
  })

  it('conformance 87: of an emptied segment leads to no roll by a full index', () => {
    const config = { segmentBytes: 1e6, indexIntervalBytes: 0, segmentIndexBytes: 40 }
    const log = openLog({ config })
    for (let round = 0; round < 3; round += 1) {
      appendBatches(log, 6)
      expect(log.segmentCount).toBe(1)
      log.truncateTo(0)
    }
    appendBatches(log, 6)
    expect(log.segmentCount).toBe(1)
  })
})

describe('truncateFullyAndStartAt', () => {
  it('leaves one empty segment, which is there after a reopen', () => {
    for (const start of [0, 2, 1_000]) {
      const directory = temporaryDirectory()
      const log = openLog({ directory })
      appendBatches(log, 30, 2, 3)
      log.truncateFullyAndStartAt(start)
      expect([...lengthsOf(log), log.sizeBytes, log.segmentCount]).toEqual([start, start, 0, 0, 1])
      expect(log.leaderEpochs.entries).toEqual([])
      log.close()
      for (const cleanShutdown of [true, false]) {
        const again = openLog({ directory, cleanShutdown })
        expect([again.logStartOffset, again.logEndOffset]).toEqual([start, start])
        again.close()
      }
    }
  })
})

describe('epochs', () => {
  it('conformance 94: an epoch at the end without data goes with truncateTo(end)', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory })
    appendBatches(log, 5, 2, 2)
    log.leaderEpochs.assign(3, 10)
    expect(log.endOffsetFor(3)).toEqual({ leaderEpoch: 3, endOffset: 10 })
    // KAFKA-10706: with the entry left in place the same divergence is found again and again.
    expect(log.truncateTo(10)).toBe(false)
    expect(log.leaderEpochs.latest).toBe(2)
    expect(readLeaderEpochs(directory)).toEqual([{ leaderEpoch: 2, startOffset: 0 }])
  })

  it('conformance 33: a new leader’s epoch begins at the end, before any record', () => {
    const log = openLog()
    appendBatches(log, 2)
    log.leaderEpochs.assign(8, log.logEndOffset)
    expect(log.endOffsetFor(8)).toEqual({ leaderEpoch: 8, endOffset: 4 })
    appendBatches(log, 1, 2, 8)
    expect(log.leaderEpochs.entries.at(-1)).toEqual({ leaderEpoch: 8, startOffset: 4 })
  })

  it('above the cut are forgotten, and another leader’s take their place', () => {
    const log = openLog()
    for (const epoch of [0, 1, 3]) appendBatches(log, 4, 2, epoch)
    log.truncateTo(12)
    expect(log.leaderEpochs.latest).toBe(1)
    log.appendReplicated(stampedRun([textRecords(2, 'x')], 12, 2))
    expect(log.leaderEpochs.entries.map(({ leaderEpoch }) => leaderEpoch)).toEqual([0, 1, 2])
    expect(log.endOffsetFor(1)).toEqual({ leaderEpoch: 1, endOffset: 12 })
  })

  it('below the log’s start are forgotten but the one that covers it', () => {
    const log = openLog()
    for (const epoch of [0, 1, 3]) appendBatches(log, 4, 2, epoch)
    log.advanceLogStart(10)
    expect(log.leaderEpochs.entries).toEqual([
      { leaderEpoch: 1, startOffset: 10 },
      { leaderEpoch: 3, startOffset: 16 },
    ])
  })
})
