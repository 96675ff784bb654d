/**
 * One history: a cluster made from a seed, steps in which time passes, clients send and read,
 * brokers are scheduled and things go wrong; then everything is mended, and must come to rest with
 * nothing lost. Every step draws from a stream of its own, so that one can be left out and the
 * others stay what they are.
 */
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import type { InvariantViolation } from '../../src/replication/invariants/board-invariants.ts'
import { noteTallies } from './broker-tallies.ts'
import { Coverage } from './coverage.ts'
import { randomFault } from './fault-actions.ts'
import { checkAtRest } from './final-checks.ts'
import { HistoryChecks } from './history-checks.ts'
import { comeToRest } from './mending.ts'
import { type Scenario, scenarioOf } from './scenario.ts'
import { SimulatedClients } from './simulated-clients.ts'
import { type Actor, SimulatedCluster } from './simulated-cluster.ts'
import { SimulatedConsumer } from './simulated-consumer.ts'

export interface HistoryOptions {
  readonly seed: number
  readonly steps: number
  /** Steps whose fault, if they have one, is left out. */
  readonly without?: ReadonlySet<number>
}

export interface HistoryResult {
  /** At which step; `steps` itself: while everything was mended, or at rest. */
  readonly step: number
  readonly violation: InvariantViolation | undefined
  /** Steps that had a fault. */
  readonly faulty: readonly number[]
}

/** The stream of what the seed decides before the first step, and of a step. */
const scenarioStream = 0
const lifeStream = 1
const firstStepStream = 2
/** One step in so many: more is sent at once than a ring holds. */
const stepsAFlood = 1_000
const floodBatches = 40

export function runHistory(options: HistoryOptions, coverage = new Coverage()): HistoryResult {
  return new History(options, coverage).run()
}

class History {
  readonly #options: HistoryOptions
  readonly #scenario: Scenario
  readonly #cluster: SimulatedCluster
  readonly #clients: SimulatedClients
  readonly #consumer: SimulatedConsumer
  readonly #checks: HistoryChecks
  readonly #faulty: number[] = []
  #random: SeededRandom
  /** Calls until the actor in its step is interrupted; 0: it isn't. */
  #callsToInterruption = 0
  #interruptionEnds = false

  constructor(options: HistoryOptions, coverage: Coverage) {
    this.#options = options
    const { seed } = options
    this.#scenario = scenarioOf(new SeededRandom(seed, scenarioStream))
    this.#random = new SeededRandom(seed, lifeStream)
    this.#cluster = new SimulatedCluster(this.#scenario, this.#random, coverage, {
      called: (actor, mayGoOn) => this.#called(actor, mayGoOn),
      committed: (before, after) => this.#checks.committed(before, after),
      registered: (broker) => this.#checks.registered(broker),
      proposed: (request, before) => this.#checks.proposed(request, before),
      failed: (actor, error) => {
        const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
        this.#checks.tell(actor === 0 ? 'controller-thread' : 'broker-thread', -1, detail)
      },
    })
    const { memory, clock } = this.#cluster
    this.#checks = new HistoryChecks(this.#cluster)
    this.#clients = new SimulatedClients(memory, clock, coverage, (promise) => {
      this.#checks.promised(promise)
    })
    this.#consumer = new SimulatedConsumer(this.#cluster, this.#checks)
  }

  run(): HistoryResult {
    const { steps } = this.#options
    this.#begin()
    for (let step = 0; step < steps; step++) {
      this.#step(step)
      const { violation } = this.#checks
      if (violation !== undefined) return { step, violation, faulty: this.#faulty }
    }
    this.#callsToInterruption = 0
    comeToRest(this.#cluster, this.#clients, this.#checks)
    if (this.#checks.violation === undefined) {
      checkAtRest(this.#cluster, this.#clients, this.#checks)
    }
    const { board, brokers, coverage } = this.#cluster
    noteTallies(board, brokers, coverage)
    return { step: steps, violation: this.#checks.violation, faulty: this.#faulty }
  }

  /** Up to the moment at which all partitions have leaders. */
  #begin(): void {
    const cluster = this.#cluster
    cluster.startController()
    for (const { id } of cluster.brokers) cluster.start(id)
    for (let round = 0; round < 30; round++) {
      cluster.clock.advance(5)
      cluster.stepController()
      for (const { id } of cluster.brokers) cluster.step(id)
      if (cluster.controller.image.activeBrokers().length === cluster.brokers.length) break
    }
    cluster.createTopics()
  }

  #step(step: number): void {
    const { seed, without } = this.#options
    this.#random = new SeededRandom(seed, firstStepStream + step)
    const random = this.#random
    const { faults, load, bigBatches, stepMs, scheduled } = this.#scenario
    const cluster = this.#cluster
    cluster.clock.advance(random.nextBelow(2 * stepMs))
    cluster.coverage.note(() => `── step ${step} at ${cluster.clock.nowMs()}`)
    if (random.next() < faults) {
      this.#faulty.push(step)
      if (without?.has(step) !== true) randomFault(cluster, new SeededRandom(random.nextUint32()))
      else random.nextUint32()
    }
    if (random.next() < load) this.#clients.produce(random, cluster.partitions, bigBatches)
    if (random.nextBelow(stepsAFlood) === 0) this.#flood(random)
    const first = random.nextBelow(cluster.brokers.length + 1)
    for (let count = 0; count <= cluster.brokers.length; count++) {
      const actor = (first + count) % (cluster.brokers.length + 1)
      if (random.next() < scheduled) this.#act(actor)
    }
    if (random.next() < load) this.#consumer.read(random)
    for (const { life } of cluster.brokers) {
      if (random.nextBelow(8) === 0) life?.syncs.advance()
    }
    this.#afterStep()
  }

  #flood(random: SeededRandom): void {
    for (let count = 0; count < floodBatches; count++) {
      this.#clients.produce(random, this.#cluster.partitions, 1)
    }
  }

  #act(actor: Actor): void {
    this.#armInterruption()
    this.#stepActor(actor)
    this.#callsToInterruption = 0
    this.#afterStep()
  }

  #stepActor(actor: Actor): void {
    if (actor === 0) this.#cluster.stepController()
    else this.#cluster.step(actor)
    this.#clients.poll()
  }

  #afterStep(): void {
    this.#checks.afterStep()
  }

  // ── interruptions ────────────────────────────────────────────────────────────────────────────

  #armInterruption(): void {
    const { preemption } = this.#scenario
    if (this.#random.next() >= preemption) return
    this.#callsToInterruption = 1 + this.#random.nextBelow(12)
    this.#interruptionEnds = this.#random.nextBelow(12) === 0
  }

  #called(actor: Actor, mayGoOn: boolean): void {
    if (actor > 0) this.#cluster.clock.advance(this.#cluster.broker(actor).diskMs / 4)
    if (this.#callsToInterruption === 0) return
    this.#callsToInterruption--
    if (this.#callsToInterruption > 0 || !this.#cluster.isRunning(actor)) return
    if (this.#interruptionEnds) this.#cluster.endInside(actor)
    if (mayGoOn) this.#goOnMeanwhile()
  }

  /** Others take steps and time passes while somebody stands still in the middle of a step. */
  #goOnMeanwhile(): void {
    const random = this.#random
    const cluster = this.#cluster
    cluster.coverage.count('interrupted')
    const steps = 1 + random.nextBelow(random.nextBelow(4) === 0 ? 24 : 5)
    for (let count = 0; count < steps; count++) {
      cluster.clock.advance(random.nextBelow(this.#scenario.stepMs))
      if (random.nextBelow(4) === 0) {
        this.#clients.produce(random, cluster.partitions, this.#scenario.bigBatches)
      }
      if (random.nextBelow(6) === 0) this.#armInterruption()
      this.#stepActor(random.nextBelow(cluster.brokers.length + 1))
      this.#afterStep()
    }
  }
}
