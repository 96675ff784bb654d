/**
 * The throughput study: how much three replicas take, against what the machine can do at all, measured in
 * alternation in one run. Each round gets a fresh cluster in a fresh directory and a bounded number of
 * bytes, so that the page cache holds them and the disk's write-back isn't what is measured.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, cpus, platform, tmpdir, totalmem } from 'node:os'
import path from 'node:path'
import { clusterMemoryBytes } from '../workers/cluster-memory.ts'
import { fileSystemType } from './disk-rate.ts'
import { latencyOf } from './foreground.ts'
import { type InputRecords, loadInput } from './input.ts'
import { LabCluster } from './lab-cluster.ts'
import { type Limit, measureLimit } from './limit.ts'
import { type LoadLedger, ledgerRowBytes, ledgerStatus } from './load-ledger.ts'
import { LoadRun } from './load-run.ts'
import {
  type Machine,
  resultSchemaVersion,
  type ThroughputOptions,
  type ThroughputResult,
} from './result.ts'
import { median } from './statistics.ts'
import type { StudyProgress } from './study-progress.ts'
import { mergeVerifications, type Verification } from './verify.ts'
import { verifyRun } from './verify-run.ts'
import { workloadOf } from './workload.ts'

/** Rounds of cluster and limit in alternation. */
const pairsDefault = 3
/** Before each round, not counted: threads compile their code. */
const warmUpShare = 0.15
const drainMsMax = 60_000
/** A generator's ledger takes at most this much memory. */
const ledgerBytesMax = 512 * 1024 * 1024

interface Round {
  readonly elapsedMs: number
  readonly records: number
  readonly produced: number
  readonly payloadBytes: number
  readonly batchBytes: number
  readonly latenciesMs: readonly number[]
  readonly verification: Verification
  readonly sharedBytes: number
}

/** @throws {TidemarkError} what opening, producing and reading back throw; nothing is left behind */
export async function studyThroughput(
  options: ThroughputOptions,
  progress: StudyProgress,
  signal: AbortSignal,
): Promise<ThroughputResult> {
  const input = options.input === null ? undefined : await inputOf(options)
  const base = options.dir ?? tmpdir()
  const pairs = options.limit ? pairsDefault : 1
  const cpuBefore = process.cpuUsage()
  const rounds: Round[] = []
  const limits: Limit[] = []
  for (let pair = 0; pair < pairs && !signal.aborted; pair++) {
    progress.phase(`cluster ${pair + 1} of ${pairs}`, options.durationMs / pairs)
    const round = await runRound(options, input, base, pairs, signal)
    rounds.push(round)
    progress.note(`cluster: ${mbPerSec(round)} MB/s`)
    if (!options.limit || signal.aborted) continue
    progress.phase(`limit ${pair + 1} of ${pairs}`, round.elapsedMs)
    const limit = await measureLimit({
      directory: base,
      replicas: options.replicationFactor,
      partitions: options.partitions,
      batchBytes: options.batchBytes,
      recordBytes: options.recordBytes,
      totalBytes: round.batchBytes,
      flush: options.flush,
    })
    limits.push(limit)
    progress.note(`limit: ${Math.round(limit.bytesPerSec / 1e6)} MB/s`)
  }
  return resultOf({ options, base, rounds, limits, cpuBefore, interrupted: signal.aborted })
}

async function inputOf(options: ThroughputOptions): Promise<InputRecords> {
  return await loadInput(options.input!, { recordBytesMax: options.batchBytes - 128 })
}

async function runRound(
  options: ThroughputOptions,
  input: InputRecords | undefined,
  base: string,
  pairs: number,
  signal: AbortSignal,
): Promise<Round> {
  const dir = await mkdtemp(path.join(base, 'tidemark-'))
  try {
    const lab = await LabCluster.open({
      load: { ...options, dir },
      config: { 'partitions.max': Math.max(1_024, options.partitions) },
      minInsync: 1,
      keep: false,
    })
    try {
      return await load(lab, options, input, pairs, signal)
    } finally {
      await lab.close()
    }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function load(
  lab: LabCluster,
  options: ThroughputOptions,
  input: InputRecords | undefined,
  pairs: number,
  signal: AbortSignal,
): Promise<Round> {
  const bytesMax = options.maxBytes / pairs / options.producers
  const { rateBytesPerSec: rate } = options
  const run = await LoadRun.open({
    memory: lab.cluster.memory,
    partitions: lab.partitions,
    generators: options.producers,
    input,
    batchesMax: Math.min(
      Math.ceil(bytesMax / Math.min(options.batchBytes, 512)) + 1_024,
      Math.floor(ledgerBytesMax / ledgerRowBytes),
    ),
    workload: workloadOf(options, input, {
      bytesPerSec: rate === 'max' ? undefined : rate / options.producers,
      totalBytesMax: bytesMax,
      generators: options.producers,
    }),
  })
  try {
    run.begin()
    const onAbort = () => void run.drain(drainMsMax).catch(() => {})
    signal.addEventListener('abort', onAbort)
    const timer = setTimeout(onAbort, options.durationMs / pairs)
    await run.finished()
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    const verification = await verifyRun(lab, run.ledgerBuffers, options.acks === 'all')
    return roundOf(run.ledgers, options, verification, clusterMemoryBytes(lab.cluster.memory))
  } finally {
    await run.close()
  }
}

/** Counts what was sent after the warm-up, from its first send to its last answer. */
function roundOf(
  ledgers: readonly LoadLedger[],
  options: ThroughputOptions,
  verification: Verification,
  sharedBytes: number,
): Round {
  const latenciesMs: number[] = []
  let firstMs = Number.POSITIVE_INFINITY
  let lastMs = 0
  let records = 0
  let produced = 0
  let payloadBytes = 0
  let batchBytes = 0
  for (const ledger of ledgers) {
    const { count } = ledger
    const start = Math.floor(count * warmUpShare)
    for (let row = 0; row < count; row++) {
      produced += ledger.recordCount[row]
      batchBytes += ledger.batchBytes[row]
      const isAnswered = ledger.status[row] === ledgerStatus.acknowledged
      const answeredMs = options.acks === 0 ? ledger.sentMs[row] : ledger.answeredMs[row]
      if (row < start || (!isAnswered && options.acks !== 0)) continue
      firstMs = Math.min(firstMs, ledger.sentMs[row])
      lastMs = Math.max(lastMs, answeredMs)
      records += ledger.recordCount[row]
      payloadBytes += ledger.payloadBytes[row]
      latenciesMs.push(answeredMs - ledger.intendedMs[row])
    }
  }
  return {
    elapsedMs: Math.max(1, lastMs - firstMs),
    records,
    produced,
    payloadBytes,
    batchBytes,
    latenciesMs,
    verification,
    sharedBytes,
  }
}

function mbPerSec({ payloadBytes, elapsedMs }: Round): number {
  return Math.round(payloadBytes / elapsedMs / 1000)
}

function resultOf(parts: {
  readonly options: ThroughputOptions
  readonly base: string
  readonly rounds: readonly Round[]
  readonly limits: readonly Limit[]
  readonly cpuBefore: NodeJS.CpuUsage
  readonly interrupted: boolean
}): ThroughputResult {
  const { options, base, rounds, limits, cpuBefore, interrupted } = parts
  const cpu = process.cpuUsage(cpuBefore)
  const verification = mergeVerifications(rounds.map((round) => round.verification))
  const rates = rounds.map(({ payloadBytes, elapsedMs }) => (payloadBytes / elapsedMs) * 1000)
  const ratios = limits.map(({ bytesPerSec }, at) => rates[at] / bytesPerSec)
  const records = rounds.map(({ records, elapsedMs }) => (records / elapsedMs) * 1000)
  return {
    schemaVersion: resultSchemaVersion,
    scenario: { ...options, machine: machineOf(base) },
    interrupted,
    durationMs: rounds.reduce((total, { elapsedMs }) => total + elapsedMs, 0),
    recordsPerSec: records.length === 0 ? 0 : median(records),
    bytesPerSec: rates.length === 0 ? 0 : median(rates),
    ackMs: latencyOf(rounds.flatMap(({ latenciesMs }) => latenciesMs)),
    endToEndMs: null,
    limit:
      limits.length === 0
        ? null
        : {
            bytesPerSec: median(limits.map(({ bytesPerSec }) => bytesPerSec)),
            pairs: limits.length,
          },
    ratioToLimit: ratios.length === 0 ? null : median(ratios),
    cpu: { userMs: cpu.user / 1000, systemMs: cpu.system / 1000 },
    memory: {
      rssBytes: process.memoryUsage.rss(),
      sharedBytes: Math.max(0, ...rounds.map(({ sharedBytes }) => sharedBytes)),
    },
    records: {
      produced: rounds.reduce((total, { produced }) => total + produced, 0),
      acknowledged: verification.acknowledgedRecords,
      verified: verification.verifiedRecords,
      lost: verification.lostRecords,
    },
  }
}

export function machineOf(directory: string): Machine {
  return {
    cpus: availableParallelism(),
    cpuModel: cpus()[0]?.model ?? 'unknown',
    node: process.version,
    platform: platform(),
    memoryBytes: totalmem(),
    fileSystem: fileSystemType(directory),
  }
}
