/**
 * When the controller holds elections by itself (Kafka: QuorumController's periodic tasks
 * electPreferred and electUnclean).
 */
import { type ClockElections, decideBalance, decideUncleanElections } from './decide-election.ts'
import type { MetadataImage } from './metadata-image.ts'

export interface ClockElectionsConfig {
  /** `auto.leader.rebalance.enable`. */
  readonly rebalances: boolean
  /** `leader.imbalance.check.interval.seconds`, in milliseconds. */
  readonly rebalanceIntervalMs: number
  /** `leader.imbalance.per.broker.percentage`. */
  readonly imbalancePercentMax: number
  /** `unclean.leader.election.interval.ms`. */
  readonly uncleanIntervalMs: number
}

export const clockElectionsDefault: ClockElectionsConfig = {
  rebalances: true,
  rebalanceIntervalMs: 300_000,
  imbalancePercentMax: 10,
  uncleanIntervalMs: 300_000,
}

/** As many as may be held in one pass, and how soon the rest follows. */
const electionsMax = 1_000
const moreAfterMs = 10

export class ClockElectionsTimer {
  readonly #config: ClockElectionsConfig
  #rebalanceAtMs: number
  #uncleanAtMs: number

  constructor(config: ClockElectionsConfig, nowMs: number) {
    this.#config = config
    this.#rebalanceAtMs = config.rebalances
      ? nowMs + config.rebalanceIntervalMs
      : Number.POSITIVE_INFINITY
    this.#uncleanAtMs = nowMs + config.uncleanIntervalMs
  }

  get dueAtMs(): number {
    return Math.min(this.#rebalanceAtMs, this.#uncleanAtMs)
  }

  /** The elections that are due; undefined: it isn't time. */
  take(image: MetadataImage, nowMs: number): ClockElections | undefined {
    if (nowMs >= this.#uncleanAtMs) {
      const elections = decideUncleanElections(image, { electionsMax, nowMs })
      this.#uncleanAtMs = nowMs + (elections.hasMore ? moreAfterMs : this.#config.uncleanIntervalMs)
      return elections
    }
    if (nowMs < this.#rebalanceAtMs) return undefined
    const { imbalancePercentMax, rebalanceIntervalMs } = this.#config
    const elections = decideBalance(image, { electionsMax, imbalancePercentMax, nowMs })
    this.#rebalanceAtMs = nowMs + (elections.hasMore ? moreAfterMs : rebalanceIntervalMs)
    return elections
  }
}
