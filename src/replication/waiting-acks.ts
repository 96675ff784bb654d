/**
 * Producers waiting with acks=all for the high watermark to pass what they appended (Kafka:
 * `DelayedProduce` in its purgatory). First in, first out per partition, in pooled nodes of typed
 * arrays: waiting and completing allocate nothing but when the pool doubles.
 *
 * A node is in one of three lists: free, waiting in its partition, or completed with an error
 * number and not yet visited. Completion is told only by `takeCompleted`, after the state change
 * that caused it has ended (KAFKA-13254): a visitor may append, wait and submit again.
 */
import { errorNumber, errorNumberNone } from '../errors.ts'
import type { Offset, PartitionIndex } from '../ids.ts'

export interface CompletionVisitor {
  /** `errorNumber` 0: on every in-sync replica, at least `min.insync.replicas` of them. */
  completed(
    producerSlot: number,
    ticket: number,
    errorNumber: number,
    baseOffset: Offset,
    partition: PartitionIndex,
  ): void
}

/** What the check of a waiter whose offset is below the high watermark asks of its partition. */
export interface CommittedState {
  highWatermark(partition: PartitionIndex): Offset
  /**
   * Whether the maximal ISR has the effective `min.insync.replicas` (Kafka:
   * `checkEnoughReplicas...`).
   */
  hasEnoughReplicas(partition: PartitionIndex): boolean
}

const nil = -1
const capacityMin = 1024
const timedOut = errorNumber('REQUEST_TIMED_OUT')
const notEnoughAfterAppend = errorNumber('NOT_ENOUGH_REPLICAS_AFTER_APPEND')

export class WaitingAcks {
  /** Waiters that timed out since the start (Kafka: ExpiresPerSec). */
  expiredCount = 0
  #waitingCount = 0

  readonly #state: CommittedState
  readonly #head: Int32Array
  readonly #tail: Int32Array
  /** Partitions with waiters, dense. */
  readonly #waitingList: Int32Array
  readonly #waitingPlace: Int32Array
  #waitingPartitions = 0
  /** Partitions whose first waiters may be complete, each once. */
  readonly #ripeList: Int32Array
  readonly #isRipe: Uint8Array
  #ripeCount = 0

  #next = new Int32Array(capacityMin)
  #requiredOffset = new Float64Array(capacityMin)
  #baseOffset = new Float64Array(capacityMin)
  #ticket = new Float64Array(capacityMin)
  #deadlineMs = new Float64Array(capacityMin)
  #producerSlot = new Int32Array(capacityMin)
  #partition = new Int32Array(capacityMin)
  #error = new Int16Array(capacityMin)
  #free = nil
  #doneHead = nil
  #doneTail = nil
  /** No waiter's deadline is before this. */
  #earliestDeadlineMs = Number.POSITIVE_INFINITY

  constructor(partitionsMax: number, state: CommittedState) {
    this.#state = state
    this.#head = new Int32Array(partitionsMax).fill(nil)
    this.#tail = new Int32Array(partitionsMax).fill(nil)
    this.#waitingList = new Int32Array(partitionsMax)
    this.#waitingPlace = new Int32Array(partitionsMax).fill(nil)
    this.#ripeList = new Int32Array(partitionsMax)
    this.#isRipe = new Uint8Array(partitionsMax)
    this.#addToFree(0, capacityMin)
  }

  get waitingCount(): number {
    return this.#waitingCount
  }

  /** Required offsets of one partition come in rising order: appends do. */
  wait(
    partition: PartitionIndex,
    requiredOffset: Offset,
    producerSlot: number,
    ticket: number,
    deadlineMs: number,
    baseOffset: Offset,
  ): void {
    const node = this.#allocate(partition, producerSlot, ticket, baseOffset)
    this.#requiredOffset[node] = requiredOffset
    this.#deadlineMs[node] = deadlineMs
    if (this.#head[partition] === nil) {
      this.#head[partition] = node
      this.#enterWaitingList(partition)
    } else this.#next[this.#tail[partition]] = node
    this.#tail[partition] = node
    this.#waitingCount += 1
    if (deadlineMs < this.#earliestDeadlineMs) this.#earliestDeadlineMs = deadlineMs
    if (requiredOffset <= this.#state.highWatermark(partition)) this.#markRipe(partition)
  }

  /** Completed from the start: nothing to wait for. */
  refuse(
    partition: PartitionIndex,
    producerSlot: number,
    ticket: number,
    error: number,
    baseOffset: Offset,
  ): void {
    this.#finish(this.#allocate(partition, producerSlot, ticket, baseOffset), error)
  }

  /** The high watermark of a partition moved. O(1). */
  highWatermarkMoved(partition: PartitionIndex, highWatermark: Offset): void {
    const head = this.#head[partition]
    if (head !== nil && this.#requiredOffset[head] <= highWatermark) this.#markRipe(partition)
  }

  /**
   * Completes everything that waits in a partition with an error, but what is committed already.
   */
  failAll(partition: PartitionIndex, error: number): void {
    this.#completePartition(partition)
    let node = this.#head[partition]
    if (node === nil) return
    this.#head[partition] = nil
    this.#tail[partition] = nil
    this.#leaveWaitingList(partition)
    while (node !== nil) {
      const next = this.#next[node]
      this.#waitingCount -= 1
      this.#finish(node, error)
      node = next
    }
  }

  /**
   * Completes what is past its deadline with REQUEST_TIMED_OUT. Looks at the waiters only when the
   * earliest deadline known at the last look has passed, so about once in a request timeout.
   */
  expire(nowMs: number): void {
    if (nowMs < this.#earliestDeadlineMs) return
    let earliestMs = Number.POSITIVE_INFINITY
    // Backwards: a partition without waiters leaves the list, and the last one takes its place.
    for (let place = this.#waitingPartitions - 1; place >= 0; place -= 1) {
      const partition = this.#waitingList[place] as PartitionIndex
      earliestMs = Math.min(earliestMs, this.#expirePartition(partition, nowMs))
    }
    this.#earliestDeadlineMs = earliestMs
  }

  /** Tells the visitor of everything completed, and returns how many. Not from within a visit. */
  takeCompleted(visitor: CompletionVisitor): number {
    let visited = 0
    for (;;) {
      this.#completeRipe()
      const node = this.#doneHead
      if (node === nil) return visited
      this.#doneHead = this.#next[node]
      if (this.#doneHead === nil) this.#doneTail = nil
      const producerSlot = this.#producerSlot[node]
      const ticket = this.#ticket[node]
      const error = this.#error[node]
      const baseOffset = this.#baseOffset[node]
      const partition = this.#partition[node] as PartitionIndex
      this.#next[node] = this.#free
      this.#free = node
      visitor.completed(producerSlot, ticket, error, baseOffset, partition)
      visited += 1
    }
  }

  #completeRipe(): void {
    while (this.#ripeCount > 0) {
      this.#ripeCount -= 1
      const partition = this.#ripeList[this.#ripeCount] as PartitionIndex
      this.#isRipe[partition] = 0
      this.#completePartition(partition)
    }
  }

  #completePartition(partition: PartitionIndex): void {
    const highWatermark = this.#state.highWatermark(partition)
    const enough = this.#state.hasEnoughReplicas(partition)
    const error = enough ? errorNumberNone : notEnoughAfterAppend
    let node = this.#head[partition]
    if (node === nil) return
    while (node !== nil && this.#requiredOffset[node] <= highWatermark) {
      const next = this.#next[node]
      this.#waitingCount -= 1
      this.#finish(node, error)
      node = next
    }
    this.#head[partition] = node
    if (node !== nil) return
    this.#tail[partition] = nil
    this.#leaveWaitingList(partition)
  }

  /**
   * Returns the earliest deadline of those that stay. A waiter that is ripe already is not timed
   * out.
   */
  #expirePartition(partition: PartitionIndex, nowMs: number): number {
    this.#completePartition(partition)
    let earliestMs = Number.POSITIVE_INFINITY
    let previous = nil
    let node = this.#head[partition]
    if (node === nil) return earliestMs
    while (node !== nil) {
      const next = this.#next[node]
      if (this.#deadlineMs[node] > nowMs) {
        earliestMs = Math.min(earliestMs, this.#deadlineMs[node])
        previous = node
      } else {
        if (previous === nil) this.#head[partition] = next
        else this.#next[previous] = next
        this.#waitingCount -= 1
        this.expiredCount += 1
        this.#finish(node, timedOut)
      }
      node = next
    }
    this.#tail[partition] = previous
    if (previous === nil) this.#leaveWaitingList(partition)
    return earliestMs
  }

  #markRipe(partition: PartitionIndex): void {
    if (this.#isRipe[partition] === 1) return
    this.#isRipe[partition] = 1
    this.#ripeList[this.#ripeCount] = partition
    this.#ripeCount += 1
  }

  #finish(node: number, error: number): void {
    this.#error[node] = error
    this.#next[node] = nil
    if (this.#doneHead === nil) this.#doneHead = node
    else this.#next[this.#doneTail] = node
    this.#doneTail = node
  }

  #allocate(
    partition: PartitionIndex,
    producerSlot: number,
    ticket: number,
    baseOffset: Offset,
  ): number {
    if (this.#free === nil) this.#grow()
    const node = this.#free
    this.#free = this.#next[node]
    this.#next[node] = nil
    this.#partition[node] = partition
    this.#producerSlot[node] = producerSlot
    this.#ticket[node] = ticket
    this.#baseOffset[node] = baseOffset
    return node
  }

  #enterWaitingList(partition: PartitionIndex): void {
    this.#waitingPlace[partition] = this.#waitingPartitions
    this.#waitingList[this.#waitingPartitions] = partition
    this.#waitingPartitions += 1
  }

  #leaveWaitingList(partition: PartitionIndex): void {
    this.#waitingPartitions -= 1
    const place = this.#waitingPlace[partition]
    const moved = this.#waitingList[this.#waitingPartitions]
    this.#waitingList[place] = moved
    this.#waitingPlace[moved] = place
    this.#waitingPlace[partition] = nil
  }

  #addToFree(first: number, end: number): void {
    for (let node = first; node < end - 1; node += 1) this.#next[node] = node + 1
    this.#next[end - 1] = this.#free
    this.#free = first
  }

  #grow(): void {
    const capacity = this.#next.length
    this.#next = grown(this.#next, new Int32Array(capacity * 2))
    this.#requiredOffset = grown(this.#requiredOffset, new Float64Array(capacity * 2))
    this.#baseOffset = grown(this.#baseOffset, new Float64Array(capacity * 2))
    this.#ticket = grown(this.#ticket, new Float64Array(capacity * 2))
    this.#deadlineMs = grown(this.#deadlineMs, new Float64Array(capacity * 2))
    this.#producerSlot = grown(this.#producerSlot, new Int32Array(capacity * 2))
    this.#partition = grown(this.#partition, new Int32Array(capacity * 2))
    this.#error = grown(this.#error, new Int16Array(capacity * 2))
    this.#addToFree(capacity, capacity * 2)
  }
}

function grown<T extends Int32Array | Float64Array | Int16Array>(source: T, target: T): T {
  target.set(source)
  return target
}
