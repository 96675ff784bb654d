/**
 * InvariantWatch: looks at a running cluster's invariants now and then, over the words that brokers
 * show and the metadata that the application has heard. It reads shared memory only; brokers know
 * nothing of it. A look costs about a microsecond a replica, and is bounded.
 */
import type { BrokerId, PartitionIndex } from './ids.ts'
import { partitionIndex } from './ids.ts'
import type { MetadataImage } from './replication/controller/metadata-image.ts'
import {
  BoardInvariants,
  type InvariantViolation,
} from './replication/invariants/board-invariants.ts'
import { epochsThatDidNotGrow } from './replication/invariants/epochs-grow.ts'
import type { ReplicaWords } from './replication/invariants/replica-words.ts'
import type { PartitionRegistration } from './replication/registration.ts'
import { brokerState, type ProgressBoard } from './workers/progress-board.ts'

const lookEveryMs = 100
const partitionsPerLookMax = 2_000
/**
 * What is compared with the registration counts only when it stays so while the registration does:
 * the application hears of a change later than the leader.
 */
const looksToConfirm = 5

interface Suspicion {
  readonly registration: PartitionRegistration
  looks: number
}

/**
 * The words of brokers that have a thread and are registered. Those of the dead are of their last
 * life, and whoever lost its disk is in the ISR until the controller hears of it.
 */
function livingWords(board: ProgressBoard): ReplicaWords {
  const isAway = (id: BrokerId) => {
    const state = board.state(id)
    return state === brokerState.dead || state === brokerState.starting
  }
  return {
    ledEpoch: (id, partition) => board.ledEpoch(id, partition),
    highWatermark: (id, partition) => board.highWatermark(id, partition),
    logEndOffset: (id, partition) =>
      isAway(id) ? Number.POSITIVE_INFINITY : board.logEndOffset(id, partition),
  }
}

export class InvariantWatch {
  readonly #onViolation: (violation: InvariantViolation) => void
  readonly #invariants: BoardInvariants
  readonly #registrations = new Map<PartitionIndex, PartitionRegistration>()
  readonly #suspicions = new Map<PartitionIndex, Suspicion>()
  readonly #reported = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #next = 0

  constructor(board: ProgressBoard, onViolation: (violation: InvariantViolation) => void) {
    this.#onViolation = onViolation
    this.#invariants = new BoardInvariants(livingWords(board), board.shape.brokers)
  }

  /** @param image as the application hears of it */
  start(image: MetadataImage): void {
    this.#timer = setInterval(() => this.look(image), lookEveryMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** One look at the next partitions. */
  look(image: MetadataImage): void {
    const end = image.partitionIndexesEnd
    for (let count = Math.min(end, partitionsPerLookMax); count > 0; count--) {
      if (this.#next >= end) this.#next = 0
      const registration = image.partition(partitionIndex(this.#next++))
      if (registration !== undefined) this.#check(registration)
    }
  }

  #check(registration: PartitionRegistration): void {
    const { index } = registration
    const before = this.#registrations.get(index)
    this.#registrations.set(index, registration)
    const grown = before === undefined ? undefined : epochsThatDidNotGrow(before, registration)
    if (grown !== undefined)
      this.#report({ invariant: 'epochs-grow', partition: index, detail: grown })
    let isSuspect = false
    this.#invariants.check(registration, (violation) => {
      if (violation.invariant !== 'high-watermark-on-members') this.#report(violation)
      else {
        isSuspect = true
        if (this.#isConfirmed(registration)) this.#report(violation)
      }
    })
    if (!isSuspect) this.#suspicions.delete(index)
  }

  #isConfirmed(registration: PartitionRegistration): boolean {
    const { index } = registration
    const suspicion = this.#suspicions.get(index)
    if (suspicion?.registration !== registration) {
      this.#suspicions.set(index, { registration, looks: 1 })
      return false
    }
    suspicion.looks++
    return suspicion.looks >= looksToConfirm
  }

  /** Each once: a broken word stays broken. */
  #report(violation: InvariantViolation): void {
    const key = `${violation.invariant} ${violation.partition}`
    if (this.#reported.has(key)) return
    this.#reported.add(key)
    this.#onViolation(violation)
  }
}
