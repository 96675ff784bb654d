/**
 * CatchUpFaults: goes through a run's faults in order of time and notes on its timeline what was
 * done to whom.
 */
import type { Cluster } from '../cluster.ts'
import type { CatchUpEvents } from './catch-up-events.ts'
import { inflict, relieve } from './fault-actions.ts'
import { type FaultStep, stepsOf } from './fault-schedule.ts'
import { type Fault, faultWords, victimOf } from './faults.ts'
import { formatDuration } from './units.ts'

export class CatchUpFaults {
  readonly #cluster: Cluster
  readonly #events: CatchUpEvents
  readonly #steps: FaultStep[]
  readonly #active = new Set<Fault>()
  #controllerLeftAtMs = Number.NEGATIVE_INFINITY

  constructor(cluster: Cluster, events: CatchUpEvents, faults: readonly Fault[]) {
    this.#cluster = cluster
    this.#events = events
    this.#steps = stepsOf(faults)
  }

  /** When the next step is due, ms after the load began; undefined: all is over. */
  get nextAtMs(): number | undefined {
    return this.#steps[0]?.atMs
  }

  /** A controller that was killed has a successor that has replayed the log. */
  get isControllerBack(): boolean {
    return this.#events.controllerStartedAtMs > this.#controllerLeftAtMs
  }

  /** What is going on, in words. */
  get title(): string {
    if (this.#active.size === 0) return 'between two faults'
    const who = Array.from(this.#active, (fault) => {
      return fault.kind === 'controller' ? victimOf(fault) : `${victimOf(fault)} (${fault.kind})`
    })
    return `outage of ${who.join(', ')}`
  }

  /**
   * Does the next step. @throws {TidemarkError} what the cluster's methods throw
   *
   * @param partitions how many partitions of the broker under study it is about, for the timeline
   */
  async next(nowMs: () => number, partitions: number): Promise<void> {
    const { action, fault } = this.#steps.shift()!
    const { kind, forMs } = fault
    const who = victimOf(fault)
    if (action === 'inflict') {
      const step = `${kind === 'controller' ? kind : 'broker'} ${faultWords(fault)}`
      const detail = `${who}, for ${formatDuration(forMs)}`
      const atMs = nowMs()
      this.#events.note(atMs, 'harness', step, detail, partitions, kind)
      if (kind === 'controller') this.#controllerLeftAtMs = atMs
      this.#active.add(fault)
      await inflict(this.#cluster, fault)
    } else {
      this.#active.delete(fault)
      await relieve(this.#cluster, fault)
      const detail = kind === 'controller' ? 'another takes over now' : `${who} is left alone again`
      this.#events.note(nowMs(), 'harness', `end of ${kind}`, detail)
    }
  }

  /** Takes everything back at once; for a run that is interrupted. */
  async relieveAll(): Promise<void> {
    this.#steps.length = 0
    for (const fault of this.#active) await relieve(this.#cluster, fault)
    this.#active.clear()
  }
}
