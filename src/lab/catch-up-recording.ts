/** What a run of the catch-up study leaves behind; catch-up-result.ts makes the result of it. */
import type { PartitionIndex } from '../ids.ts'
import type { CatchUpEvents } from './catch-up-events.ts'
import type { CatchUpForecast } from './catch-up-forecast.ts'
import type { CatchUpSampler } from './catch-up-sampler.ts'
import type { LoadLedger } from './load-ledger.ts'
import type { Calibration } from './result.ts'
import type { Verification } from './verify.ts'

/** Instants of a run, ms since 1970; 0: did not come to that. */
export interface Instants {
  startMs: number
  faultMs: number
  resumeMs: number
  caughtUpMs: number
  admittedMs: number
  endMs: number
}

export interface CatchUpRecording {
  readonly at: Instants
  readonly calibration: Calibration | null
  /** null: closed loop. */
  readonly offeredBytesPerSec: number | null
  readonly load: { readonly ledgers: readonly LoadLedger[] }
  /** Produced while calibrating; it is read back too. */
  readonly calibrationLedgers: readonly LoadLedger[]
  readonly events: CatchUpEvents
  readonly sampler: CatchUpSampler
  readonly forecast: CatchUpForecast
  readonly verification: Verification
  readonly counters: {
    readonly copiedBytes: number
    readonly diskReadBytes: number
    readonly ringBytes: number
    readonly advances: number
  }
  readonly backlogRecords: number
  /** Partitions that the broker under study led when the first fault came. */
  readonly led: readonly PartitionIndex[]
  readonly outcome: 'converged' | 'diverges' | 'timed-out'
  readonly interrupted: boolean
}
