/** Ledgers made by hand. */
import { allocateLoadLedger, LoadLedger, ledgerStatus } from '../../src/lab/load-ledger.ts'

export interface LedgerRow {
  readonly intendedMs: number
  /** Default: as intended. */
  readonly sentMs?: number
  /** Absent: not acknowledged. */
  readonly answeredMs?: number
  readonly records?: number
  readonly bytes?: number
  readonly partition?: number
  readonly baseOffset?: number
}

export function ledgerOf(rows: readonly LedgerRow[]): LoadLedger {
  const ledger = new LoadLedger(allocateLoadLedger(rows.length + 1))
  for (const [row, { intendedMs, sentMs, answeredMs, ...rest }] of rows.entries()) {
    ledger.partition[row] = rest.partition ?? 0
    ledger.recordCount[row] = rest.records ?? 1
    ledger.batchBytes[row] = rest.bytes ?? 100
    ledger.payloadBytes[row] = rest.bytes ?? 100
    ledger.baseOffset[row] = rest.baseOffset ?? 0
    ledger.intendedMs[row] = intendedMs
    ledger.sentMs[row] = sentMs ?? intendedMs
    ledger.answeredMs[row] = answeredMs ?? 0
    ledger.status[row] = answeredMs === undefined ? ledgerStatus.pending : ledgerStatus.acknowledged
  }
  ledger.count = rows.length
  return ledger
}
