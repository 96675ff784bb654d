/** Snapshots of producers: when they are written, which are believed, and what Kafka wrote. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PartitionLog } from '../../../src/log/partition-log.ts'
import { decodeProducerSnapshot } from '../../../src/log/producers/producer-snapshot.ts'
import { fixtureDirectory } from '../../interop/fixture-files.ts'
import { runOfRecords, textRecords } from '../../support/batch-builder.ts'
import { appendJudged } from '../../support/producer-batches.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { appendBatches, openLog } from '../log-fixture.ts'

const config = { segmentBytes: 300 }

function snapshotsIn(directory: string): number[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.snapshot'))
  return names.map((name) => Number(name.slice(0, 20))).sort((one, other) => one - other)
}

function fileOf(directory: string, offset: number): string {
  return path.join(directory, `${String(offset).padStart(20, '0')}.snapshot`)
}

/** Segments begin at 0, 3, 6 and so on. */
function filled(count: number): PartitionLog {
  const log = openLog({ config })
  for (let at = 0; at < count; at += 1) appendJudged(log, [{ id: 7, sequence: at }])
  return log
}

function reopened({ directory }: PartitionLog, cleanShutdown = true): PartitionLog {
  return openLog({ directory, config, cleanShutdown })
}

describe('a snapshot', () => {
  it('is written at each roll, with what is known below, and at the end', () => {
    const log = filled(8)
    expect(snapshotsIn(log.directory)).toEqual([3, 6])
    const [producer] = decodeProducerSnapshot(readFileSync(fileOf(log.directory, 6)))
    expect(producer).toEqual({
      producerId: 7,
      producerEpoch: 0,
      lastSequence: 5,
      lastOffset: 5,
      offsetDelta: 0,
      timestampMs: 1_000,
      coordinatorEpoch: -1,
      currentTransactionFirstOffset: -1,
    })
    log.close()
    expect(snapshotsIn(log.directory)).toEqual([3, 6, 8])
  })

  it('is there without a producer too, as a broker of Kafka expects', () => {
    const log = openLog({ config })
    appendBatches(log, 5)
    const [first] = snapshotsIn(log.directory)
    expect(decodeProducerSnapshot(readFileSync(fileOf(log.directory, first!)))).toEqual([])
  })

  it('spares a clean opening all batches below it', () => {
    const log = filled(8)
    log.close()
    // Segments that nobody reads any more.
    for (const base of [0, 3])
      writeFileSync(fileOf(log.directory, base).replace(/snapshot$/, 'log'), '')
    expect(reopened(log).producers.entry(7)).toMatchObject({ lastSequence: 7 })
  })

  it.each([
    ['after a clean end', true],
    ['after a crash', false],
  ])('that is missing, torn or wrong costs nothing but a look at the batches, %s', (_, clean) => {
    const damages = [
      (file: string) => rmSync(file),
      (file: string) => writeFileSync(file, ''),
      (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 30)),
      (file: string) => writeFileSync(file, Buffer.alloc(56, 1)),
    ]
    for (const damage of damages) {
      for (const damaged of [[8], [6, 8], [3, 6, 8]]) {
        const log = filled(8)
        log.close()
        for (const offset of damaged) damage(fileOf(log.directory, offset))
        const again = reopened(log, clean)
        expect(again.producers.snapshot()).toMatchObject([{ producerId: 7, lastSequence: 7 }])
        expect(appendJudged(again, [{ id: 7, sequence: 7 }])).toEqual(['dup 7'])
        expect(appendJudged(again, [{ id: 7, sequence: 8 }])).toEqual([8])
      }
    }
  })

  it.each([
    ['after a clean end', true],
    ['after a crash', false],
  ])('and the batches before let a leader know the last five again, %s', (_, clean) => {
    const log = filled(14)
    appendJudged(log, [{ id: 8, sequence: 0, count: 2 }])
    log.close()
    const again = reopened(log, clean)
    for (let at = 9; at < 14; at += 1) {
      expect(appendJudged(again, [{ id: 7, sequence: at }])).toEqual([`dup ${at}`])
    }
    expect(appendJudged(again, [{ id: 7, sequence: 8 }])).toEqual(['OUT_OF_ORDER_SEQUENCE_NUMBER'])
    expect(appendJudged(again, [{ id: 8, sequence: 0, count: 2 }])).toEqual(['dup 14'])
    expect(appendJudged(again, [{ id: 7, sequence: 14 }])).toEqual([16])
  })

  it('is kept for each segment, and the newest; strays are removed at load', () => {
    const log = filled(8)
    log.close()
    for (const stray of [1, 4, 9]) cpSync(fileOf(log.directory, 3), fileOf(log.directory, stray))
    reopened(log)
    expect(snapshotsIn(log.directory)).toEqual([3, 6, 8])
  })

  it('goes when the log is cut below it, and with its segment', () => {
    const log = filled(8)
    log.truncateTo(5)
    expect(snapshotsIn(log.directory)).toEqual([3])
    expect(log.producers.entry(7)).toMatchObject({ lastSequence: 4 })
    expect(appendJudged(log, [{ id: 7, sequence: 5 }])).toEqual([5])
    log.truncateTo(0)
    expect(log.producers.size).toBe(0)
    expect(snapshotsIn(log.directory)).toEqual([])
  })

  it('of expired segments goes with them, and the state stays', () => {
    const log = filled(8)
    log.deleteRecordsBefore(7, 8)
    expect(log.deleteOldSegments({ nowMs: 1_000, highWatermark: 8 })).toBe(2)
    expect(snapshotsIn(log.directory)).toEqual([6])
    expect(log.producers.entry(7)).toMatchObject({ lastSequence: 7 })
    expect(existsSync(`${fileOf(log.directory, 3)}.deleted`)).toBe(true)
  })

  it('above the recovery point may be of a history that was undone', () => {
    const log = filled(8)
    const forged = filled(2)
    forged.close()
    // A truncation whose removal of the file a crash took back.
    cpSync(fileOf(forged.directory, 2), fileOf(log.directory, 6))
    const { directory } = log
    const again = openLog({ directory, config, cleanShutdown: false, recoveryPoint: 4 })
    expect(again.producers.entry(7)).toMatchObject({ lastSequence: 7, lastOffset: 7 })
  })

  it('forgets the expired at load, and only then', () => {
    const log = openLog({ config: { ...config, producerIdExpirationMs: 50 } })
    appendJudged(log, [{ id: 7, sequence: 0, timestampMs: -1_000 }])
    appendJudged(log, [{ id: 8, sequence: 0, timestampMs: -1_000, transactional: true }])
    log.append(runOfRecords(textRecords(1, 'plain')), 0)
    expect(log.producers.size).toBe(2)
    log.close()
    const { directory } = log
    const expiring = { ...config, producerIdExpirationMs: 50 }
    const again = openLog({ directory, config: expiring, cleanShutdown: true })
    expect(again.producers.snapshot().map(({ producerId }) => producerId)).toEqual([8])
  })
})

describe('what Apache Kafka wrote', () => {
  it.each(['transactional-0', 'rolled-0', 'codec-lz4-0'])(
    'of %s is what its batches tell',
    (name) => {
      const source = path.join(fixtureDirectory, name)
      const newest = snapshotsIn(source).at(-1)!
      const directory = temporaryDirectory()
      cpSync(source, directory, { recursive: true })
      const theirs = decodeProducerSnapshot(readFileSync(fileOf(directory, newest)))
      for (const offset of snapshotsIn(directory)) rmSync(fileOf(directory, offset))
      // Their clock's time, so that nothing expires.
      const log = openLog({ directory, config: { segmentBytes: 2 ** 30 }, cleanShutdown: true })
      const byId = theirs.toSorted((one, other) => one.producerId - other.producerId)
      expect(log.producers.snapshot()).toEqual(byId)
      expect(log.logEndOffset).toBe(newest)
    },
  )
})
