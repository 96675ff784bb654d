/**
 * Minutes of load at 0.8 of what the disk takes for ever, with retention: does the latency drift,
 * does memory grow, is the application's event loop ever held up?
 */
import { tmpdir } from 'node:os'
import { runInWorker } from '../../src/lab/disk-rate-task.ts'
import { foregroundWindow } from '../../src/lab/foreground.ts'
import type { LabCluster } from '../../src/lab/lab-cluster.ts'
import { quantilesOf } from '../../src/lab/statistics.ts'
import { formatRate } from '../../src/lab/units.ts'
import { type Finding, findingOf, ratioOf, type TrialOptions } from '../trial.ts'
import { ApplicationWatch } from './application-watch.ts'
import { openTrialCluster, replicas, TrialLoadRun } from './loaded-cluster.ts'

const diskShare = 0.8
const diskBudgetMs = 15_000
const partitions = 100
const topic = 'sustained'
const sizes = { recordBytes: 1024, batchBytes: 64 * 1024 }
/** Of one partition of one replica; all of them keep 100 times three times as much. */
const [segmentBytes, retentionBytes] = [16 * 1024 * 1024, 64 * 1024 * 1024]
const warmUpMs = 10_000
/** Latency, memory and the event loop are looked at in windows of a tenth of a part. */
const windowsPerPart = 10

/** Of one window. */
interface Window {
  readonly fromMs: number
  readonly toMs: number
  readonly residentBytes: number
  readonly loopDelayMs: number
  readonly sendP99Ms: number
}

export async function sustainedTrial(options: TrialOptions): Promise<Finding[]> {
  const { minutes, progress } = options
  const directory = tmpdir()
  progress.phase('what the disk takes', diskBudgetMs)
  const { bytesPerSec: disk } = await runInWorker(directory, diskBudgetMs)
  if (disk === null) throw new Error(`${directory}: no disk behind it; TMPDIR may name another`)
  const bytesPerSec = (diskShare * disk) / replicas
  progress.note(`${formatRate(disk)} synced, so ${formatRate(bytesPerSec)} of payload`)
  const lab = await openTrialCluster(directory, {
    partitions: 1,
    config: { 'log.retention.check.interval.ms': 2_000 },
  })
  try {
    await lab.cluster.createTopic(topic, {
      ...{ partitions, replicationFactor: replicas, leaders: 'one' },
      config: {
        'segment.bytes': segmentBytes,
        'retention.bytes': retentionBytes,
        'file.delete.delay.ms': 1_000,
      },
    })
    return await measure(lab, bytesPerSec, minutes * 60_000, options)
  } finally {
    await lab.close()
  }
}

async function measure(
  lab: LabCluster,
  bytesPerSec: number,
  ms: number,
  { progress }: TrialOptions,
): Promise<Finding[]> {
  const indexes = lab.cluster.partitionsOf(topic)!
  const place = { partitions: indexes, firstSlot: 1 }
  const load = await TrialLoadRun.open(lab, { ...sizes, partitions, bytesPerSec }, place)
  try {
    touch(load)
    progress.phase('warming up', warmUpMs)
    await load.round(warmUpMs)
    progress.phase('sustained load', ms)
    const windows: Window[] = []
    const watch = new ApplicationWatch(lab.cluster, lab.topic)
    const round = load.round(ms)
    const over = round.then(
      () => true,
      () => true,
    )
    const windowMs = ms / 100
    for (let fromMs = now(); ; fromMs = now()) {
      const isOver = await Promise.race([over, pause(windowMs).then(() => false)])
      if (isOver) break
      const { loopDelayMsMax: loopDelayMs, sendMs } = watch.take()
      const sendP99Ms = quantilesOf(sendMs, [0.99])[0]!
      const residentBytes = process.memoryUsage.rss()
      windows.push({ fromMs, toMs: now(), residentBytes, loopDelayMs, sendP99Ms })
      progress.status(`${(residentBytes / 1e6).toFixed(0)} MB, loop ${loopDelayMs.toFixed(1)} ms`)
    }
    await round
    await watch.close()
    progress.phase('reading back what is kept', null)
    // Nothing may be dropped while it is read.
    await lab.cluster.admin.alterTopicConfig(topic, { 'retention.bytes': -1 })
    await pause(3_000)
    await load.verify()
    return findings(load, windows, bytesPerSec)
  } finally {
    await load.close()
  }
}

function findings(load: TrialLoadRun, windows: readonly Window[], offered: number): Finding[] {
  const { ledgers } = load.load
  const seen = windows.map(({ fromMs, toMs }) => foregroundWindow(ledgers, fromMs, toMs)!)
  const first = <T>(all: readonly T[]): T[] => all.slice(0, windowsPerPart)
  const last = <T>(all: readonly T[]): T[] => all.slice(-windowsPerPart)
  const drift = (what: string, unit: string, values: readonly number[]): Finding[] => [
    findingOf(`${what}, first tenth`, unit, first(values)),
    {
      ...findingOf(`${what}, last tenth`, unit, last(values)),
      ratio: ratioOf(`${what}, first tenth`, last(values), first(values)),
    },
  ]
  return [
    findingOf(
      'payload acknowledged',
      'MB/s',
      seen.map(({ bytesPerSec }) => bytesPerSec / 1e6),
      `offered ${formatRate(offered)}`,
    ),
    ...drift(
      'acknowledged p50',
      'ms',
      seen.map(({ ackMs }) => ackMs.p50),
    ),
    ...drift(
      'acknowledged p99',
      'ms',
      seen.map(({ ackMs }) => ackMs.p99),
    ),
    ...drift(
      'resident memory',
      'MB',
      windows.map(({ residentBytes }) => residentBytes / 1e6),
    ),
    findingOf(
      'p99 of the application sending',
      'ms',
      windows.map(({ sendP99Ms }) => sendP99Ms),
    ),
    longestDelay(windows.map(({ loopDelayMs }) => loopDelayMs)),
  ]
}

function longestDelay(delaysMs: readonly number[]): Finding {
  const longest = `${Math.max(...delaysMs).toFixed(1)} ms in all`
  return findingOf('longest delay of the event loop in each hundredth', 'ms', delaysMs, longest)
}

/** What it will be filled with must not look like memory that grows. */
function touch(load: TrialLoadRun): void {
  for (const ledger of load.load.ledgers) {
    for (const column of [ledger.partition, ledger.recordCount, ledger.batchBytes]) column.fill(0)
    for (const column of [ledger.payloadBytes, ledger.crc, ledger.status]) column.fill(0)
    for (const column of [ledger.intendedMs, ledger.sentMs, ledger.answeredMs]) column.fill(0)
    ledger.baseOffset.fill(0)
  }
}

function now(): number {
  return performance.timeOrigin + performance.now()
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms))
}
