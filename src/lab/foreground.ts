/** What producers saw in a window of time, worked out from the ledgers. */
import type { LoadLedger } from './load-ledger.ts'
import { ledgerStatus } from './load-ledger.ts'
import type { ForegroundWindow, Latency } from './result.ts'
import { quantilesOf } from './statistics.ts'

/**
 * Batches that were *meant* to be sent in [fromMs, toMs), by the generators' clock. Rates are of
 * what was acknowledged, per second of the window; latency runs from the intended time to the
 * acknowledgement.
 */
export function foregroundWindow(
  ledgers: readonly LoadLedger[],
  fromMs: number,
  toMs: number,
): ForegroundWindow | null {
  if (!(toMs > fromMs)) return null
  const latencies: number[] = []
  let records = 0
  let bytes = 0
  for (const ledger of ledgers) {
    const { count } = ledger
    // All rows: batches that were deferred while a leader was away lie out of order.
    for (let row = 0; row < count; row++) {
      const intendedMs = ledger.intendedMs[row]
      if (intendedMs >= toMs || intendedMs < fromMs) continue
      if (ledger.status[row] !== ledgerStatus.acknowledged) continue
      latencies.push(ledger.answeredMs[row] - intendedMs)
      records += ledger.recordCount[row]
      bytes += ledger.payloadBytes[row]
    }
  }
  const seconds = (toMs - fromMs) / 1000
  return {
    recordsPerSec: records / seconds,
    bytesPerSec: bytes / seconds,
    ackMs: latencyOf(latencies),
  }
}

export function latencyOf(latenciesMs: readonly number[]): Latency {
  if (latenciesMs.length === 0) return { p50: 0, p99: 0, p999: 0, max: 0 }
  const [p50, p99, p999, max] = quantilesOf(latenciesMs, [0.5, 0.99, 0.999, 1])
  return { p50, p99, p999, max }
}
