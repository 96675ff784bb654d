/**
 * What this machine sustains: the pipeline's own maximum, measured for a moment in closed loop on
 * the study's own cluster, and what the disk takes for ever, which all replicas share. The smaller
 * counts.
 */
import { runInWorker } from './disk-rate-task.ts'
import { settleDisk } from './disk-settle.ts'
import type { InputRecords } from './input.ts'
import type { LabCluster } from './lab-cluster.ts'
import { type LoadLedgerBuffers, ledgerStatus } from './load-ledger.ts'
import { LoadRun } from './load-run.ts'
import type { Calibration, CatchUpOptions } from './result.ts'
import type { StudyProgress } from './study-progress.ts'
import { formatRate } from './units.ts'
import { workloadOf } from './workload.ts'

const pipelineMs = 3_500
/** The beginning, in which threads compile their code, does not count. */
const pipelineWarmUpMs = 1_500
/** A shorter stretch than this says nothing. */
const answeredMsMin = 100
/** So that the disk is not still busy with it when the study begins. */
const pipelineBytesMax = 256 * 1024 * 1024
/**
 * Virtual disks take a burst of gigabytes at several times their lasting rate: it must be seen
 * past.
 */
const diskBudgetMs = 5_000

/** @throws {TidemarkError} what producing and writing throw */
export async function calibrate(
  lab: LabCluster,
  options: CatchUpOptions,
  input: InputRecords | undefined,
  progress: StudyProgress,
): Promise<CalibrationRun> {
  progress.phase('calibrating the disk', diskBudgetMs)
  const disk = await runInWorker(lab.directory, diskBudgetMs)
  progress.phase('calibrating the pipeline', pipelineMs)
  const { bytesPerSec, ledgers } = await measurePipeline(lab, options, input)
  progress.phase('letting the disk finish', null)
  await settleDisk(lab.directory)
  const perReplica = (disk.bytesPerSec ?? Number.POSITIVE_INFINITY) / options.replicationFactor
  return {
    ledgers,
    calibration: {
      pipelineBytesPerSec: bytesPerSec,
      diskBytesPerSec: disk.bytesPerSec,
      sustainableBytesPerSec: Math.min(bytesPerSec, perReplica),
    },
  }
}

export interface CalibrationRun {
  readonly calibration: Calibration
  /** What it produced, to be read back with the rest. */
  readonly ledgers: readonly LoadLedgerBuffers[]
}

export function noteCalibration(calibration: Calibration, progress: StudyProgress): void {
  const { pipelineBytesPerSec, diskBytesPerSec } = calibration
  const disk =
    diskBytesPerSec === null ? 'no disk behind it' : `the disk ${formatRate(diskBytesPerSec)}`
  progress.note(`the pipeline carries ${formatRate(pipelineBytesPerSec)}, ${disk}`)
}

async function measurePipeline(
  lab: LabCluster,
  options: CatchUpOptions,
  input: InputRecords | undefined,
): Promise<{ readonly bytesPerSec: number; readonly ledgers: readonly LoadLedgerBuffers[] }> {
  const run = await LoadRun.open({
    memory: lab.cluster.memory,
    partitions: lab.partitions,
    generators: 1,
    input,
    batchesMax: Math.ceil(pipelineBytesMax / Math.min(options.batchBytes, 512)),
    workload: workloadOf(options, input, {
      bytesPerSec: undefined,
      roundBytesMax: pipelineBytesMax,
      generators: 1,
    }),
  })
  try {
    run.begin()
    await run.roundOver(AbortSignal.timeout(pipelineMs))
    await run.hold()
    return { bytesPerSec: rateOf(run), ledgers: run.ledgerBuffers }
  } finally {
    await run.close()
  }
}

/** Of what was answered after the warm-up; of everything, if that was all over by then. */
function rateOf({ ledgers: [ledger] }: LoadRun): number {
  if (ledger.count === 0) return 0
  const startMs = ledger.sentMs[0]
  return answeredRate(ledger, startMs + pipelineWarmUpMs) ?? answeredRate(ledger, startMs) ?? 0
}

function answeredRate(ledger: LoadRun['ledgers'][number], sinceMs: number): number | undefined {
  let bytes = 0
  let lastMs = sinceMs
  for (let row = 0; row < ledger.count; row++) {
    const isRefused = ledger.status[row] === ledgerStatus.refused
    // Without acknowledgements the sending is all there is.
    const atMs = ledger.answeredMs[row] || ledger.sentMs[row]
    if (isRefused || atMs < sinceMs) continue
    bytes += ledger.payloadBytes[row]
    lastMs = Math.max(lastMs, atMs)
  }
  return lastMs - sinceMs < answeredMsMin ? undefined : (bytes / (lastMs - sinceMs)) * 1000
}
