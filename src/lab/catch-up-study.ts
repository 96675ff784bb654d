/**
 * The catch-up study: keeps log ends moving, takes a follower out, lets it rejoin, and compares
 * what happened with a prediction; several times over when asked to.
 */
import { tmpdir } from 'node:os'
import { requireReplayable } from './catch-up-input.ts'
import { resultOfCatchUp } from './catch-up-result.ts'
import { runCatchUp } from './catch-up-run.ts'
import { type InputRecords, loadInput } from './input.ts'
import type { Calibration, CatchUpOptions, CatchUpResult, Interval } from './result.ts'
import { medianInterval95 } from './statistics.ts'
import type { StudyProgress } from './study-progress.ts'
import { machineOf } from './throughput-study.ts'

const headerBytes = 128

/** @throws {TidemarkError} INVALID_ARGUMENT for an input that cannot be used; what a run throws */
export async function studyCatchUp(
  options: CatchUpOptions,
  progress: StudyProgress,
  signal: AbortSignal,
): Promise<CatchUpResult> {
  const input = await inputOf(options, progress)
  let calibration: Calibration | null = null
  const results: CatchUpResult[] = []
  for (let run = 0; run < options.repeat && !(signal.aborted && run > 0); run++) {
    if (options.repeat > 1) progress.note(`run ${run + 1} of ${options.repeat}`)
    const runOptions = { ...options, seed: options.seed + run }
    const recording = await runCatchUp({
      options: runOptions,
      input,
      calibration,
      progress,
      signal,
    })
    calibration = recording.calibration
    const machine = machineOf(options.dir ?? tmpdir())
    const { offeredBytesPerSec } = recording
    const scenario = { ...runOptions, offeredBytesPerSec, calibration, machine }
    results.push(resultOfCatchUp(recording, scenario))
  }
  return results.length === 1 ? results[0] : merged(results, options.seed)
}

async function inputOf(
  options: CatchUpOptions,
  progress: StudyProgress,
): Promise<InputRecords | undefined> {
  if (options.input === null) return undefined
  const input = await loadInput(options.input, { recordBytesMax: options.batchBytes - headerBytes })
  requireReplayable(options, input.kind)
  for (const warning of input.warnings) progress.note(warning)
  return input
}

/**
 * The run with the median catch-up time stands for all; a run that failed stands before any that
 * did not.
 */
function merged(results: readonly CatchUpResult[], seed: number): CatchUpResult {
  const bad = results.find(({ outcome, records, invariants }) => {
    return (
      outcome !== 'converged' ||
      records.lost > 0 ||
      records.duplicated > 0 ||
      invariants.violations > 0
    )
  })
  const times = results.map(({ catchUpMs }) => catchUpMs ?? Number.POSITIVE_INFINITY)
  const byTime = [...results.keys()].sort((a, b) => times[a] - times[b])
  const chosen = bad ?? results[byTime[Math.floor((byTime.length - 1) / 2)]]
  const interval = (values: readonly (number | null)[]): Interval => {
    return medianInterval95(
      values.filter((value) => value !== null),
      seed,
    )
  }
  return {
    ...chosen,
    repetitions: {
      count: results.length,
      catchUpMs: interval(results.map(({ catchUpMs }) => catchUpMs)),
      predictionError: interval(results.map(({ predictionError }) => predictionError)),
      evictedAfterMs: interval(results.map(({ evictedAfterMs }) => evictedAfterMs?.median ?? null)),
    },
  }
}
