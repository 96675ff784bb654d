/** A log with few batches tells of its producers by itself. */
import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.ts'
import { appendJudged } from '../../support/producer-batches.ts'
import { openLog } from '../log-fixture.ts'

const clock = new ManualClock(6_000)
const config = { segmentBytes: 2 ** 20, indexIntervalBytes: 4_096, producerIdExpirationMs: 5_500 }
const clean = { config, clock, cleanShutdown: true }

function snapshotsIn(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.endsWith('.snapshot'))
}

describe('a log with few batches', () => {
  it('ends without files for index and producers, and knows both when it is opened', () => {
    const log = openLog(clean)
    for (let at = 0; at < 7; at += 1) appendJudged(log, [{ id: 7, sequence: at }])
    log.close()
    const names = readdirSync(log.directory).sort()
    expect(names).toEqual(['00000000000000000000.log', 'leader-epoch-checkpoint'])
    const again = openLog({ ...clean, directory: log.directory })
    expect(readdirSync(log.directory).sort()).toEqual(names)
    expect(again.logEndOffset).toBe(7)
    expect(again.offsetForTimestamp(1_000)).toMatchObject({ offset: 0 })
    for (let at = 2; at < 7; at += 1) {
      expect(appendJudged(again, [{ id: 7, sequence: at }])).toEqual([`dup ${at}`])
    }
    expect(appendJudged(again, [{ id: 7, sequence: 7 }])).toEqual([7])
    again.close()
  })

  it('writes them down when there is more to read, or its beginning is gone', () => {
    const long = openLog(clean)
    while (long.sizeBytes <= 4_096) appendJudged(long, [{ id: 7, sequence: long.logEndOffset }])
    long.close()
    expect(snapshotsIn(long.directory)).toHaveLength(1)

    const cut = openLog(clean)
    appendJudged(cut, [{ id: 7, sequence: 0 }])
    appendJudged(cut, [{ id: 8, sequence: 0 }])
    cut.deleteRecordsBefore(1, 2)
    cut.close()
    expect(snapshotsIn(cut.directory)).toHaveLength(1)
    const options = { ...clean, directory: cut.directory, logStartOffset: 1 }
    expect(openLog(options).producers.entry(7)).toMatchObject({ lastSequence: 0 })
  })

  it('forgets the expired when it is opened, as with a snapshot', () => {
    const log = openLog(clean)
    appendJudged(log, [{ id: 7, sequence: 0, timestampMs: 100 }])
    appendJudged(log, [{ id: 8, sequence: 0, timestampMs: 1_000 }])
    log.close()
    const again = openLog({ ...clean, directory: log.directory })
    expect(again.producers.snapshot().map(({ producerId }) => producerId)).toEqual([8])
  })

  it('replaces index files that are there, whatever they say', () => {
    const log = openLog({
      ...clean,
      config: { ...config, segmentBytes: 1_000, indexIntervalBytes: 100 },
    })
    while (log.segmentCount < 2) appendJudged(log, [{ id: 7, sequence: log.logEndOffset }])
    log.truncateTo(1)
    log.close()
    const again = openLog({ ...clean, directory: log.directory })
    expect(again.logEndOffset).toBe(1)
    expect(again.offsetForTimestamp(1_000)).toMatchObject({ offset: 0 })
    expect(again.maxTimestampOffset()).toMatchObject({ offset: 0 })
  })
})
