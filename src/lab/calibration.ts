/**
 * What this machine sustains: the pipeline's own maximum, measured for a moment in closed loop on a cluster
 * of the same shape, and what the disk takes for ever, which all replicas share. The smaller counts.
 */
import { tmpdir } from 'node:os'
import { runInWorker } from './disk-rate-task.ts'
import type { InputRecords } from './input.ts'
import { LabCluster } from './lab-cluster.ts'
import { ledgerStatus } from './load-ledger.ts'
import { LoadRun } from './load-run.ts'
import type { Calibration, CatchUpOptions } from './result.ts'
import type { StudyProgress } from './study-progress.ts'
import { workloadOf } from './workload.ts'

const pipelineMs = 1_800
/** The beginning, in which threads compile their code, does not count. */
const pipelineWarmUpMs = 900
const pipelineBytesMax = 1024 * 1024 * 1024
const diskBudgetMs = 2_000

/** @throws {TidemarkError} what opening and writing throw; nothing is left behind */
export async function calibrate(
  options: CatchUpOptions,
  input: InputRecords | undefined,
  progress: StudyProgress,
): Promise<Calibration> {
  progress.phase('calibrating the disk', diskBudgetMs)
  const disk = await runInWorker(options.dir ?? tmpdir(), diskBudgetMs)
  progress.phase('calibrating the pipeline', pipelineMs)
  const pipelineBytesPerSec = await measurePipeline(options, input)
  const perPayloadByte = options.replicationFactor
  const sustainable = Math.min(
    pipelineBytesPerSec,
    (disk.bytesPerSec ?? Number.POSITIVE_INFINITY) / perPayloadByte,
  )
  return {
    pipelineBytesPerSec,
    diskBytesPerSec: disk.bytesPerSec,
    sustainableBytesPerSec: sustainable,
  }
}

async function measurePipeline(
  options: CatchUpOptions,
  input: InputRecords | undefined,
): Promise<number> {
  const lab = await LabCluster.open({
    load: { ...options, dir: null },
    config: { 'partitions.max': Math.max(1_024, options.partitions) },
    minInsync: 1,
    keep: false,
  })
  try {
    const run = await LoadRun.open({
      memory: lab.cluster.memory,
      partitions: lab.partitions,
      generators: 1,
      input,
      batchesMax: Math.ceil(pipelineBytesMax / Math.min(options.batchBytes, 512)),
      workload: workloadOf(options, input, {
        bytesPerSec: undefined,
        totalBytesMax: pipelineBytesMax,
        generators: 1,
      }),
    })
    try {
      run.begin()
      await new Promise((resolve) => setTimeout(resolve, pipelineMs))
      await run.drain(30_000)
      return rateOf(run)
    } finally {
      await run.close()
    }
  } finally {
    await lab.close()
  }
}

function rateOf({ ledgers: [ledger] }: LoadRun): number {
  const { count } = ledger
  if (count === 0) return 0
  const startMs = ledger.sentMs[0] + pipelineWarmUpMs
  let bytes = 0
  let lastMs = startMs
  for (let row = 0; row < count; row++) {
    const isAnswered = ledger.status[row] !== ledgerStatus.refused
    if (!isAnswered || ledger.sentMs[row] < startMs) continue
    bytes += ledger.payloadBytes[row]
    lastMs = Math.max(lastMs, ledger.answeredMs[row], ledger.sentMs[row])
  }
  // Too short a run to leave a warm-up out, or everything was sent within it: take all of it.
  if (bytes === 0) {
    for (let row = 0; row < count; row++) bytes += ledger.payloadBytes[row]
    return (bytes / Math.max(1, ledger.answeredMs[count - 1] - ledger.sentMs[0])) * 1000
  }
  return (bytes / Math.max(1, lastMs - startMs)) * 1000
}
