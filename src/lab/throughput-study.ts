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
import { formatRate } from './units.ts'
import type { Verification } from './verify.ts'
import { verifyRun } from './verify-run.ts'
import { workloadOf } from './workload.ts'

/** Rounds of cluster and limit in alternation. */
const pairsDefault = 3
/** Before the first round, not counted: threads compile their code. */
const warmUpMs = 2_000
const warmUpBytesMax = 256 * 1024 * 1024
/** A generator's ledger takes at most this much memory. */
const ledgerBytesMax = 1024 * 1024 * 1024

interface Round {
  readonly elapsedMs: number
  readonly records: number
  readonly payloadBytes: number
  readonly batchBytes: number
  readonly latenciesMs: readonly number[]
}

/**
 * @throws {TidemarkError} what opening, producing and reading back throw; nothing is left behind
 */
export async function studyThroughput(
  options: ThroughputOptions,
  progress: StudyProgress,
  signal: AbortSignal,
): Promise<ThroughputResult> {
  const input = options.input === null ? undefined : await inputOf(options)
  const base = options.dir ?? tmpdir()
  progress.phase('starting the cluster', null)
  const lab = await LabCluster.open({
    load: { ...options, dir: null },
    base,
    config: {
      'partitions.max': Math.max(1_024, options.partitions),
      'ring.bytes': Number(process.env.RB ?? 64) * 1048576,
    },
    minInsync: 1,
    keep: false,
  })
  try {
    return await new ThroughputStudy({ options, input, base, lab, progress, signal }).run()
  } finally {
    await lab.close()
  }
}

async function inputOf(options: ThroughputOptions): Promise<InputRecords> {
  return await loadInput(options.input!, { recordBytesMax: options.batchBytes - 128 })
}

interface StudyParts {
  readonly options: ThroughputOptions
  readonly input: InputRecords | undefined
  readonly base: string
  readonly lab: LabCluster
  readonly progress: StudyProgress
  readonly signal: AbortSignal
}

class ThroughputStudy {
  readonly #parts: StudyParts
  readonly #pairs: number
  readonly #rounds: Round[] = []
  readonly #limits: Limit[] = []

  constructor(parts: StudyParts) {
    this.#parts = parts
    this.#pairs = parts.options.limit ? pairsDefault : 1
  }

  async run(): Promise<ThroughputResult> {
    const { options, lab, progress, signal } = this.#parts
    const load = await this.#openLoad()
    try {
      progress.phase('warming up', warmUpMs)
      await this.#runRound(load, warmUpMs, warmUpBytesMax)
      const cpuBefore = process.cpuUsage()
      for (let pair = 0; pair < this.#pairs && !signal.aborted; pair++)
        await this.#runPair(load, pair)
      const cpu = process.cpuUsage(cpuBefore)
      progress.phase('reading everything back', null)
      const verification = await verifyRun(lab, load.ledgerBuffers, options.acks === 'all')
      return this.#result(load, verification, cpu)
    } finally {
      await load.close()
    }
  }

  async #openLoad(): Promise<LoadRun> {
    const { options, input, lab } = this.#parts
    const { rateBytesPerSec: rate, producers } = options
    const roundBytesMax = options.maxBytes / this.#pairs / producers
    const bytes = roundBytesMax * this.#pairs + warmUpBytesMax
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
    const { durationMs, maxBytes } = options
    progress.phase(`cluster, ${pair + 1} of ${this.#pairs}`, durationMs / this.#pairs)
    const round = await this.#runRound(load, durationMs / this.#pairs, maxBytes / this.#pairs)
    if (round === undefined) return
    this.#rounds.push(round)
    progress.note(`cluster: ${formatRate((round.payloadBytes / round.elapsedMs) * 1000)}`)
    if (!options.limit || signal.aborted) return
    await settleDisk(base)
    progress.phase(`limit, ${pair + 1} of ${this.#pairs}`, round.elapsedMs)
    const limit = await measureLimit({
      directory: base,
      replicas: options.replicationFactor,
      partitions: options.partitions,
      batchBytes: options.batchBytes,
      recordBytes: options.recordBytes,
      totalBytes: round.batchBytes,
      flush: options.flush,
    })
    this.#limits.push(limit)
    progress.note(`limit: ${formatRate(limit.bytesPerSec)}`)
  }

  /** Until `ms` are over, `bytesMax` were sent, or the run is interrupted. */
  async #runRound(load: LoadRun, ms: number, bytesMax: number): Promise<Round | undefined> {
    const { options, signal, lab } = this.#parts
    const firstRows = load.ledgers.map(({ count }) => count)
    const over = new AbortController()
    const onOver = () => over.abort()
    const timer = setTimeout(onOver, ms)
    signal.addEventListener('abort', onOver)
    const watch = setInterval(() => {
      const sent = load.ledgers.reduce((sum, ledger, at) => sum + bytesOf(ledger, firstRows[at]), 0)
      if (sent >= bytesMax || lab.failure !== undefined) over.abort()
    }, 10)
    try {
      load.begin()
      await load.roundOver(over.signal)
      if (lab.failure !== undefined) throw lab.failure
      await load.hold()
    } finally {
      clearTimeout(timer)
      clearInterval(watch)
      signal.removeEventListener('abort', onOver)
    }
    return roundOf(load.ledgers, firstRows, options)
  }

  #result(load: LoadRun, verification: Verification, cpu: NodeJS.CpuUsage): ThroughputResult {
    const { options, base, lab, signal } = this.#parts
    const rounds = this.#rounds
    const limits = this.#limits
    const rates = rounds.map(({ payloadBytes, elapsedMs }) => (payloadBytes / elapsedMs) * 1000)
    const ratios = limits.map(({ bytesPerSec }, at) => rates[at] / bytesPerSec)
    const records = rounds.map(({ records, elapsedMs }) => (records / elapsedMs) * 1000)
    return {
      schemaVersion: resultSchemaVersion,
      scenario: { ...options, machine: machineOf(base) },
      interrupted: signal.aborted,
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
}

function bytesOf({ count, batchBytes }: LoadLedger, firstRow: number): number {
  // Rows are alike enough: the mean of the last one stands for all of the round.
  return count > firstRow ? (count - firstRow) * batchBytes[count - 1] : 0
}

function recordsIn({ count, recordCount }: LoadLedger): number {
  let records = 0
  for (let row = 0; row < count; row++) records += recordCount[row]
  return records
}

/** From the first send of the round to its last answer. */
function roundOf(
  ledgers: readonly LoadLedger[],
  firstRows: readonly number[],
  { acks }: ThroughputOptions,
): Round | undefined {
  const latenciesMs: number[] = []
  let firstMs = Number.POSITIVE_INFINITY
  let lastMs = 0
  let records = 0
  let batchBytes = 0
  let payloadBytes = 0
  for (const [at, ledger] of ledgers.entries()) {
    for (let row = firstRows[at]; row < ledger.count; row++) {
      const isAnswered = ledger.status[row] === ledgerStatus.acknowledged
      if (!isAnswered && acks !== 0) continue
      const answeredMs = acks === 0 ? ledger.sentMs[row] : ledger.answeredMs[row]
      firstMs = Math.min(firstMs, ledger.sentMs[row])
      lastMs = Math.max(lastMs, answeredMs)
      records += ledger.recordCount[row]
      batchBytes += ledger.batchBytes[row]
      payloadBytes += ledger.payloadBytes[row]
      latenciesMs.push(answeredMs - ledger.intendedMs[row])
    }
  }
  if (records === 0) return undefined
  return {
    elapsedMs: Math.max(1, lastMs - firstMs),
    records,
    payloadBytes,
    batchBytes,
    latenciesMs,
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
