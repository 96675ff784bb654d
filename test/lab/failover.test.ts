import { describe, expect, it } from 'vitest'
import { type PartitionIndex, partitionIndex } from '../../src/ids.ts'
import { failoverOf } from '../../src/lab/failover.ts'
import { allocateLoadLedger, LoadLedger, ledgerStatus } from '../../src/lab/load-ledger.ts'

const [p0, p1, p2] = [0, 1, 2].map(partitionIndex) as [
  PartitionIndex,
  PartitionIndex,
  PartitionIndex,
]

/** Rows of partition, sent, answered, status. */
function ledgerOf(...rows: [number, number, number, keyof typeof ledgerStatus][]): LoadLedger {
  const ledger = new LoadLedger(allocateLoadLedger(rows.length))
  for (const [row, [partition, sentMs, answeredMs, status]] of rows.entries()) {
    ledger.partition[row] = partition
    ledger.sentMs[row] = sentMs
    ledger.answeredMs[row] = answeredMs
    ledger.status[row] = ledgerStatus[status]
  }
  ledger.count = rows.length
  return ledger
}

describe('a failover', () => {
  it('is told by the partitions that moved: when they were led, when they answered', () => {
    const ledgers = [
      ledgerOf(
        [0, 900, 1_150, 'acknowledged'],
        [0, 1_010, 1_400, 'acknowledged'],
        [1, 1_010, 1_200, 'unknown'],
      ),
      ledgerOf([0, 1_020, 1_300, 'acknowledged'], [1, 1_500, 1_600, 'acknowledged']),
    ]
    const elected = new Map([
      [p0, 1_100],
      [p1, 1_120],
    ])
    expect(failoverOf([p0, p1, p2], elected, 1_000, ledgers)).toEqual({
      partitions: 2,
      electedAfterMs: { min: 100, median: 110, max: 120 },
      acknowledgedAfterMs: { min: 300, median: 450, max: 600 },
    })
  })

  it('is none when nothing moved, and has no answers when nobody got any', () => {
    expect(failoverOf([p0], new Map(), 1_000, [])).toBeNull()
    expect(failoverOf([], new Map([[p0, 1_100]]), 1_000, [])).toBeNull()
    expect(failoverOf([p0], new Map([[p0, 1_100]]), 1_000, [])).toMatchObject({
      acknowledgedAfterMs: null,
    })
  })
})
