/**
 * One run of the catch-up study: warm-up, fault, outage, return, catch-up, settle. It drives the
 * phases and collects; what it all means is worked out in catch-up-result.ts.
 */

import { systemClock } from '../clock.ts'
import { type BrokerId, brokerId, type PartitionIndex } from '../ids.ts'
import { calibrate, noteCalibration } from './calibration.ts'
import { CatchUpAttachments } from './catch-up-attachments.ts'
import { CatchUpConvergence } from './catch-up-convergence.ts'
import { CatchUpEvents } from './catch-up-events.ts'
import { CatchUpFaults } from './catch-up-faults.ts'
import { CatchUpForecast } from './catch-up-forecast.ts'
import type { CatchUpRecording, Instants } from './catch-up-recording.ts'
import { CatchUpSampler, sampleMs } from './catch-up-sampler.ts'
import { takesAway } from './faults.ts'
import type { InputRecords } from './input.ts'
import { LabCluster } from './lab-cluster.ts'
import { LoadLedger, type LoadLedgerBuffers, ledgerRowBytes } from './load-ledger.ts'
import { LoadRun } from './load-run.ts'
import type { Calibration, CatchUpOptions, Phase } from './result.ts'
import type { StudyProgress } from './study-progress.ts'
import { formatBytes, formatCount, formatDuration } from './units.ts'
import { verifyRun } from './verify-run.ts'
import { payloadBytesPerBatch, workloadOf } from './workload.ts'

const drainMsMax = 30_000
const ledgerBytesMax = 1024 * 1024 * 1024
/** Half of what is sustainable: enough to matter, and a follower can still catch up. */
const calibratedShare = 1 / 2

export interface CatchUpRunParts {
  readonly options: CatchUpOptions
  readonly input: InputRecords | undefined
  /** From an earlier repetition; null: to be made if the options ask for it. */
  readonly calibration: Calibration | null
  readonly progress: StudyProgress
  readonly signal: AbortSignal
}

/**
 * @throws {TidemarkError} what opening, producing and reading back throw; nothing is left behind
 */
export async function runCatchUp(parts: CatchUpRunParts): Promise<CatchUpRecording> {
  const { options } = parts
  const events = new CatchUpEvents(brokerId(options.follower))
  parts.progress.phase('starting the cluster', null)
  const lab = await LabCluster.open({
    load: options,
    config: {
      'replica.lag.time.max.ms': options.replicaLagTimeMaxMs,
      'broker.session.timeout.ms': options.sessionTimeoutMs,
      'broker.heartbeat.interval.ms': Math.min(2_000, Math.floor(options.sessionTimeoutMs / 4.5)),
      'isr.expand.criterion':
        options.expand === 'log-end-offset' ? 'log.end.offset' : 'high.watermark',
      'catch.up.policy': options.policy,
      'partitions.max': Math.max(1_024, options.partitions),
    },
    minInsync: options.minInsync,
    keep: options.keep,
    onEvent: events.take,
  })
  try {
    return await new CatchUpRun(parts, lab, events).run()
  } finally {
    await lab.close()
  }
}

class CatchUpRun {
  readonly #parts: CatchUpRunParts
  readonly #options: CatchUpOptions
  readonly #lab: LabCluster
  readonly #events: CatchUpEvents
  readonly #sampler: CatchUpSampler
  #forecast!: CatchUpForecast
  readonly #follower: BrokerId
  readonly #faults: CatchUpFaults
  /** Partitions that the broker under study led when the first fault came. */
  #led: readonly PartitionIndex[] = []
  readonly #convergence: CatchUpConvergence
  readonly #attachments: CatchUpAttachments
  readonly #at: Instants = {
    startMs: 0,
    faultMs: 0,
    resumeMs: 0,
    caughtUpMs: 0,
    admittedMs: 0,
    endMs: 0,
  }
  #load!: LoadRun
  #calibration: Calibration | null
  #calibrationLedgers: readonly LoadLedgerBuffers[] = []
  #offeredBytesPerSec: number | null = null
  #phase: Phase = 'warm-up'
  #backlogRecords = 0

  constructor(parts: CatchUpRunParts, lab: LabCluster, events: CatchUpEvents) {
    this.#parts = parts
    this.#options = parts.options
    this.#lab = lab
    this.#events = events
    this.#follower = brokerId(parts.options.follower)
    this.#sampler = new CatchUpSampler(lab.cluster, lab.partitions, this.#follower, () =>
      systemClock.nowMs(),
    )
    this.#convergence = new CatchUpConvergence(lab, this.#follower, events, this.#sampler)
    this.#faults = new CatchUpFaults(lab.cluster, events, parts.options.faults)
    this.#attachments = new CatchUpAttachments(lab.cluster, events)
    this.#calibration = parts.calibration
  }

  async run(): Promise<CatchUpRecording> {
    const { cluster } = this.#lab
    const { options } = this
    cluster.limitCatchUp(this.#follower, options.catchUpLimitBytesPerSec ?? 0)
    await this.#chooseRate()
    this.#forecast = new CatchUpForecast(options, this.#calibration)
    this.#load = await this.#openLoad()
    try {
      this.#at.startMs = systemClock.nowMs()
      this.#note(
        'harness',
        'load begins',
        `${formatCount(this.#lab.partitions.length)} partitions, acks ${options.acks}`,
      )
      this.#load.begin()
      await this.#for('warm-up', 'warm-up', this.#faults.nextAtMs ?? 0)
      const outcome = await this.#faultAndReturn()
      await this.#for('settle', 'settling', outcome === 'converged' ? options.settleMs : 0)
      this.#parts.progress.phase('waiting for the last acknowledgements', null)
      await this.#load.drain(drainMsMax)
      this.#at.endMs = systemClock.nowMs()
      this.#sampler.take(this.#phase)
      this.#note('harness', 'load ends', 'everything sent has been answered')
      return await this.#recording(outcome)
    } finally {
      await this.#load.close()
    }
  }

  get options(): CatchUpOptions {
    return this.#options
  }

  async #chooseRate(): Promise<void> {
    const { input, progress } = this.#parts
    const { rateBytesPerSec: asked } = this.#options
    if (asked === 'calibrated' && this.#calibration === null) {
      const run = await calibrate(this.#lab, this.#options, input, progress)
      this.#calibration = run.calibration
      this.#calibrationLedgers = run.ledgers
      noteCalibration(run.calibration, progress)
    }
    if (asked === 'max') this.#offeredBytesPerSec = null
    else if (asked === 'calibrated') {
      this.#offeredBytesPerSec = this.#calibration!.sustainableBytesPerSec * calibratedShare
    } else this.#offeredBytesPerSec = asked
  }

  async #openLoad(): Promise<LoadRun> {
    const { input, options } = this.#parts
    const rate = this.#offeredBytesPerSec
    const payload = payloadBytesPerBatch(options, input)
    const seconds =
      (options.warmUpMs + options.outageMs + options.timeoutMs + options.settleMs + 10_000) / 1000
    const expected = rate === null ? Number.POSITIVE_INFINITY : (rate / payload) * seconds * 1.2
    return await LoadRun.open({
      memory: this.#lab.cluster.memory,
      partitions: this.#lab.partitions,
      generators: 1,
      input,
      batchesMax: Math.ceil(Math.min(expected + 10_000, ledgerBytesMax / ledgerRowBytes)),
      workload: workloadOf(options, input, {
        bytesPerSec: rate ?? undefined,
        roundBytesMax: Number.MAX_SAFE_INTEGER,
        generators: 1,
        ...(options.replay ? { replayTimeScale: options.timeScale } : {}),
      }),
    })
  }

  async #faultAndReturn(): Promise<CatchUpRecording['outcome']> {
    const { signal, progress } = this.#parts
    if (signal.aborted) return 'timed-out'
    this.#led = this.#convergence.led()
    this.#at.faultMs = systemClock.nowMs()
    this.#events.begin(this.#at.faultMs)
    while (this.#faults.nextAtMs !== undefined) {
      await this.#faults.next(() => systemClock.nowMs(), this.#convergence.affected.length)
      const { nextAtMs } = this.#faults
      if (nextAtMs === undefined) break
      const leftMs = this.#at.startMs + nextAtMs - systemClock.nowMs()
      await this.#for(this.#faultPhase, this.#faults.title, leftMs)
      if (signal.aborted) {
        await this.#faults.relieveAll()
        return 'timed-out'
      }
    }
    this.#convergence.settle(this.#options.faults)
    this.#at.resumeMs = systemClock.nowMs()
    const sample = this.#sampler.take('catching-up')
    this.#backlogRecords = sample.lagRecords
    this.#forecast.begin(this.#at.resumeMs, this.#convergence.backlog(), this.#load.ledgers)
    this.#note(
      'harness',
      'follower is back',
      `broker ${this.#follower} lacks ${formatCount(sample.lagRecords)} records in ${formatCount(sample.laggingPartitions)} partitions, about ${formatBytes(this.#forecast.backlogBytes)}`,
      sample.laggingPartitions,
      'back',
    )
    progress.phase('catching up', this.#options.timeoutMs)
    return await this.#awaitConvergence()
  }

  /** Under these two it may stay in sync: nothing is awaited. */
  get #faultPhase(): Phase {
    return this.#options.faults.some(takesAway) ? 'awaiting-eviction' : 'fault'
  }

  async #awaitConvergence(): Promise<CatchUpRecording['outcome']> {
    const deadlineMs = this.#at.resumeMs + this.#options.timeoutMs
    const { progress, signal } = this.#parts
    for (;;) {
      const sample = await this.#tick('catching-up')
      this.#forecast.update(this.#events.reads, systemClock.nowMs())
      const eta = this.#forecast.prediction?.catchUpMs
      progress.status(
        `${formatCount(sample.lagRecords)} records behind in ${formatCount(sample.laggingPartitions)} partitions${eta === undefined || eta === null ? '' : `, predicted ${formatDuration(eta)} in all`}`,
      )
      if (this.#at.caughtUpMs === 0 && this.#convergence.haveAllReached()) this.#markCaughtUp()
      const isOver = this.#faults.isControllerBack && this.#convergence.areAllBack()
      if (this.#at.caughtUpMs > 0 && isOver) {
        this.#at.admittedMs = systemClock.nowMs()
        this.#note(
          'harness',
          'redundancy restored',
          'every partition has all its in-sync replicas again',
          this.#convergence.affected.length,
          'restored',
        )
        return 'converged'
      }
      if (signal.aborted) return 'timed-out'
      if (systemClock.nowMs() > deadlineMs) {
        return this.#forecast.prediction?.converges === false ? 'diverges' : 'timed-out'
      }
    }
  }

  #markCaughtUp(): void {
    const { reachedAtMs } = this.#events.times
    let lastMs = 0
    for (const atMs of reachedAtMs.values()) lastMs = Math.max(lastMs, atMs)
    // Nobody had left: what the samples saw is all there is.
    this.#at.caughtUpMs = lastMs > this.#at.resumeMs ? lastMs : systemClock.nowMs()
    this.#events.note(
      this.#at.caughtUpMs,
      'follower',
      'caught up',
      `every partition of broker ${this.#follower} has been at the moving log end`,
      this.#convergence.affected.length,
      'caught up',
    )
  }

  async #for(phase: Phase, title: string, ms: number): Promise<void> {
    if (ms <= 0) return
    this.#parts.progress.phase(title, ms)
    const untilMs = systemClock.nowMs() + ms
    while (systemClock.nowMs() < untilMs && !this.#parts.signal.aborted) {
      const sample = await this.#tick(this.#phaseNow(phase))
      this.#parts.progress.status(`${formatCount(sample.logEndOffset)} records`)
    }
  }

  /** Awaiting eviction ends when the last partition has left, not when a timer says so. */
  #phaseNow(phase: Phase): Phase {
    if (phase !== 'awaiting-eviction' && phase !== 'fault') return phase
    const { evictedAtMs } = this.#events.times
    return evictedAtMs.size >= this.#convergence.affected.length &&
      this.#convergence.affected.length > 0
      ? 'out-of-sync'
      : phase
  }

  async #tick(phase: Phase) {
    this.#phase = phase
    const sample = this.#sampler.take(phase)
    this.#attachments.note(systemClock.nowMs())
    if (this.#events.failure !== undefined) throw this.#events.failure
    if (this.#load.failure !== undefined) throw this.#load.failure
    await new Promise((resolve) => setTimeout(resolve, sampleMs))
    return sample
  }

  #note(
    actor: 'harness' | 'leader',
    step: string,
    detail: string,
    partitions = 0,
    marker?: string,
  ): void {
    this.#events.note(systemClock.nowMs(), actor, step, detail, partitions, marker)
  }

  async #recording(outcome: CatchUpRecording['outcome']): Promise<CatchUpRecording> {
    const { options, progress, signal } = this.#parts
    const { board, brokerIds } = this.#lab.cluster
    const evicted = [...this.#events.times.evictedAtMs.values()]
    if (evicted.length > 0) {
      this.#events.note(
        Math.max(...evicted),
        'controller',
        'follower out of sync',
        `broker ${this.#follower} has left all partitions it will leave`,
        evicted.length,
        'evicted',
      )
    }
    progress.phase('reading everything back', null)
    const verification = await verifyRun(
      this.#lab,
      [...this.#calibrationLedgers, ...this.#load.ledgerBuffers],
      options.acks === 'all',
      (done) => {
        progress.status(
          `${formatCount(done)} of ${formatCount(this.#lab.partitions.length)} partitions`,
        )
      },
    )
    let advances = 0
    for (const id of brokerIds) advances += board.counter(id, 'highWatermarkAdvances')
    return {
      at: this.#at,
      calibration: this.#calibration,
      offeredBytesPerSec: this.#offeredBytesPerSec,
      load: this.#load,
      calibrationLedgers: this.#calibrationLedgers.map((buffers) => new LoadLedger(buffers)),
      events: this.#events,
      sampler: this.#sampler,
      forecast: this.#forecast,
      verification,
      counters: {
        copiedBytes: board.counter(this.#follower, 'copiedBytes'),
        diskReadBytes: board.counter(this.#follower, 'diskReadBytes'),
        ringBytes: board.counter(this.#follower, 'ringBytes'),
        advances,
      },
      backlogRecords: this.#backlogRecords,
      led: this.#led,
      outcome,
      interrupted: signal.aborted,
    }
  }
}
