/**
 * How long partitions were without a leader that answers, after theirs was taken out: from what the
 * controller told and from the producers' own ledgers. Pure.
 */
import type { PartitionIndex } from '../ids.ts'
import { type LoadLedger, ledgerStatus } from './load-ledger.ts'
import type { Spread } from './result.ts'
import { summarize } from './statistics.ts'

export interface Failover {
  /** Partitions that the broker led when the fault came, and that got another leader. */
  readonly partitions: number
  /** Fault → the controller had elected another. */
  readonly electedAfterMs: Spread
  /**
   * Fault → a batch sent after it was acknowledged, by partition; null: in none of them was any.
   */
  readonly acknowledgedAfterMs: Spread | null
}

/** @returns null when no leadership moved */
export function failoverOf(
  led: readonly PartitionIndex[],
  electedAtMs: ReadonlyMap<PartitionIndex, number>,
  faultMs: number,
  ledgers: readonly LoadLedger[],
): Failover | null {
  const moved = led.filter((index) => electedAtMs.has(index))
  if (moved.length === 0) return null
  const firstAnswerMs = firstAnswers(ledgers, faultMs)
  const elected = moved.map((index) => electedAtMs.get(index)! - faultMs)
  const answered = moved.flatMap((index) => {
    const atMs = firstAnswerMs.get(index)
    return atMs === undefined ? [] : [atMs - faultMs]
  })
  return {
    partitions: moved.length,
    electedAfterMs: spreadOf(elected),
    acknowledgedAfterMs: answered.length === 0 ? null : spreadOf(answered),
  }
}

function spreadOf(values: readonly number[]): Spread {
  const { min, median, max } = summarize(values)
  return { min, median, max }
}

function firstAnswers(ledgers: readonly LoadLedger[], faultMs: number): Map<number, number> {
  const first = new Map<number, number>()
  for (const ledger of ledgers) {
    const { count, sentMs, answeredMs, status, partition } = ledger
    for (let row = 0; row < count; row++) {
      if (sentMs[row]! < faultMs || status[row] !== ledgerStatus.acknowledged) continue
      const before = first.get(partition[row]!) ?? Number.POSITIVE_INFINITY
      if (answeredMs[row]! < before) first.set(partition[row]!, answeredMs[row]!)
    }
  }
  return first
}
