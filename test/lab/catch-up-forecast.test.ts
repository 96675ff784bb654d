import { describe, expect, it } from 'vitest'
import { CatchUpForecast } from '../../src/lab/catch-up-forecast.ts'
import { allocateLoadLedger, LoadLedger, ledgerStatus } from '../../src/lab/load-ledger.ts'
import type { CatchUpOptions } from '../../src/lab/result.ts'

const options = { policy: 'smallest-lag-first', catchUpLimitBytesPerSec: null } as CatchUpOptions
const resumeMs = 10_000

/** 1 MB/s in batches of ten records over two partitions, until the follower is back. */
function ledger(): LoadLedger {
  const rows = 100
  const made = new LoadLedger(allocateLoadLedger(rows))
  for (let row = 0; row < rows; row++) {
    made.partition[row] = row % 2
    made.recordCount[row] = 10
    made.batchBytes[row] = 10_000
    made.sentMs[row] = resumeMs - 1_000 + row * 10
    made.status[row] = ledgerStatus.acknowledged
  }
  made.count = rows
  return made
}

/** Reads of 100 kB that take 1 ms each, the first so long after the follower was back. */
function reads(delayMs: number) {
  return Array.from({ length: 300 }, (_, at) => {
    return { atMs: resumeMs + delayMs + at, bytes: 100_000, tookMs: 1 }
  })
}

function forecastAfter(delayMs: number): CatchUpForecast {
  const forecast = new CatchUpForecast(options, null)
  forecast.begin(resumeMs, Float64Array.of(20_000, 20_000), [ledger()])
  forecast.update(reads(delayMs), resumeMs + 2_000)
  return forecast
}

describe('the forecast of a run', () => {
  it('takes the backlog from the records that are lacking and the size that they have', () => {
    expect(forecastAfter(0).backlogBytes).toBe(40_000_000)
  })

  it('begins when the follower begins to read; what arrives until then is read too', () => {
    const atOnce = forecastAfter(0).prediction!
    const late = forecastAfter(800).prediction!
    expect(atOnce.catchUpMs).toBeGreaterThan(0)
    expect(late.catchUpMs! - atOnce.catchUpMs!).toBeGreaterThan(800)
    // 0.8 MB more at about 100 MB/s.
    expect(late.catchUpMs! - atOnce.catchUpMs!).toBeLessThan(850)
    expect(late.trajectory[0]!.atMs - atOnce.trajectory[0]!.atMs).toBeCloseTo(800, 6)
  })

  it('is made once', () => {
    const forecast = forecastAfter(0)
    const { prediction } = forecast
    forecast.update(reads(500), resumeMs + 3_000)
    expect(forecast.prediction).toBe(prediction)
  })
})
