/** Producers that number their batches, and transactions, in an embedded log. */
import { describe, expect, it } from 'vitest'
import { Log } from '../../src/log/log.ts'
import type { ProducerStamp } from '../../src/log/log-options.ts'
import type { LogRecord } from '../../src/log/record.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const codeOf = (code: string) => expect.objectContaining({ name: 'TidemarkError', code })
const turn = () => new Promise((resolve) => setImmediate(resolve))

function texts(records: Iterable<LogRecord>): string[] {
  return [...records].map(({ offset, value }) => `${offset}:${Buffer.from(value!)}`)
}

function append(log: Log, values: readonly string[], stamp: Partial<ProducerStamp> = {}) {
  const producer = { producerId: 7, producerEpoch: 0, baseSequence: 0, ...stamp }
  const records = values.map((value) => ({ value }))
  return log.append(records, { producer })
}

describe('a producer with sequence numbers', () => {
  it('sends twice and appends once, over several batches and a reopening', async () => {
    const directory = temporaryDirectory()
    const log = await Log.open(directory, { 'batch.size': 350 })
    const values = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(120))
    const first = append(log, values)
    expect(first).toMatchObject({ baseOffset: 0, lastOffset: 3, isDuplicate: false })
    expect(first.batchCount).toBe(2)
    expect(append(log, values)).toEqual({ ...first, sizeBytes: 0, isDuplicate: true })
    expect(append(log, ['e'], { baseSequence: 4 })).toMatchObject({ baseOffset: 4 })
    await log.close()
    const again = await Log.open(directory, { 'batch.size': 350 })
    expect(append(again, ['e'], { baseSequence: 4 })).toMatchObject({
      baseOffset: 4,
      isDuplicate: true,
    })
    const ready = [...again.batches({ fromOffset: 4 })][0]!.bytes.slice()
    expect(again.appendBatches(ready)).toMatchObject({ baseOffset: 4, isDuplicate: true })
    expect(texts(again.records())).toHaveLength(5)
  })

  it('is refused with a gap or an old epoch, and nothing is written', async () => {
    const log = await Log.open(temporaryDirectory())
    append(log, ['a'], { producerEpoch: 2 })
    expect(() => append(log, ['c'], { producerEpoch: 2, baseSequence: 2 })).toThrow(
      codeOf('OUT_OF_ORDER_SEQUENCE_NUMBER'),
    )
    expect(() => append(log, ['b'], { producerEpoch: 1, baseSequence: 1 })).toThrow(
      codeOf('INVALID_PRODUCER_EPOCH'),
    )
    expect(log.logEndOffset).toBe(1)
  })

  it.each([
    ['producerId', { producerId: -1 }],
    ['producerEpoch', { producerEpoch: 32_768 }],
    ['baseSequence', { baseSequence: 2 ** 31 }],
  ])('must have a %s in range', async (name, stamp) => {
    const log = await Log.open(temporaryDirectory())
    expect(() => append(log, ['a'], stamp)).toThrow(codeOf('INVALID_ARGUMENT'))
    expect(() => append(log, ['a'], stamp)).toThrow(name)
  })
})

describe('transactions', () => {
  const stamp = (producerId: number, baseSequence = 0) => ({
    producerId,
    baseSequence,
    isTransactional: true,
  })
  const end = (log: Log, producerId: number, isCommit: boolean) =>
    log.endTransaction({ producerId, producerEpoch: 0, isCommit })

  it('are seen by readers of committed records when they are decided, and only if committed', async () => {
    const log = await Log.open(temporaryDirectory())
    log.append([{ value: 'plain' }])
    append(log, ['kept'], stamp(1))
    append(log, ['dropped'], stamp(2))
    const committed = () => texts(log.records({ isolation: 'read_committed' }))
    expect(committed()).toEqual(['0:plain'])
    expect(end(log, 2, false)).toBe(3)
    expect(committed()).toEqual(['0:plain'])
    expect(end(log, 1, true)).toBe(4)
    log.append([{ value: 'later' }])
    expect(committed()).toEqual(['0:plain', '1:kept', '5:later'])
    expect(texts(log.records())).toEqual(['0:plain', '1:kept', '2:dropped', '5:later'])
    const batches = [...log.batches({ isolation: 'read_committed' })]
    expect(batches.map(({ baseOffset }) => baseOffset)).toEqual([0, 1, 5])
    expect([...log.batches()].map(({ isControl }) => isControl)).toEqual([
      false,
      false,
      false,
      true,
      true,
      false,
    ])
  })

  it('are followed as they are decided, however they overlap', async () => {
    const log = await Log.open(temporaryDirectory())
    const seen: string[] = []
    const ended = (async () => {
      for await (const record of log.follow({ fromOffset: 0, isolation: 'read_committed' })) {
        seen.push(...texts([record]))
      }
    })()
    append(log, ['a'], stamp(1))
    append(log, ['b'], stamp(2))
    append(log, ['c'], stamp(1, 1))
    for (let turns = 0; turns < 5; turns += 1) await turn()
    expect(seen).toEqual([])
    end(log, 1, false)
    append(log, ['d'], stamp(2, 1))
    for (let turns = 0; turns < 5; turns += 1) await turn()
    expect(seen).toEqual([])
    end(log, 2, true)
    append(log, ['e'], stamp(1, 2))
    end(log, 1, true)
    while (seen.length < 3) await turn()
    expect(seen).toEqual(['1:b', '4:d', '6:e'])
    await log.close()
    await expect(ended).rejects.toEqual(codeOf('BROKER_CLOSED'))
  })

  it.each([
    ['an isolation nobody knows', (log: Log) => log.records({ isolation: 'dirty' as never })],
    ['an end without a decision', (log: Log) => log.endTransaction({ producerId: 1 } as never)],
    [
      'a coordinator below zero',
      (log: Log) => {
        log.endTransaction({
          producerId: 1,
          producerEpoch: 0,
          isCommit: true,
          coordinatorEpoch: -1,
        })
      },
    ],
  ])('refuses %s', async (_, call) => {
    const log = await Log.open(temporaryDirectory())
    expect(() => call(log)).toThrow(codeOf('INVALID_ARGUMENT'))
    expect(log.logEndOffset).toBe(0)
  })
})
