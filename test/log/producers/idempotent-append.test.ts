/** What a leader's log lets a producer append, and what followers take from it. */
import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../../src/errors.ts'
import { stampBatch } from '../../../src/log/batch-header.ts'
import { runOf, runOfRecords, textRecords } from '../../support/batch-builder.ts'
import {
  appendJudged,
  batchesOf,
  endTransaction,
  type ProducerBatch,
  producerBatch,
} from '../../support/producer-batches.ts'
import { openLog } from '../log-fixture.ts'

const sequenceMax = 2 ** 31 - 1

function single(log: ReturnType<typeof openLog>, batch: ProducerBatch): number | string {
  return appendJudged(log, [batch])[0]!
}

describe('a leader, asked by an idempotent producer', () => {
  it('takes batches in order of their sequence numbers, and no others', () => {
    const log = openLog()
    expect(single(log, { id: 7, sequence: 0, count: 3 })).toBe(0)
    expect(single(log, { id: 7, sequence: 3 })).toBe(3)
    expect(single(log, { id: 7, sequence: 5 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(single(log, { id: 7, sequence: 4 })).toBe(4)
    expect(single(log, { id: 8, sequence: 0 })).toBe(5)
    expect(log.logEndOffset).toBe(6)
  })

  it('answers a duplicate of the last five with its offsets, and writes it once', () => {
    const log = openLog()
    for (let at = 0; at < 6; at += 1) single(log, { id: 7, sequence: 2 * at, count: 2 })
    for (let at = 1; at < 6; at += 1) {
      expect(single(log, { id: 7, sequence: 2 * at, count: 2 })).toBe(`dup ${2 * at}`)
    }
    // Too old to be known again; and the same numbers in another cut are not the same batch.
    expect(single(log, { id: 7, sequence: 0, count: 2 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(single(log, { id: 7, sequence: 10, count: 1 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(log.logEndOffset).toBe(12)
    expect(batchesOf(log)).toHaveLength(6)
  })

  it('judges each batch of a run by those before it', () => {
    const log = openLog({ config: { segmentBytes: 200 } })
    const batch = (sequence: number, count = 1): ProducerBatch => ({ id: 7, sequence, count })
    const run = [batch(0, 2), batch(0, 2), batch(9), batch(2), batch(3), batch(2), batch(4)]
    const other = { id: 9, sequence: 0 }
    expect(appendJudged(log, [...run, other])).toEqual([
      0,
      'dup 0',
      'OUT_OF_ORDER_SEQUENCE_NUMBER',
      2,
      3,
      'dup 2',
      4,
      5,
    ])
    expect(log.segmentCount).toBeGreaterThan(1)
    expect(batchesOf(log)).toHaveLength(5)
  })

  it('goes on at 0 after 2^31 - 1, within a batch as well', () => {
    const log = openLog()
    // Nothing is known of it: it may begin anywhere.
    expect(single(log, { id: 7, sequence: sequenceMax - 1, count: 2 })).toBe(0)
    expect(single(log, { id: 7, sequence: 1 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(single(log, { id: 7, sequence: 0 })).toBe(2)
    expect(single(log, { id: 8, sequence: sequenceMax, count: 3 })).toBe(3)
    expect(single(log, { id: 8, sequence: sequenceMax, count: 3 })).toBe('dup 3')
    expect(single(log, { id: 8, sequence: 2 })).toBe(6)
  })

  it('fences older epochs, and has newer ones begin at 0', () => {
    const log = openLog()
    single(log, { id: 7, epoch: 2, sequence: 0 })
    expect(single(log, { id: 7, epoch: 1, sequence: 1 })).toBe('INVALID_PRODUCER_EPOCH')
    expect(single(log, { id: 7, epoch: 3, sequence: 1 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(single(log, { id: 7, epoch: 3, sequence: 0 })).toBe(1)
    // What was remembered was of the epoch before.
    expect(single(log, { id: 7, epoch: 2, sequence: 0 })).toBe('INVALID_PRODUCER_EPOCH')
    expect(single(log, { id: 7, epoch: 3, sequence: 0 })).toBe('dup 1')
  })

  it('has a producer begin at 0 after a marker gave it a new epoch', () => {
    const log = openLog()
    single(log, { id: 7, sequence: 0, transactional: true })
    endTransaction(log, { id: 7, commit: false, epoch: 1 })
    expect(single(log, { id: 7, epoch: 1, sequence: 1 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(single(log, { id: 7, epoch: 0, sequence: 1 })).toBe('INVALID_PRODUCER_EPOCH')
    expect(single(log, { id: 7, epoch: 1, sequence: 0 })).toBe(2)
  })

  it('takes no batch outside of a transaction while one is open', () => {
    const log = openLog()
    single(log, { id: 7, sequence: 0, transactional: true })
    expect(single(log, { id: 7, sequence: 1 })).toBe('INVALID_TXN_STATE')
    expect(single(log, { id: 7, sequence: 1, transactional: true })).toBe(1)
    endTransaction(log, { id: 7, commit: true })
    expect(single(log, { id: 7, sequence: 2 })).toBe(3)
  })

  it('forgets who has written nothing for long, but not in a transaction', () => {
    const log = openLog({ config: { producerIdExpirationMs: 100 } })
    single(log, { id: 7, sequence: 0 })
    single(log, { id: 8, sequence: 0, transactional: true })
    log.deleteOldSegments({ nowMs: 1_099, highWatermark: 0 })
    expect(log.producers.size).toBe(2)
    log.deleteOldSegments({ nowMs: 1_100, highWatermark: 0 })
    expect(log.producers.snapshot().map(({ producerId }) => producerId)).toEqual([8])
    expect(single(log, { id: 7, sequence: 40 })).toBe(2)
    endTransaction(log, { id: 8, commit: true })
    log.producers.removeExpired(1_100)
    expect(log.producers.size).toBe(0)
  })

  it('refuses what no client may write', () => {
    const log = openLog()
    expect(single(log, { id: 7, sequence: -1 })).toBe('INVALID_RECORD')
    const run = runOf([producerBatch({ id: 7, sequence: 0, count: 3 })])
    expect(() => log.append(run, 0)).toThrow('room for 1 outcomes')
    expect(log.logEndOffset).toBe(0)
  })

  it('writes plain batches beside those of producers', () => {
    const log = openLog()
    log.append(runOfRecords(textRecords(2, 'plain')), 0)
    expect(single(log, { id: 7, sequence: 0 })).toBe(2)
    expect(log.producers.size).toBe(1)
  })
})

describe('a follower', () => {
  function replicated(batches: readonly (ProducerBatch & { at: number })[]) {
    const run = runOf(batches.map(producerBatch))
    for (const [index, { at }] of batches.entries()) {
      stampBatch(run.memory, run.positions[index]!, at, 0)
    }
    return run
  }

  it('takes what the leader took: gaps, older epochs, producers it knows nothing of', () => {
    const log = openLog()
    log.appendReplicated(replicated([{ id: 7, sequence: 30, epoch: 4, at: 0 }]))
    log.appendReplicated(replicated([{ id: 7, sequence: 60, epoch: 4, at: 1 }]))
    expect(log.producers.entry(7)).toMatchObject({ producerEpoch: 4, lastSequence: 60 })
    log.appendReplicated(replicated([{ id: 7, sequence: 5, epoch: 3, at: 2 }]))
    expect(log.producers.entry(7)).toMatchObject({ producerEpoch: 3, lastSequence: 5 })
    // Leader now: it goes on from there.
    expect(single(log, { id: 7, sequence: 5, epoch: 3 })).toBe('dup 2')
    expect(single(log, { id: 7, sequence: 6, epoch: 3 })).toBe(3)
  })

  it('knows the same of producers as its leader', () => {
    const leader = openLog({ config: { segmentBytes: 300 } })
    single(leader, { id: 7, sequence: 0, count: 2 })
    single(leader, { id: 8, sequence: 0, transactional: true })
    endTransaction(leader, { id: 8, commit: false, coordinatorEpoch: 3 })
    single(leader, { id: 8, sequence: 1, transactional: true })
    const follower = openLog({ config: { segmentBytes: 300 } })
    for (const memory of batchesOf(leader)) {
      follower.appendReplicated({ memory, positions: new Int32Array(1), count: 1 })
    }
    expect(follower.producers.snapshot()).toEqual(leader.producers.snapshot())
    expect(follower.producers.abortedTransactions(0, 10)).toEqual(
      leader.producers.abortedTransactions(0, 10),
    )
    expect(follower.producers.abortedTransactions(0, 10)).toHaveLength(1)
  })
})

describe('the end of a transaction', () => {
  it('is fenced by the epochs of producer and coordinator', () => {
    const log = openLog()
    single(log, { id: 7, sequence: 0, epoch: 1, transactional: true })
    expect(codeOf(() => endTransaction(log, { id: 7, commit: true }))).toBe(
      'INVALID_PRODUCER_EPOCH',
    )
    endTransaction(log, { id: 7, commit: true, epoch: 1, coordinatorEpoch: 5 })
    const zombie = { id: 7, commit: true, epoch: 1, coordinatorEpoch: 4 }
    expect(codeOf(() => endTransaction(log, zombie))).toBe('TRANSACTION_COORDINATOR_FENCED')
    expect(endTransaction(log, { ...zombie, coordinatorEpoch: 5 })).toBe(2)
    expect(log.logEndOffset).toBe(3)
  })

  it('may come for a producer that nothing is known of', () => {
    const log = openLog()
    expect(endTransaction(log, { id: 7, commit: false, epoch: 3, coordinatorEpoch: 2 })).toBe(0)
    expect(log.producers.entry(7)).toMatchObject({ producerEpoch: 3, coordinatorEpoch: 2 })
    expect(log.producers.abortedTransactions(0, 9)).toEqual([])
    expect(log.lastStableOffset(1)).toBe(1)
  })
})

function codeOf(action: () => void): string | undefined {
  try {
    action()
    return undefined
  } catch (error) {
    return isTidemarkError(error) ? error.code : String(error)
  }
}
