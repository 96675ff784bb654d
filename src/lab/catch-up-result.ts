/**
 * From the recording of a run to its result: what happened when, for how long, at what price. Pure.
 */
import type { CatchUpRecording } from './catch-up-recording.ts'
import type { Sample } from './catch-up-sampler.ts'
import { failoverOf } from './failover.ts'
import { foregroundWindow } from './foreground.ts'
import { LoadSeries } from './load-series.ts'
import {
  type CatchUpResult,
  type CatchUpScenario,
  type Foreground,
  resultSchemaVersion,
  type SeriesRow,
  type Spread,
} from './result.ts'
import { medianTail, summarize } from './statistics.ts'

/** Left out of "before": threads compile their code in the first moment of the load. */
const startUpMs = 500
/** Left out at its end: what was meant to be sent so shortly before the fault may wait for it. */
const underWayMs = 100

export function resultOfCatchUp(
  recording: CatchUpRecording,
  scenario: CatchUpScenario,
): CatchUpResult {
  const { at, events, sampler, forecast, verification, counters } = recording
  forecast.finish(events.reads)
  const catchUpMs = at.caughtUpMs === 0 ? null : at.caughtUpMs - at.resumeMs
  const predictedMs = forecast.prediction?.catchUpMs ?? null
  const predictionError =
    catchUpMs === null || predictedMs === null || predictedMs === 0
      ? null
      : (catchUpMs - predictedMs) / predictedMs
  return {
    schemaVersion: resultSchemaVersion,
    scenario,
    outcome: recording.outcome,
    interrupted: recording.interrupted,
    evictedAfterMs: evictedAfter(recording),
    failover: failoverOf(recording.led, events.electedAtMs, at.faultMs, recording.load.ledgers),
    backlogBytes: Math.round(forecast.backlogBytes),
    backlogRecords: recording.backlogRecords,
    catchUpMs,
    admissionMs: admission(recording),
    copiedBytes: counters.copiedBytes,
    diskReadBytes: counters.diskReadBytes,
    ringBytes: counters.ringBytes,
    predicted: predicted(recording),
    predictionError,
    foreground: foregroundOf(recording),
    isr: {
      shrinks: events.shrinks,
      expands: events.expands,
      rejected: events.rejected,
      flaps: events.flaps,
    },
    highWatermark: {
      advances: counters.advances,
      stalledMs: sampler.stalledMs,
      wentBack: sampler.wentBack,
    },
    invariants: {
      checked: sampler.checked,
      violations: sampler.violations.length + verification.replicaMismatches,
    },
    records: {
      produced: [...recording.calibrationLedgers, ...recording.load.ledgers].reduce(
        (total, ledger) => total + recordsIn(ledger),
        0,
      ),
      acknowledged: verification.acknowledgedRecords,
      verified: verification.verifiedRecords,
      lost: verification.lostRecords,
      duplicated: verification.duplicatedRecords,
    },
    timeline: events.timeline(at.startMs),
    series: seriesOf(recording),
  }
}

function recordsIn({ count, recordCount }: CatchUpRecording['load']['ledgers'][number]): number {
  let records = 0
  for (let row = 0; row < count; row++) records += recordCount[row]
  return records
}

function evictedAfter({ at, events }: CatchUpRecording): Spread | null {
  const after = Array.from(events.times.evictedAtMs.values(), (atMs) => atMs - at.faultMs)
  if (after.length === 0) return null
  const { min, median, max } = summarize(after)
  return { min, median, max }
}

function admission({ events }: CatchUpRecording) {
  const { reachedAtMs, admittedAtMs } = events.times
  const took: number[] = []
  for (const [partition, admittedMs] of admittedAtMs) {
    const reachedMs = reachedAtMs.get(partition)
    if (reachedMs !== undefined) took.push(Math.max(0, admittedMs - reachedMs))
  }
  return medianTail(took) ?? null
}

function predicted({ forecast, at }: CatchUpRecording): CatchUpResult['predicted'] {
  const { prediction } = forecast
  if (prediction === undefined) return null
  const offsetMs = at.resumeMs - at.startMs
  return {
    catchUpMs: prediction.catchUpMs,
    naiveMs: prediction.naiveMs,
    converges: prediction.converges,
    setupMsPerRead: prediction.setupMsPerRead,
    copyBytesPerSec: prediction.copyBytesPerSec,
    floorLagBytes: prediction.floorLagBytes,
    fittedFrom: prediction.fittedFrom,
    trajectory: prediction.trajectory.map(({ atMs, lagBytes }) => ({
      atMs: atMs + offsetMs,
      lagBytes,
    })),
  }
}

function foregroundOf({ at, events, load }: CatchUpRecording): Foreground {
  const { ledgers } = load
  const endMs = at.endMs
  const faultMs = at.faultMs === 0 ? endMs : at.faultMs
  const caughtUpMs = at.caughtUpMs === 0 ? endMs : at.caughtUpMs
  const lastEvictedMs = Math.max(faultMs, ...events.times.evictedAtMs.values())
  const isEvicted = events.times.evictedAtMs.size > 0
  const lastIntendedMs = Math.max(
    0,
    ...ledgers.map(({ intendedMs, count }) => intendedMs[count - 1] ?? 0),
  )
  const afterEndMs = Math.min(endMs, lastIntendedMs)
  return {
    before: foregroundWindow(ledgers, at.startMs + startUpMs, faultMs - underWayMs),
    during: at.faultMs === 0 ? null : foregroundWindow(ledgers, faultMs, caughtUpMs),
    after: at.caughtUpMs === 0 ? null : foregroundWindow(ledgers, caughtUpMs, afterEndMs),
    awaitingEviction: isEvicted ? foregroundWindow(ledgers, faultMs, lastEvictedMs) : null,
    outOfSync: isEvicted ? foregroundWindow(ledgers, lastEvictedMs, caughtUpMs) : null,
  }
}

function seriesOf({ at, sampler, load }: CatchUpRecording): SeriesRow[] {
  const rates = new LoadSeries(
    load.ledgers,
    sampler.samples.map(({ atMs }) => atMs),
  )
  const bytesPerRecord = rates.batchBytesPerRecord
  return sampler.samples.map((sample: Sample, place) => ({
    ...sample,
    atMs: sample.atMs - at.startMs,
    lagBytes: Math.round(sample.lagRecords * bytesPerRecord),
    ...rates.row(place),
  }))
}
