import { describe, expect, it } from 'vitest'
import { isControlAt, recordCountAt } from '../../../src/log/batch-header.ts'
import type { PartitionLog } from '../../../src/log/partition-log.ts'
import { AppendOutcomes } from '../../../src/log/producers/append-outcomes.ts'
import { ReadCommitted } from '../../../src/log/producers/read-committed.ts'
import { encodeBatch, recordsIn, runOf } from '../../support/batch-builder.ts'
import { batchesOf, endTransaction } from '../../support/producer-batches.ts'
import { compact, keyed, newDisk, openKeyed, put, roll, withoutRolls } from './keyed-log.ts'

interface Sent {
  readonly id: number
  readonly sequence: number
  readonly transactional?: boolean
}

function send(log: PartitionLog, text: string, { id, sequence, transactional = true }: Sent): void {
  const records = text.split(' ').map((each) => keyed(each))
  const options = { producerId: id, producerEpoch: 0, baseSequence: sequence, transactional }
  const batch = encodeBatch(records, { compression: 'none', ...options })
  const outcomes = new AppendOutcomes(1)
  log.append(runOf([batch]), 0, outcomes)
  expect(outcomes.errors[0]).toBe(0)
}

/** As a consumer of committed records gets them, `key=value`. */
function committed(log: PartitionLog): string[] {
  const filter = new ReadCommitted(log.producers.abortedTransactions(0, log.logEndOffset))
  const found: string[] = []
  for (const batch of batchesOf(log)) {
    if (!filter.admits(batch, 0)) continue
    for (const { key, value } of recordsIn(batch, 0, batch.bytes.length)) {
      found.push(`${Buffer.from(key!)}=${Buffer.from(value ?? [])}`)
    }
  }
  return withoutRolls(found)
}

/** Batches of producers that are left: `C` is a marker, else the records in it. */
function producersBatches(log: PartitionLog): string[] {
  return batchesOf(log)
    .filter(({ view }) => Number(view.getBigInt64(43)) >= 0)
    .map((batch) =>
      isControlAt(batch, 0) ? `C${recordCountAt(batch, 0)}` : `${recordCountAt(batch, 0)}`,
    )
}

describe('a compaction of transactions', () => {
  it('drops what was aborted, and takes no latest value from it', () => {
    const fs = newDisk()
    const log = openKeyed(fs)
    send(log, 'a=1 b=1', { id: 7, sequence: 0 })
    endTransaction(log, { id: 7, commit: true })
    send(log, 'a=wrong b=wrong', { id: 7, sequence: 2 })
    endTransaction(log, { id: 7, commit: false })
    send(log, 'b=2', { id: 7, sequence: 4 })
    endTransaction(log, { id: 7, commit: true })
    roll(log)
    const before = committed(log)
    expect(before).toEqual(['a=1', 'b=1', 'b=2'])
    compact(fs, log, { nowMs: 10_000 })
    expect(committed(log)).toEqual(['a=1', 'b=2'])
    // Offsets and markers are where they were, and a reader of all sees no aborted record either.
    expect(producersBatches(log)).toEqual(['1', 'C1', 'C1', '1', 'C1'])
  })

  it('keeps a marker until its transaction is gone, and then for its time', () => {
    const fs = newDisk()
    const log = openKeyed(fs, { config: { deleteRetentionMs: 500 } })
    send(log, 'a=1', { id: 7, sequence: 0 })
    endTransaction(log, { id: 7, commit: false })
    send(log, 'a=2', { id: 8, sequence: 0 })
    endTransaction(log, { id: 8, commit: true })
    roll(log)
    const next = (nowMs: number) => {
      compact(fs, log, { nowMs })
      roll(log)
      return producersBatches(log)
    }
    // Of producer 7 the aborted batch held the last sequence number: it stays, without records.
    expect(next(1_000)).toEqual(['0', 'C1', '1', 'C1'])
    expect(log.producers.abortedTransactions(0, log.logEndOffset)).toHaveLength(1)
    expect(committed(log)).toEqual(['a=2'])
    const reopened = () => {
      log.close()
      return openKeyed(fs, { cleanShutdown: true, config: { deleteRetentionMs: 500 } })
    }
    expect(reopened().producers.abortedTransactions(0, 100)).toHaveLength(1)
  })

  it('finds aborted transactions in the segment that took in theirs', () => {
    const fs = newDisk()
    const small = openKeyed(fs)
    roll(small)
    const first = small.logEndOffset
    send(small, 'a=1', { id: 7, sequence: 0 })
    endTransaction(small, { id: 7, commit: false })
    roll(small)
    put(small, ['b=1'])
    roll(small)
    small.close()
    const log = openKeyed(fs, { cleanShutdown: true, config: { segmentBytes: 10_000 } })
    const before = log.segmentCount
    compact(fs, log)
    expect(log.segmentCount).toBeLessThan(before)
    // What was replaced is gone.
    log.flush()
    expect(log.producers.abortedTransactions(0, log.logEndOffset)).toMatchObject([
      { producerId: 7, firstOffset: first },
    ])
  })

  it('lets a producer go on with its sequence numbers after its records are gone', () => {
    const fs = newDisk()
    const log = openKeyed(fs)
    send(log, 'a=1 a=2', { id: 7, sequence: 0, transactional: false })
    roll(log)
    send(log, 'a=3', { id: 9, sequence: 0, transactional: false })
    roll(log)
    compact(fs, log)
    expect(producersBatches(log)).toEqual(['0', '1'])
    log.close()
    // The state is made anew from the batches.
    for (const name of fs.list('/b/t-0')!)
      if (name.endsWith('.snapshot')) fs.remove(`/b/t-0/${name}`)
    const again = openKeyed(fs)
    send(again, 'a=4', { id: 7, sequence: 2, transactional: false })
    const outcomes = new AppendOutcomes(1)
    const late = encodeBatch([keyed('a=x')], {
      compression: 'none',
      producerId: 7,
      producerEpoch: 0,
      baseSequence: 9,
    })
    again.append(runOf([late]), 0, outcomes)
    expect(outcomes.errors[0]).not.toBe(0)
  })

  it('does not reach into a transaction that is open', () => {
    const fs = newDisk()
    const log = openKeyed(fs)
    send(log, 'a=1', { id: 7, sequence: 0, transactional: false })
    roll(log)
    send(log, 'a=2', { id: 8, sequence: 0 })
    roll(log)
    const open = log.lastStableOffset(log.logEndOffset)
    compact(fs, log, { lastStableOffset: open })
    expect(producersBatches(log)).toEqual(['1', '1'])
  })
})
