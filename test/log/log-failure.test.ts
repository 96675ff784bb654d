import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { type FileSystem, realFileSystem } from '../../src/log/file-system.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import { encodeBatch, runOf, runOfRecords, textRecords } from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { appendBatches, labelsOf, openLog, smallConfig } from './log-fixture.ts'

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code })
}

/** A disk that takes `roomBytes` more bytes of batches, then is full; it may cut writes short. */
function disk(options: { roomBytes?: number; pieceBytes?: number } = {}) {
  const state = {
    roomBytes: options.roomBytes ?? Number.MAX_SAFE_INTEGER,
    syncs: 0,
    failSync: false,
  }
  const take = (wanted: number) => {
    if (state.roomBytes === 0) throw failure('ENOSPC')
    const taken = Math.min(wanted, state.roomBytes, options.pieceBytes ?? wanted)
    state.roomBytes -= taken
    return taken
  }
  const faulty: FileSystem = {
    ...realFileSystem,
    write(fd, source, sourcePosition, length, filePosition) {
      if (length === 0) return 0
      const taken = take(length)
      return realFileSystem.write(fd, source, sourcePosition, taken, filePosition)
    },
    writev(fd, views, filePosition) {
      const all = Buffer.concat(views)
      const taken = take(all.length)
      return realFileSystem.write(fd, all, 0, taken, filePosition)
    },
    dataSync(fd) {
      state.syncs += 1
      if (state.failSync) throw failure('EIO')
      realFileSystem.dataSync(fd)
    },
  }
  return { fs: faulty, state }
}

describe('a disk that fills up', () => {
  const batches = ['a', 'b', 'c'].map((name) => encodeBatch(textRecords(2, name)))
  const batchBytes = batches[0].bytes.length

  it('at any byte leaves whole batches, readable, and a log that takes no more', () => {
    for (let roomBytes = 0; roomBytes < 3 * batchBytes; roomBytes += 5) {
      for (const gapBytes of [0, 3]) {
        const directory = temporaryDirectory()
        const { fs: faulty, state } = disk()
        const log = openLog({ directory, fs: faulty })
        appendBatches(log, 2)
        const labels = labelsOf(log)
        const size = log.sizeBytes
        state.roomBytes = roomBytes
        const append = () => log.append(runOf(batches, gapBytes), 0)
        expect(append).toThrow(expect.objectContaining({ code: 'KAFKA_STORAGE_ERROR' }))
        expect([log.logEndOffset, log.sizeBytes]).toEqual([4, size])
        expect(fs.statSync(path.join(directory, `${'0'.repeat(20)}.log`)).size).toBe(size)
        expect(labelsOf(log)).toEqual(labels)
        state.roomBytes = Number.MAX_SAFE_INTEGER
        expect(append).toThrow(
          expect.objectContaining({
            code: 'KAFKA_STORAGE_ERROR',
            cause: expect.objectContaining({ message: expect.stringContaining('ENOSPC') }),
          }),
        )
        expect(() => log.truncateTo(2)).toThrow(
          expect.objectContaining({ code: 'KAFKA_STORAGE_ERROR' }),
        )
        expect(log.failure?.message).toContain(directory)
        log.close()
        expect(labelsOf(openLog({ directory }))).toEqual(labels)
      }
    }
  })

  it('in the middle of a run over several segments keeps what was written before', () => {
    const directory = temporaryDirectory()
    const { fs: faulty, state } = disk()
    const log = openLog({ directory, fs: faulty })
    appendBatches(log, 1)
    const many = Array.from({ length: 40 }, (_, at) => encodeBatch(textRecords(2, `n${at}`)))
    state.roomBytes = 2_000
    expect(() => log.append(runOf(many), 0)).toThrow()
    expect(log.logEndOffset).toBeGreaterThan(2)
    expect(log.logEndOffset % 2).toBe(0)
    const labels = labelsOf(log)
    expect(labels).toHaveLength(log.logEndOffset)
    state.roomBytes = Number.MAX_SAFE_INTEGER
    log.close()
    expect(labelsOf(openLog({ directory }))).toEqual(labels)
  })

  it('where it can’t even be cut back leaves a tail that recovery cuts', () => {
    const directory = temporaryDirectory()
    const { fs: faulty, state } = disk()
    const broken: FileSystem = {
      ...faulty,
      truncate() {
        throw failure('EIO')
      },
    }
    const log = openLog({ directory, fs: broken })
    appendBatches(log, 2)
    const labels = labelsOf(log)
    state.roomBytes = batchBytes + 10
    expect(() => log.append(runOf(batches), 0)).toThrow(
      expect.objectContaining({ message: expect.stringContaining('ENOSPC') }),
    )
    expect(labelsOf(log)).toEqual(labels)
    log.close()
    const options = { recoveryPoint: 0, logStartOffset: 0, config: smallConfig }
    // The first batch reached the disk whole, and is as good as an append that was never answered.
    expect(recoverLog(directory, options)).toMatchObject({ logEndOffset: 6, truncatedBytes: 10 })
  })
})

describe('a disk that writes less than it is asked', () => {
  it.each([1, 7, 100])('%d bytes at a time gets all the same', (pieceBytes) => {
    const { fs: faulty } = disk({ pieceBytes })
    const log = openLog({ fs: faulty })
    const reference = openLog()
    for (const each of [log, reference]) {
      each.append(runOfRecords(textRecords(2, 'a'), textRecords(3, 'b')), 0)
      each.append(runOf([encodeBatch(textRecords(2, 'c')), encodeBatch(textRecords(1, 'd'))], 9), 0)
    }
    expect(labelsOf(log)).toEqual(labelsOf(reference))
  })
})

describe('flush policies', () => {
  it('os: nothing waits for the disk but flush and close', () => {
    const { fs: faulty, state } = disk()
    const log = openLog({ fs: faulty })
    appendBatches(log, 40, 2, 1)
    appendBatches(log, 1, 2, 2)
    log.truncateTo(80)
    expect([state.syncs, log.recoveryPoint]).toEqual([0, 0])
    expect(log.flushIfDue(1e15)).toBe(false)
    log.flush()
    expect(log.recoveryPoint).toBe(80)
    const { syncs } = state
    // Data, the indexes and snapshots of the segments that are complete, and the epochs.
    const snapshots = log.segmentCount - 2
    expect(syncs).toBe(log.segmentCount + 2 * (log.segmentCount - 1) + snapshots + 1)
    log.flush()
    expect(state.syncs).toBe(syncs)
    appendBatches(log, 1, 2, 1)
    log.close({ flush: false })
    expect([state.syncs, log.recoveryPoint]).toEqual([syncs, 80])
  })

  it('batch: each append is on disk when it returns', () => {
    const { fs: faulty, state } = disk()
    const log = openLog({ fs: faulty, config: { flush: { kind: 'batch' } } })
    for (let at = 1; at <= 20; at += 1) {
      const { syncs } = state
      appendBatches(log, 1)
      expect(state.syncs).toBeGreaterThan(syncs)
      expect(log.recoveryPoint).toBe(2 * at)
    }
  })

  it('interval: when it is time, and not without need', () => {
    const clock = new ManualClock()
    const { fs: faulty, state } = disk()
    const config = { flush: { kind: 'interval', ms: 100 } } as const
    const log = openLog({ fs: faulty, clock, config })
    clock.advance(500)
    expect(log.flushIfDue(clock.nowMs())).toBe(false)
    appendBatches(log, 1)
    expect([log.flushIfDue(clock.nowMs()), log.recoveryPoint]).toEqual([true, 2])
    appendBatches(log, 1)
    clock.advance(99)
    expect(log.flushIfDue(clock.nowMs())).toBe(false)
    clock.advance(1)
    const { syncs } = state
    expect([log.flushIfDue(clock.nowMs()), log.recoveryPoint]).toEqual([true, 4])
    expect(state.syncs).toBe(syncs + 1)
  })

  it('a sync that fails is final, and the recovery point stays', () => {
    const { fs: faulty, state } = disk()
    const log = openLog({ fs: faulty })
    appendBatches(log, 2)
    log.flush()
    appendBatches(log, 2)
    state.failSync = true
    expect(() => log.flush()).toThrow(
      expect.objectContaining({
        code: 'KAFKA_STORAGE_ERROR',
        message: expect.stringContaining('EIO'),
      }),
    )
    state.failSync = false
    for (const attempt of [() => log.flush(), () => appendBatches(log, 1)]) {
      expect(attempt).toThrow(expect.objectContaining({ code: 'KAFKA_STORAGE_ERROR' }))
    }
    expect([log.recoveryPoint, log.logEndOffset]).toEqual([4, 8])
    expect(labelsOf(log)).toHaveLength(8)
  })
})

describe('a closed log', () => {
  it('says so', () => {
    const log = openLog()
    appendBatches(log, 1)
    log.close()
    log.close()
    for (const use of [() => appendBatches(log, 1), () => labelsOf(log), () => log.flush()]) {
      expect(use).toThrow(expect.objectContaining({ code: 'BROKER_CLOSED' }))
    }
  })

  it('whose directory can’t be made says which', () => {
    const file = path.join(temporaryDirectory(), 'file')
    fs.writeFileSync(file, '')
    expect(() => openLog({ directory: path.join(file, 't-0') })).toThrow(
      expect.objectContaining({
        code: 'KAFKA_STORAGE_ERROR',
        message: expect.stringContaining(file),
      }),
    )
  })
})
