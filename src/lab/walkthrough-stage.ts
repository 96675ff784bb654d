/**
 * WalkthroughStage: the cluster of a walkthrough, what is looked at, and how a step is told. Every
 * number of a step is read from the cluster's shared words or its events at that moment.
 */
import { systemClock } from '../clock.ts'
import { type BrokerId, brokerId, type PartitionIndex } from '../ids.ts'
import { cut, FaultWords } from '../workers/fault-words.ts'
import { CatchUpSampler } from './catch-up-sampler.ts'
import type { LabCluster } from './lab-cluster.ts'
import type { WalkthroughEvents } from './walkthrough-events.ts'
import { WalkthroughProducer } from './walkthrough-producer.ts'
import type {
  Chapter,
  StepActor,
  WalkthroughOptions,
  WalkthroughStep,
} from './walkthrough-result.ts'

/** Told each step as it happens. */
export type StepListener = (step: WalkthroughStep) => void

export type StepNumbers = WalkthroughStep['numbers']

const watchEveryMs = 5

export class WalkthroughStage {
  readonly lab: LabCluster
  readonly events: WalkthroughEvents
  readonly options: WalkthroughOptions
  readonly producer: WalkthroughProducer
  readonly faults: FaultWords
  readonly steps: WalkthroughStep[] = []
  readonly index: PartitionIndex
  readonly violations: string[] = []
  readonly #onStep: StepListener
  readonly #sampler: CatchUpSampler
  readonly #watch: NodeJS.Timeout
  readonly #startMs = systemClock.nowMs()
  #chapter: WalkthroughStep['chapter'] = 'leave and rejoin'
  #checked = 0

  constructor(parts: {
    readonly lab: LabCluster
    readonly events: WalkthroughEvents
    readonly options: WalkthroughOptions
    readonly onStep: StepListener
    readonly signal: AbortSignal
  }) {
    const { lab, events, options, onStep, signal } = parts
    this.lab = lab
    this.events = events
    this.options = options
    this.#onStep = onStep
    this.index = lab.partitions[0]!
    const { memory } = lab.cluster
    this.producer = new WalkthroughProducer(memory, this.index, options.seed, signal)
    this.faults = new FaultWords(lab.cluster.board)
    const now = () => systemClock.nowMs()
    this.#sampler = new CatchUpSampler(lab.cluster, lab.partitions, brokerId(3), now)
    this.#watch = setInterval(() => this.#look(), watchEveryMs)
  }

  get cluster() {
    return this.lab.cluster
  }

  get checked(): number {
    return this.#checked + this.#sampler.checked
  }

  /** What was seen broken, in words. */
  get allViolations(): readonly string[] {
    return [...this.violations, ...this.events.violations, ...this.#sampler.violations]
  }

  begin(chapter: Chapter | 'verdict'): void {
    this.#chapter = chapter
    this.events.mark()
  }

  /** @param atMs when it happened, if that isn't now */
  tell(
    step: string,
    actor: StepActor,
    text: string,
    numbers: StepNumbers,
    atMs = systemClock.nowMs(),
  ): void {
    const told = { chapter: this.#chapter, step, actor, atMs: atMs - this.#startMs, text, numbers }
    this.steps.push(told)
    this.#onStep(told)
  }

  logEndOffset(broker: BrokerId): number {
    return this.cluster.board.logEndOffset(broker, this.index)
  }

  highWatermark(broker: BrokerId): number {
    return this.cluster.board.highWatermark(broker, this.index)
  }

  /** As committed and heard of here. */
  get registration() {
    return this.cluster.registration(this.index)!
  }

  get leader(): BrokerId {
    return this.registration.leader
  }

  get inSyncReplicas(): readonly BrokerId[] {
    return this.registration.inSyncReplicas
  }

  others(broker: BrokerId): BrokerId[] {
    return this.cluster.brokerIds.filter((id) => id !== broker)
  }

  /** Links of a broker, `cut` bits; those to other brokers are its followers' fetches from it. */
  cutOff(broker: BrokerId, bits: number, from: readonly BrokerId[], controller: boolean): void {
    const { board } = this.cluster
    for (const id of from) this.faults.setFetchCut(broker, id, bits)
    if (controller) this.faults.setControllerCut(broker, bits)
    for (const id of this.cluster.brokerIds) board.wakeBroker(id)
  }

  async untilInSync(count: number): Promise<void> {
    const what = `${count} replicas in sync`
    await this.events.until(what, () => this.inSyncReplicas.length === count)
  }

  /** All replicas at one end, all of it committed. */
  async untilLevel(): Promise<void> {
    await this.events.until('all replicas at one log end', () => {
      const { leader } = this
      if (leader < 1) return false
      const end = this.logEndOffset(leader)
      const level = this.cluster.brokerIds.every((id) => this.logEndOffset(id) === end)
      return level && this.highWatermark(leader) === end
    })
  }

  /** Whatever was frozen or cut off goes on, or the cluster could not close. */
  close(): void {
    clearInterval(this.#watch)
    this.producer.close()
    const { brokerIds } = this.cluster
    for (const id of brokerIds) {
      this.cutOff(id, cut.nothing, this.others(id), true)
      this.cluster.resume(id)
    }
  }

  #look(): void {
    this.#sampler.take('steady')
    const { board, brokerIds } = this.cluster
    const epochs = brokerIds.map((id) => board.ledEpoch(id, this.index)).filter((e) => e >= 0)
    this.#checked += 1
    if (new Set(epochs).size === epochs.length) return
    this.violations.push(`two leaders in one epoch: ${epochs.join()}`)
  }
}
