import { describe, expect, it } from 'vitest'
import { foregroundWindow } from '../../src/lab/foreground.ts'
import { LoadSeries } from '../../src/lab/load-series.ts'
import { ledgerOf } from './ledger-rows.ts'

describe('a window of the foreground', () => {
  const rows = [
    { intendedMs: 999, answeredMs: 1_000, records: 100 },
    { intendedMs: 1_000, answeredMs: 1_010, records: 10, bytes: 1_000 },
    // Held up: sent and answered long after the window, and meant to be in it.
    { intendedMs: 1_500, sentMs: 5_000, answeredMs: 5_100, records: 20, bytes: 2_000 },
    { intendedMs: 1_600, records: 1_000 },
    { intendedMs: 2_000, answeredMs: 2_001, records: 100 },
    // Deferred, so that it lies out of order.
    { intendedMs: 1_999, answeredMs: 2_010, records: 30, bytes: 3_000 },
  ]

  it('holds what was meant to be sent in it, from the intended time on', () => {
    const { ackMs, ...rates } = foregroundWindow([ledgerOf(rows)], 1_000, 2_000)!
    expect(rates).toEqual({ recordsPerSec: 60, bytesPerSec: 6_000 })
    expect(ackMs).toMatchObject({ p50: 11, max: 3_600 })
    expect(ackMs.p99).toBeGreaterThan(3_500)
  })

  it('adds generators up, and counts by the second', () => {
    const two = [ledgerOf(rows), ledgerOf([{ intendedMs: 1_100, answeredMs: 1_101, records: 4 }])]
    expect(foregroundWindow(two, 1_000, 3_000)!.recordsPerSec).toBe((60 + 100 + 4) / 2)
  })

  it('is none when it has no length, and empty when nothing was meant for it', () => {
    expect(foregroundWindow([ledgerOf(rows)], 2_000, 2_000)).toBeNull()
    expect(foregroundWindow([ledgerOf(rows)], 2_000, 1_000)).toBeNull()
    expect(foregroundWindow([ledgerOf(rows)], 10_000, 11_000)).toEqual({
      recordsPerSec: 0,
      bytesPerSec: 0,
      ackMs: { p50: 0, p99: 0, p999: 0, max: 0 },
    })
  })
})

describe('the series of the load', () => {
  const series = new LoadSeries(
    [
      ledgerOf([
        { intendedMs: 1_000, answeredMs: 1_100, records: 10, bytes: 500 },
        { intendedMs: 1_050, answeredMs: 1_250, records: 10, bytes: 1_500 },
        { intendedMs: 1_150, records: 20, bytes: 2_000 },
        { intendedMs: 9_000, answeredMs: 9_001, records: 20, bytes: 2_000 },
      ]),
    ],
    [1_000, 1_100, 1_300],
  )

  it('puts sends and answers between the samples that they fall between', () => {
    expect(series.row(1)).toEqual({
      producedRecordsPerSec: 100,
      ackedRecordsPerSec: 100,
      ackP50Ms: 100,
      ackP99Ms: 100,
      ackMaxMs: 100,
    })
    expect(series.row(2)).toMatchObject({
      producedRecordsPerSec: 100,
      ackedRecordsPerSec: 50,
      ackMaxMs: 200,
    })
  })

  it('has no latency where nothing was answered', () => {
    expect(series.row(0)).toMatchObject({ ackedRecordsPerSec: 0, ackP50Ms: null, ackMaxMs: null })
  })

  it('knows the bytes of a mean record', () => {
    expect(series.batchBytesPerRecord).toBe(6_000 / 60)
    expect(new LoadSeries([], [1]).batchBytesPerRecord).toBe(0)
  })
})
