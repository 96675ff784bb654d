/** What a walkthrough tells: steps in the order they happened, and a verdict. Plain data. */

export type StepActor = 'producer' | 'leader' | 'follower' | 'controller' | 'harness'

export type Chapter = 'leave and rejoin' | 'a stale leader' | 'lost in the middle of a shrink'

export interface WalkthroughStep {
  readonly chapter: Chapter | 'verdict'
  readonly step: string
  readonly actor: StepActor
  /** Since the walkthrough began. */
  readonly atMs: number
  readonly text: string
  /** What the text says, by name with unit: offsets, counts, ms, bytes; nothing is made up. */
  readonly numbers: Readonly<Record<string, number | string | readonly number[]>>
}

export interface WalkthroughOptions {
  readonly seed: number
  /** `replica.lag.time.max.ms` */
  readonly replicaLagTimeMaxMs: number
  /** `broker.session.timeout.ms` */
  readonly brokerSessionTimeoutMs: number
  /** null: a temporary one, removed at the end. */
  readonly dir: string | null
}

export interface WalkthroughResult {
  readonly schemaVersion: 1
  readonly scenario: WalkthroughOptions & {
    readonly brokers: number
    readonly partitions: number
    readonly replicationFactor: number
    readonly minInsync: number
  }
  readonly steps: readonly WalkthroughStep[]
  readonly records: {
    readonly acknowledged: number
    readonly verified: number
    readonly lost: number
    readonly duplicated: number
  }
  readonly invariants: {
    readonly checked: number
    readonly violations: number
    /** In words, the first few. */
    readonly faults: readonly string[]
  }
  /** It was stopped before its end. */
  readonly interrupted: boolean
}
