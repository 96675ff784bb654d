/** The last stable offset, the index of aborted transactions, and readers of committed records. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { lastOffsetAt } from '../../../src/log/batch-header.ts'
import type { PartitionLog } from '../../../src/log/partition-log.ts'
import { ReadCommitted } from '../../../src/log/producers/read-committed.ts'
import { labels, recordsIn, runOfRecords, textRecords } from '../../support/batch-builder.ts'
import { appendJudged, batchesOf, endTransaction } from '../../support/producer-batches.ts'
import { openLog } from '../log-fixture.ts'

function write(log: PartitionLog, id: number, sequence: number, count = 1): void {
  const [outcome] = appendJudged(log, [{ id, sequence, count, transactional: true }])
  expect(outcome).toBe(log.logEndOffset - count)
}

/** What a reader of committed records sees from `offset` on. */
function committed(log: PartitionLog, offset = 0): string[] {
  const end = log.lastStableOffset(log.logEndOffset)
  const filter = new ReadCommitted(log.producers.abortedTransactions(offset, end))
  const shown: string[] = []
  for (const memory of batchesOf(log)) {
    const lastOffset = lastOffsetAt(memory, 0)
    if (lastOffset < offset || lastOffset >= end) continue
    if (filter.admits(memory, 0)) shown.push(...labels(recordsIn(memory, 0, memory.bytes.length)))
  }
  return shown
}

describe('the last stable offset', () => {
  it('stays where the first transaction begins that is open, or not ended below the mark', () => {
    const log = openLog()
    log.append(runOfRecords(textRecords(2, 'plain')), 0)
    expect(log.lastStableOffset(2)).toBe(2)
    write(log, 7, 0)
    write(log, 8, 0)
    expect([log.lastStableOffset(1), log.lastStableOffset(4)]).toEqual([1, 2])
    expect(endTransaction(log, { id: 7, commit: true })).toBe(4)
    // The end at 4 must be replicated before it counts.
    expect(log.lastStableOffset(4)).toBe(2)
    expect(log.lastStableOffset(5)).toBe(3)
    endTransaction(log, { id: 8, commit: false })
    expect(log.lastStableOffset(6)).toBe(6)
  })

  it('is not below the log start', () => {
    const log = openLog()
    write(log, 7, 0, 4)
    log.append(runOfRecords(textRecords(4, 'plain')), 0)
    log.advanceLogStart(3)
    expect(log.lastStableOffset(8)).toBe(3)
  })
})

describe('after a clean end', () => {
  it('the first of the open transactions is known, whichever producer began it', () => {
    const log = openLog()
    write(log, 9, 0)
    write(log, 3, 0)
    log.close()
    const again = openLog({ directory: log.directory, cleanShutdown: true })
    expect(again.lastStableOffset(2)).toBe(0)
    endTransaction(again, { id: 9, commit: true })
    expect(again.lastStableOffset(3)).toBe(1)
  })
})

describe('a reader of committed records', () => {
  it('sees neither aborted records nor markers, wherever it begins', () => {
    const log = openLog({ config: { segmentBytes: 300 } })
    write(log, 7, 0, 2)
    write(log, 8, 0)
    log.append(runOfRecords(textRecords(1, 'plain')), 0)
    endTransaction(log, { id: 7, commit: false })
    write(log, 7, 2)
    write(log, 8, 1)
    endTransaction(log, { id: 7, commit: true })
    endTransaction(log, { id: 8, commit: false })
    write(log, 8, 2)
    expect(committed(log)).toEqual(['3:plain-0', '5:p7e0s2-0'])
    expect(committed(log, 1)).toEqual(['3:plain-0', '5:p7e0s2-0'])
    expect(committed(log, 6)).toEqual([])
    endTransaction(log, { id: 8, commit: true })
    expect(committed(log)).toEqual(['3:plain-0', '5:p7e0s2-0', '9:p8e0s2-0'])
    expect(log.segmentCount).toBeGreaterThan(2)
  })
})

describe('the index of aborted transactions', () => {
  function twoAborts() {
    const log = openLog({ config: { segmentBytes: 300 } })
    write(log, 7, 0)
    write(log, 8, 0)
    endTransaction(log, { id: 7, commit: false })
    log.append(runOfRecords(textRecords(3, 'plain')), 0)
    endTransaction(log, { id: 8, commit: false })
    return log
  }
  const first = { producerId: 7, firstOffset: 0, lastOffset: 2, lastStableOffset: 1 }
  const second = { producerId: 8, firstOffset: 1, lastOffset: 6, lastStableOffset: 7 }

  it('lies beside the segment that holds the marker, and is searched across segments', () => {
    const log = twoAborts()
    expect(log.producers.abortedTransactions(0, 7)).toEqual([first, second])
    expect(log.producers.abortedTransactions(0, 1)).toEqual([first])
    expect(log.producers.abortedTransactions(3, 7)).toEqual([second])
    expect(log.producers.abortedTransactions(7, 9)).toEqual([])
    // Kafka's fields: version, producer id, first and last offset, last stable offset.
    const bytes = readFileSync(path.join(log.directory, `${'0'.repeat(20)}.txnindex`))
    expect(bytes.toString('hex')).toBe(
      `0000${[7, 0, 2, 1].map((each) => each.toString(16).padStart(16, '0')).join('')}`,
    )
  })

  it('is cut with the log, and goes with its segment', () => {
    const log = twoAborts()
    log.truncateTo(6)
    expect(log.producers.abortedTransactions(0, 9)).toEqual([first])
    expect(log.lastStableOffset(6)).toBe(1)
    log.truncateTo(2)
    expect(log.producers.abortedTransactions(0, 9)).toEqual([])
    expect(log.lastStableOffset(2)).toBe(0)
    endTransaction(log, { id: 7, commit: true })
    endTransaction(log, { id: 8, commit: true })
    log.truncateFullyAndStartAt(4)
    expect(log.producers.size).toBe(0)
    expect(log.lastStableOffset(4)).toBe(4)
  })

  it.each([
    ['after a clean end', true],
    ['after a crash', false],
  ])('is there again %s, made anew when it is damaged', (_, cleanShutdown) => {
    const log = twoAborts()
    const { directory } = log
    if (cleanShutdown) log.close()
    const file = path.join(directory, `${'0'.repeat(20)}.txnindex`)
    const whole = readFileSync(file)
    for (const bytes of [whole, whole.subarray(0, 30), Buffer.alloc(34, 9)]) {
      writeFileSync(file, bytes)
      const config = { segmentBytes: 300 }
      const again = openLog({ directory, config, cleanShutdown })
      expect(again.producers.abortedTransactions(0, 7)).toEqual([first, second])
      expect(readFileSync(file)).toEqual(whole)
      again.close()
    }
  })

  it('is removed without its segment', () => {
    const log = twoAborts()
    log.close()
    const stray = path.join(log.directory, `${'0'.repeat(18)}99.txnindex`)
    writeFileSync(stray, '')
    openLog({ directory: log.directory, cleanShutdown: true })
    expect(existsSync(stray)).toBe(false)
  })
})
