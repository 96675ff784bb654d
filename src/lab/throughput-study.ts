/**
 * The throughput study: how much three replicas take, against what the machine can do at all,
 * measured in alternation in one run, after a warm-up. Each round has a bounded number of bytes,
 * and the disk is let finish in between, so that the page cache holds them and its write-back isn't
 * what is measured.
 */
import { availableParallelism, cpus, platform, tmpdir, totalmem } from 'node:os'
import { clusterMemoryBytes } from '../workers/cluster-memory.ts'
import { fileSystemType } from './disk-rate.ts'
import { settleDisk } from './disk-settle.ts'
import { EndToEndWatch } from './end-to-end.ts'
import { latencyOf } from './foreground.ts'
import { type InputRecords, loadInput } from './input.ts'
import { LabCluster } from './lab-cluster.ts'
import { type Limit, LimitRun } from './limit.ts'
import { type LoadLedger, ledgerRowBytes } from './load-ledger.ts'
import { type LoadRound, runLoadRound } from './load-round.ts'
import { LoadRun } from './load-run.ts'
import {
  type Latency,
  type Machine,
  resultSchemaVersion,
  type ThroughputOptions,
  type ThroughputResult,
  type ThroughputRound,
} from './result.ts'
import { median } from './statistics.ts'
import type { StudyProgress } from './study-progress.ts'
import { formatRate } from './units.ts'
import type { Verification } from './verify.ts'
import { verifyRun } from './verify-run.ts'
import { workloadOf } from './workload.ts'

const planDefault = { warmUpMs: 2_000, endToEnd: true }
const pairsDefault = 3
const warmUpBytesMax = 256 * 1024 * 1024
const limitWarmUpBytes = 64 * 1024 * 1024
/** A generator's ledger takes at most this much memory. */
const ledgerBytesMax = 1024 * 1024 * 1024

/** How much of it: few and short rounds for a quick look, more for steady figures. */
export interface ThroughputPlan {
  /** Rounds of the cluster, in alternation with the limit if that is asked for. */
  readonly pairs: number
  /** Before the first round, not counted: threads compile their code. */
  readonly warmUpMs: number
  /** Whether there is a round with consumers. */
  readonly endToEnd: boolean
}

/**
 * @throws {TidemarkError} what opening, producing and reading back throw; nothing is left behind
 */
export async function studyThroughput(
  options: ThroughputOptions,
  progress: StudyProgress,
  signal: AbortSignal,
  plan: ThroughputPlan = { ...planDefault, pairs: options.limit ? pairsDefault : 1 },
): Promise<ThroughputResult> {
  const input = options.input === null ? undefined : await inputOf(options)
  const base = options.dir ?? tmpdir()
  progress.phase('starting the cluster', null)
  await settleDisk(base)
  const lab = await LabCluster.open({
    load: { ...options, dir: null },
    base,
    config: { 'partitions.max': Math.max(1_024, options.partitions) },
    minInsync: 1,
    keep: false,
  })
  try {
    return await new ThroughputStudy({ options, plan, input, base, lab, progress, signal }).run()
  } finally {
    await lab.close()
  }
}

async function inputOf(options: ThroughputOptions): Promise<InputRecords> {
  return await loadInput(options.input!, { recordBytesMax: options.batchBytes - 128 })
}

interface StudyParts {
  readonly options: ThroughputOptions
  readonly plan: ThroughputPlan
  readonly input: InputRecords | undefined
  readonly base: string
  readonly lab: LabCluster
  readonly progress: StudyProgress
  readonly signal: AbortSignal
}

class ThroughputStudy {
  readonly #parts: StudyParts
  readonly #pairs: number
  readonly #rounds: LoadRound[] = []
  readonly #limits: Limit[] = []
  #limitRun: LimitRun | undefined
  /** Null: nobody tells where a batch went (acks=0), or interrupted before. */
  #endToEnd: Latency | null = null

  constructor(parts: StudyParts) {
    this.#parts = parts
    this.#pairs = parts.plan.pairs
  }

  async run(): Promise<ThroughputResult> {
    const { options, plan, lab, progress, signal } = this.#parts
    const load = await this.#openLoad()
    try {
      progress.phase('warming up', plan.warmUpMs)
      await this.#runRound(load, plan.warmUpMs, warmUpBytesMax)
      for (let pair = 0; pair < this.#pairs && !signal.aborted; pair++)
        await this.#runPair(load, pair)
      if (plan.endToEnd && options.acks !== 0 && !signal.aborted) await this.#runEndToEnd(load)
      progress.phase('reading everything back', null)
      const verification = await verifyRun(lab, load.ledgerBuffers, options.acks === 'all')
      return this.#result(load, verification)
    } finally {
      await load.close()
      await this.#limitRun?.close()
    }
  }

  async #openLoad(): Promise<LoadRun> {
    const { options, input, lab } = this.#parts
    const { rateBytesPerSec: rate, producers } = options
    const roundBytesMax = this.#roundBytesMax / producers
    const bytes = options.maxBytes + warmUpBytesMax
    return await LoadRun.open({
      memory: lab.cluster.memory,
      partitions: lab.partitions,
      generators: producers,
      input,
      batchesMax: Math.min(
        Math.ceil(bytes / Math.min(options.batchBytes, 256)) + 1_024,
        Math.floor(ledgerBytesMax / ledgerRowBytes),
      ),
      workload: workloadOf(options, input, {
        bytesPerSec: rate === 'max' ? undefined : rate / producers,
        roundBytesMax,
        generators: producers,
      }),
    })
  }

  async #runPair(load: LoadRun, pair: number): Promise<void> {
    const { options, base, progress, signal } = this.#parts
    const roundMs = options.durationMs / this.#pairs
    progress.phase(`cluster, ${pair + 1} of ${this.#pairs}`, roundMs)
    const round = await this.#runRound(load, roundMs, this.#roundBytesMax)
    if (round === undefined) return
    this.#rounds.push(round)
    progress.note(`cluster: ${formatRate((round.payloadBytes / round.elapsedMs) * 1000)}`)
    await settleDisk(base)
    if (!options.limit || signal.aborted) return
    progress.phase(`limit, ${pair + 1} of ${this.#pairs}`, round.elapsedMs)
    this.#limitRun ??= await this.#openLimit(round)
    const limit = await this.#limitRun.round(Math.min(round.batchBytes, this.#limitBytesMax))
    this.#limits.push(limit)
    progress.note(`limit: ${formatRate(limit.bytesPerSec)}`)
  }

  async #openLimit({ payloadBytes, records }: LoadRound): Promise<LimitRun> {
    const { options, base } = this.#parts
    const run = await LimitRun.open({
      directory: base,
      replicas: options.replicationFactor,
      partitions: options.partitions,
      batchBytes: options.batchBytes,
      recordBytes: Math.max(1, Math.round(payloadBytes / records)),
      roundBytesMax: this.#limitBytesMax,
      flush: options.flush,
    })
    this.#limitRun = run
    await run.round(Math.min(limitWarmUpBytes, this.#limitBytesMax))
    return run
  }

  get #limitBytesMax(): number {
    return Math.ceil(this.#roundBytesMax)
  }

  /** A round apart: consumers take time from those that carry the load. */
  async #runEndToEnd(load: LoadRun): Promise<void> {
    const { options, lab, progress, signal } = this.#parts
    const roundMs = options.durationMs / this.#pairs
    progress.phase('end to end', roundMs)
    const firstRows = load.ledgers.map(({ count }) => count)
    const watch = new EndToEndWatch(lab.cluster, lab.partitions)
    try {
      await this.#runRound(load, roundMs, this.#roundBytesMax)
      const latenciesMs = await watch.latenciesMs(load.ledgers, firstRows, signal)
      if (latenciesMs.length > 0) this.#endToEnd = latencyOf(latenciesMs)
    } finally {
      await watch.close()
    }
  }

  /** `maxBytes` are for all rounds together, that of the consumers included. */
  get #roundBytesMax(): number {
    return this.#parts.options.maxBytes / (this.#pairs + 1)
  }

  async #runRound(load: LoadRun, ms: number, bytesMax: number): Promise<LoadRound | undefined> {
    const { options, signal, lab } = this.#parts
    const { acks } = options
    return await runLoadRound(load, { acks, ms, bytesMax, signal, failure: () => lab.failure })
  }

  #result(load: LoadRun, verification: Verification): ThroughputResult {
    const { options, base, lab, signal } = this.#parts
    const limits = this.#limits.map(({ bytesPerSec }) => bytesPerSec)
    const rounds = this.#rounds.map((round, at) => roundResult(round, limits[at] ?? null))
    const rates = rounds.map(({ bytesPerSec }) => bytesPerSec)
    const records = rounds.map(({ recordsPerSec }) => recordsPerSec)
    const ratios = limits.map((limit, at) => rates[at] / limit)
    return {
      schemaVersion: resultSchemaVersion,
      scenario: { ...options, machine: machineOf(base) },
      interrupted: signal.aborted,
      durationMs: this.#total(({ elapsedMs }) => elapsedMs),
      recordsPerSec: records.length === 0 ? 0 : median(records),
      bytesPerSec: rates.length === 0 ? 0 : median(rates),
      ackMs: latencyOf(this.#rounds.flatMap(({ latenciesMs }) => latenciesMs)),
      endToEndMs: this.#endToEnd,
      limit: limits.length === 0 ? null : { bytesPerSec: median(limits), pairs: limits.length },
      ratioToLimit: ratios.length === 0 ? null : median(ratios),
      rounds,
      cpu: {
        userMs: this.#total(({ cpu }) => cpu.userMs),
        systemMs: this.#total(({ cpu }) => cpu.systemMs),
      },
      memory: {
        rssBytes: process.memoryUsage.rss(),
        sharedBytes: clusterMemoryBytes(lab.cluster.memory),
      },
      records: {
        produced: load.ledgers.reduce((total, ledger) => total + recordsIn(ledger), 0),
        acknowledged: verification.acknowledgedRecords,
        verified: verification.verifiedRecords,
        lost: verification.lostRecords,
      },
    }
  }

  #total(of: (round: LoadRound) => number): number {
    return this.#rounds.reduce((total, round) => total + of(round), 0)
  }
}

function roundResult(round: LoadRound, limitBytesPerSec: number | null): ThroughputRound {
  const { elapsedMs, records, payloadBytes, latenciesMs, cpu } = round
  return {
    elapsedMs,
    recordsPerSec: (records / elapsedMs) * 1000,
    bytesPerSec: (payloadBytes / elapsedMs) * 1000,
    limitBytesPerSec,
    ackMs: latencyOf(latenciesMs),
    cpu,
  }
}

function recordsIn({ count, recordCount }: LoadLedger): number {
  let records = 0
  for (let row = 0; row < count; row++) records += recordCount[row]
  return records
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
