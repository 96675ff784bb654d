/**
 * WalkthroughEvents: the cluster's events of one partition, and a way to wait for the next that the
 * story needs. Events of different threads may come out of order, so a wait looks at all since a
 * mark.
 */
import type { ClusterEvent } from '../cluster-events.ts'
import { TidemarkError } from '../errors.ts'
import type { ControllerEvent } from '../replication/controller/controller-events.ts'
import type { ReplicationEvent } from '../replication/replication-event.ts'
import { failureIn } from './cluster-failure.ts'

/** Longer than anything in the story takes, on a machine that has much else to do. */
const waitMsMax = 30_000
const pollMs = 1

export type ReplicationOf<Type extends ReplicationEvent['type']> = ReplicationEvent & {
  readonly type: Type
}

export class WalkthroughEvents {
  /** What the cluster, watching itself, found broken. */
  readonly violations: string[] = []
  readonly #all: ClusterEvent[] = []
  readonly #signal: AbortSignal
  #failure: Error | undefined
  #from = 0

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  readonly take = (event: ClusterEvent): void => {
    if (event.type === 'invariantViolated') {
      // No end of the story: it is its verdict.
      this.violations.push(`${event.invariant}: ${event.detail}`)
    } else {
      this.#failure ??= failureIn(event)
    }
    this.#all.push(event)
  }

  /** Waits look at what comes from here on. */
  mark(): void {
    this.#from = this.#all.length
  }

  /** All since the mark. */
  get since(): readonly ClusterEvent[] {
    return this.#all.slice(this.#from)
  }

  replication<Type extends ReplicationEvent['type']>(
    type: Type,
    matches: (event: ReplicationOf<Type>) => boolean = () => true,
  ): Promise<ReplicationOf<Type>> {
    return this.#next(`event ${type}`, (each) => {
      if (each.type !== 'replication' || each.event.type !== type) return undefined
      const event = each.event as ReplicationOf<Type>
      return matches(event) ? event : undefined
    })
  }

  controller(
    kind: ControllerEvent['kind'],
    matches: (event: ControllerEvent) => boolean = () => true,
  ): Promise<ControllerEvent> {
    return this.#next(`controller event ${kind}`, (each) => {
      if (each.type !== 'controller' || each.event.kind !== kind) return undefined
      return matches(each.event) ? each.event : undefined
    })
  }

  truncation(broker: number): Promise<Extract<ClusterEvent, { type: 'truncated' }>> {
    return this.#next(`truncation at broker ${broker}`, (each) => {
      return each.type === 'truncated' && each.brokerId === broker ? each : undefined
    })
  }

  /**
   * Resolves when the condition holds.
   *
   * @throws {TidemarkError} REQUEST_TIMED_OUT naming `what`; the failure of a thread, if one fails
   */
  async until(what: string, condition: () => boolean): Promise<void> {
    const startMs = performance.now()
    while (!condition()) {
      this.#signal.throwIfAborted()
      if (this.#failure !== undefined) throw this.#failure
      if (performance.now() - startMs > waitMsMax) {
        throw new TidemarkError('REQUEST_TIMED_OUT', `waited ${waitMsMax} ms for: ${what}`)
      }
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }

  async #next<T>(what: string, find: (event: ClusterEvent) => T | undefined): Promise<T> {
    let at = this.#from
    let found: T | undefined
    await this.until(what, () => {
      while (found === undefined && at < this.#all.length) {
        found = find(this.#all[at]!)
        at += 1
      }
      return found !== undefined
    })
    return found!
  }
}
