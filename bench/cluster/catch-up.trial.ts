/**
 * A follower that lacks gigabytes reads its leader's files while producers go on at half of what
 * the disk takes: how fast is it beside a thread that only copies the same files under the same
 * load, and what do producers notice?
 */
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { runInWorker } from '../../src/lab/disk-rate-task.ts'
import { settleDisk } from '../../src/lab/disk-settle.ts'
import { foregroundWindow } from '../../src/lab/foreground.ts'
import type { LabCluster } from '../../src/lab/lab-cluster.ts'
import type { ForegroundWindow } from '../../src/lab/result.ts'
import { formatBytes, formatRate } from '../../src/lab/units.ts'
import { type Finding, findingOf, ratioOf, type TrialOptions } from '../trial.ts'
import { copySegments } from './copy-limit.ts'
import { openTrialCluster, replicas, TrialLoadRun } from './loaded-cluster.ts'
import { follower, leader, now, OutageStage, pause } from './outage-stage.ts'

const partitions = 1_000
const sizes = { partitions, recordBytes: 1024, batchBytes: 16 * 1024 }
/** Offered where no disk's rate is there to be halved, or no time to find it out. */
const bytesPerSecDefault = 45e6
const diskBudgetMs = 5_000
const warmUpMs = 1_000
const calmMs = 2_000
const name = {
  copy: 'one thread that copies the same files',
  catchUp: 'a follower that catches up',
  rateBefore: 'payload acknowledged, before',
  p99Before: 'acknowledged p99, before',
}

export async function catchUpTrial({ full, progress }: TrialOptions): Promise<Finding[]> {
  const base = tmpdir()
  const backlogBytes = full ? 2e9 : 256e6
  progress.phase('what the disk takes', null)
  const disk = full ? (await runInWorker(base, diskBudgetMs)).bytesPerSec : null
  const bytesPerSec = disk === null ? bytesPerSecDefault : disk / replicas / 2
  const lab = await openTrialCluster(base, {
    partitions,
    config: { 'replica.lag.time.max.ms': 1_000, 'broker.session.timeout.ms': 300_000 },
  })
  try {
    const stage = new OutageStage(lab.cluster, lab.partitions)
    const fill = await TrialLoadRun.open(lab, sizes)
    const load = await TrialLoadRun.open(lab, { ...sizes, bytesPerSec }, { firstSlot: 2 })
    try {
      await fill.round(warmUpMs, backlogBytes / 10)
      // It leaves a partition only when something is appended that it lacks.
      const frozen = stage.freeze()
      progress.phase(`a backlog of ${formatBytes(backlogBytes)}`, null)
      await fill.round(60_000, backlogBytes)
      await frozen
      await settleDisk(lab.directory)
      progress.phase(`catching up beside ${formatRate(bytesPerSec)}`, null)
      const findings = await measure(lab, load, stage)
      await load.verify(fill)
      return findings
    } finally {
      await fill.close()
      await load.close()
    }
  } finally {
    await lab.close()
  }
}

/** Copy, catch up, copy: what changes with time meets both alike. */
async function measure(
  lab: LabCluster,
  { load }: TrialLoadRun,
  stage: OutageStage,
): Promise<Finding[]> {
  load.begin()
  await pause(warmUpMs)
  const copies = [await copyHalf(lab, 0)]
  await settleDisk(lab.directory)
  const calmAtMs = now()
  await pause(calmMs)
  const copied = (): number => lab.cluster.board.counter(follower, 'copiedBytes')
  const earlierBytes = copied()
  const { resumedAtMs, reachedAtMs } = await stage.resume()
  const reachedMs = Math.max(...reachedAtMs.values())
  const catchUp = (copied() - earlierBytes) / 1e3 / (reachedMs - resumedAtMs)
  await settleDisk(lab.directory)
  copies.push(await copyHalf(lab, 1))
  await load.hold()
  const window = (fromMs: number, toMs: number): ForegroundWindow => {
    const seen = foregroundWindow(load.ledgers, fromMs, toMs)
    if (seen === null) throw new Error('nothing was acknowledged')
    return seen
  }
  const before = window(calmAtMs, resumedAtMs)
  const during = window(resumedAtMs, reachedMs)
  const inTurn = copies.map(() => catchUp)
  const ratio = ratioOf(name.copy, inTurn, copies)
  return [
    findingOf(name.copy, 'MB/s', copies),
    { ...findingOf(name.catchUp, 'MB/s', [catchUp]), ratio },
    ...foregroundFindings(before, during),
  ]
}

function foregroundFindings(before: ForegroundWindow, during: ForegroundWindow): Finding[] {
  const [rates, rate] = [before.bytesPerSec / 1e6, during.bytesPerSec / 1e6]
  const [p99Before, p99] = [before.ackMs.p99, during.ackMs.p99]
  return [
    findingOf(name.rateBefore, 'MB/s', [rates]),
    {
      ...findingOf('payload acknowledged, during', 'MB/s', [rate]),
      ratio: ratioOf(name.rateBefore, [rate], [rates]),
    },
    findingOf(name.p99Before, 'ms', [p99Before], `p50 ${before.ackMs.p50.toFixed(2)} ms`),
    {
      ...findingOf(
        'acknowledged p99, during',
        'ms',
        [p99],
        `p50 ${during.ackMs.p50.toFixed(2)} ms`,
      ),
      ratio: ratioOf(name.p99Before, [p99], [p99Before]),
    },
  ]
}

/** Every other partition, so that both halves are alike. @returns MB/s */
async function copyHalf(lab: LabCluster, half: 0 | 1): Promise<number> {
  const from = lab.partitions.flatMap((_, partition) => {
    const directory = path.join(lab.cluster.brokerDirectory(leader), `${lab.topic}-${partition}`)
    return partition % 2 === half ? [directory] : []
  })
  const to = path.join(lab.directory, 'copies')
  const { bytes, tookMs } = await copySegments(from, to)
  rmSync(to, { recursive: true })
  return bytes / 1e3 / tookMs
}
