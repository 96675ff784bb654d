/**
 * CatchUpForecast: the prediction of one run, made while it runs: costs fitted to the follower's
 * first reads after its return, backlog and arrival rate as they were at that moment. Once made it
 * stays.
 */

import { limits } from '../limits.ts'
import type { CatchUpRead } from '../workers/catch-up.ts'
import { fitReadCost } from './fit.ts'
import type { LoadLedger } from './load-ledger.ts'
import { type CatchUpPrediction, predictCatchUp } from './prediction.ts'
import type { Calibration, CatchUpOptions } from './result.ts'

/**
 * Reads to fit from, and the time after which fewer must do. The first reads cost several times the
 * later ones, until code is compiled and files are known; the fit leaves that beginning out if it
 * sees past it.
 */
const readsWanted = 256
const readsMinLate = 32
const lateMs = 500
/** The arrival rate is what came in this long before the return. */
const arrivalWindowMs = 1_000

export class CatchUpForecast {
  prediction: CatchUpPrediction | undefined
  backlogBytes = 0
  readonly #options: CatchUpOptions
  readonly #calibration: Calibration | null
  #resumeMs = 0
  #backlog = new Float64Array(0)
  #arrivalBytesPerSec = 0

  constructor(options: CatchUpOptions, calibration: Calibration | null) {
    this.#options = options
    this.#calibration = calibration
  }

  /** @param backlogRecords of each partition that the follower follows */
  begin(resumeMs: number, backlogRecords: Float64Array, ledgers: readonly LoadLedger[]): void {
    const { bytesPerRecord, bytesPerSec, partitions } = arrivals(ledgers, resumeMs)
    this.#resumeMs = resumeMs
    this.#backlog = backlogRecords.map((records) => records * bytesPerRecord)
    this.backlogBytes = this.#backlog.reduce((sum, bytes) => sum + bytes, 0)
    const share = partitions === 0 ? 0 : Math.min(1, backlogRecords.length / partitions)
    this.#arrivalBytesPerSec = bytesPerSec * share
  }

  /** Makes the prediction when there are reads enough. @param reads since the fault, in order */
  update(reads: readonly CatchUpRead[], nowMs: number): void {
    if (this.prediction !== undefined) return
    const first = reads.findIndex((read) => read.atMs >= this.#resumeMs)
    const available = first < 0 ? 0 : reads.length - first
    const isLate = nowMs - this.#resumeMs > lateMs
    if (available < (isLate ? readsMinLate : readsWanted)) return
    this.#predict(reads.slice(first, first + readsWanted))
  }

  /** With whatever there is: for a run whose catch-up was over before `update` had enough. */
  finish(reads: readonly CatchUpRead[]): void {
    if (this.prediction !== undefined || this.#resumeMs === 0) return
    const own = reads.filter((read) => read.atMs >= this.#resumeMs)
    if (own.length > 0) this.#predict(own.slice(0, readsWanted))
  }

  #predict(reads: readonly CatchUpRead[]): void {
    const { policy, catchUpLimitBytesPerSec: limit } = this.#options
    const fit = fitReadCost(
      {
        bytes: reads.map(({ bytes }) => bytes),
        ms: reads.map(({ tookMs }) => tookMs),
        atMs: reads.map(({ atMs }) => atMs - this.#resumeMs),
      },
      { throttled: limit !== null },
    )
    const perPartition = this.#arrivalBytesPerSec / Math.max(1, this.#backlog.length)
    // Until then it registered, made or opened its logs, compared histories; the end moved on.
    const delayMs = Math.max(0, reads[0]!.atMs - this.#resumeMs)
    const missed = (perPartition * delayMs) / 1000
    const pipeline = this.#calibration?.pipelineBytesPerSec
    const prediction = predictCatchUp({
      backlogBytes: this.#backlog.map((bytes) => bytes + missed),
      arrivalBytesPerSec: new Float64Array(this.#backlog.length).fill(perPartition),
      policy,
      leavesLastBytesMin: limits.catchUpReadBytesDefault * limits.catchUpSmallReadShare,
      setupMsPerRead: fit.setupMsPerRead,
      copyBytesPerSec: fit.copyBytesPerSec,
      pollMsPerRound: fit.pollMsPerRound,
      slowdown: fit.meanFactor,
      readDeviationMs: fit.readDeviationMs,
      fittedFrom: fit.fittedFrom,
      ...(limit === null ? {} : { throttleBytesPerSec: limit }),
      ...(pipeline === undefined
        ? {}
        : { ringBytesPerSec: Math.max(pipeline, fit.copyBytesPerSec) }),
    })
    this.prediction = later(prediction, delayMs)
  }
}

function later(prediction: CatchUpPrediction, delayMs: number): CatchUpPrediction {
  const { catchUpMs, trajectory } = prediction
  return {
    ...prediction,
    catchUpMs: catchUpMs === null ? null : catchUpMs + delayMs,
    trajectory: trajectory.map((point) => ({ ...point, atMs: point.atMs + delayMs })),
  }
}

function arrivals(ledgers: readonly LoadLedger[], nowMs: number) {
  let bytes = 0
  let recentBytes = 0
  let records = 0
  const partitions = new Set<number>()
  for (const ledger of ledgers) {
    const { count } = ledger
    for (let row = 0; row < count; row++) {
      bytes += ledger.batchBytes[row]
      records += ledger.recordCount[row]
      partitions.add(ledger.partition[row])
      const sentMs = ledger.sentMs[row]
      if (sentMs > nowMs - arrivalWindowMs && sentMs <= nowMs) recentBytes += ledger.batchBytes[row]
    }
  }
  return {
    bytesPerRecord: records === 0 ? 0 : bytes / records,
    bytesPerSec: (recentBytes / arrivalWindowMs) * 1000,
    partitions: partitions.size,
  }
}
