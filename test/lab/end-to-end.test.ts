import { describe, expect, it } from 'vitest'
import { type PartitionIndex, partitionIndex } from '../../src/ids.ts'
import { endToEndLatencies, type SeenRecords } from '../../src/lab/end-to-end.ts'
import { ledgerOf } from './ledger-rows.ts'

const seenBy = (partition: number, records: SeenRecords) =>
  new Map<PartitionIndex, SeenRecords>([[partitionIndex(partition), records]])

describe('end-to-end latency', () => {
  const batch = { partition: 3, records: 2, answeredMs: 12 }

  it('runs from the intended time until the last record of the batch is in hand', () => {
    const ledger = ledgerOf([
      { ...batch, intendedMs: 10, sentMs: 11, baseOffset: 100 },
      { ...batch, intendedMs: 20, baseOffset: 102 },
    ])
    const seen = seenBy(3, { firstOffset: 100, seenMs: [13, 14, 25, 27] })
    expect(endToEndLatencies(ledger, 0, seen)).toEqual([4, 7])
  })

  it('leaves out earlier rounds, other partitions, what nobody has seen or acknowledged', () => {
    const ledger = ledgerOf([
      { ...batch, intendedMs: 10, baseOffset: 100 },
      { ...batch, intendedMs: 20, baseOffset: 0, partition: 4 },
      { partition: 3, records: 2, intendedMs: 21, baseOffset: 102 },
      { ...batch, intendedMs: 22, baseOffset: 104 },
      { ...batch, intendedMs: 23, baseOffset: 106 },
      { ...batch, intendedMs: 24, baseOffset: 90 },
    ])
    const seen = seenBy(3, { firstOffset: 100, seenMs: [11, 12, 13, 14, 30, 31, 32] })
    expect(endToEndLatencies(ledger, 1, seen)).toEqual([9])
  })
})
