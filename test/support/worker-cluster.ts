/** A producer and the passage of time for the brokers of worker-brokers.ts. */
import { errorCodeOf } from '../../src/errors.ts'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { BatchEncoder } from '../../src/log/batch-encoder.ts'
import { batchSizeBound } from '../../src/log/record.ts'
import { RingProducer } from '../../src/workers/ring-producer.ts'
import { textRecord } from './batch-builder.ts'
import { WorkerBrokers, type WorkerClusterOptions } from './worker-brokers.ts'

export interface Acknowledgement {
  readonly ticket: number
  readonly partition: number
  readonly values: readonly string[]
  readonly acks: number
  readonly error: string
  readonly baseOffset: number
}

interface Sent {
  readonly partition: number
  readonly values: readonly string[]
  readonly acks: number
}

export class WorkerCluster extends WorkerBrokers {
  readonly producer: RingProducer
  readonly partitions: number
  readonly acknowledged: Acknowledgement[] = []
  readonly #sent = new Map<number, Sent>()
  readonly #encoder = new BatchEncoder()
  readonly #highest = new Map<string, number>()
  #values = 0

  constructor(options: WorkerClusterOptions = {}) {
    super(options)
    const all = Array.from({ length: this.brokers }, (_, row) => row + 1)
    const assignments = options.assignments ?? [all]
    this.partitions = assignments.length
    this.producer = new RingProducer(this.memory, 0)
    for (const id of all) this.start(id)
    this.until(
      'all brokers are unfenced',
      () => this.controller.image.activeBrokers().length === this.brokers,
    )
    this.createTopic(assignments)
    this.until('all partitions have leaders and followers', () => this.isFollowed())
  }

  logEndOffset(broker: number, partition = 0): number {
    return this.node(broker).store.log(partitionIndex(partition)).logEndOffset
  }

  highWatermark(broker: number, partition = 0): number {
    return this.board.highWatermark(brokerId(broker), partitionIndex(partition))
  }

  /** Every living replica of every partition leads, or is reconciled with the one that does. */
  isFollowed(): boolean {
    for (let partition = 0; partition < this.partitions; partition++) {
      const registration = this.controller.image.partition(partitionIndex(partition))
      if (registration === undefined || registration.leader < 1) return false
      const { leader, leaderEpoch, index, replicas } = registration
      for (const replica of replicas) {
        if (!this.isAlive(replica)) continue
        const epoch =
          replica === leader
            ? this.board.ledEpoch(replica, index)
            : this.board.followedEpoch(replica, index)
        if (epoch !== leaderEpoch) return false
      }
    }
    return true
  }

  // ── time and steps ───────────────────────────────────────────────────────────────────────────

  pollAcks(): number {
    return this.producer.poll((ticket, error, baseOffset) => {
      const sent = this.#sent.get(ticket)!
      this.#sent.delete(ticket)
      const code = error === 0 ? 'NONE' : errorCodeOf(error)
      this.acknowledged.push({ ticket, ...sent, error: code, baseOffset })
    })
  }

  /** One step of everybody. */
  round(): number {
    let work = this.stepController()
    for (let broker = 1; broker <= this.brokers; broker++) work += this.step(broker)
    work += this.pollAcks()
    this.checkHighWatermarks()
    return work
  }

  /** Rounds at this very moment until nobody has anything to do. */
  settle(): void {
    for (let quiet = 0, rounds = 0; quiet < 3; rounds++) {
      if (rounds > 10_000) throw new Error('the cluster does not come to rest')
      quiet = this.round() === 0 ? quiet + 1 : 0
    }
  }

  /** Lets time pass, a round every `everyMs`. */
  run(ms: number, everyMs = 5): void {
    for (let passed = 0; passed < ms; passed += everyMs) {
      this.clock.advance(everyMs)
      this.round()
    }
  }

  /** Lets time pass until `condition` holds. @returns milliseconds it took */
  until(what: string, condition: () => boolean, maxMs = 60_000, everyMs = 5): number {
    const startMs = this.clock.nowMs()
    while (!condition()) {
      if (this.clock.nowMs() - startMs > maxMs) throw new Error(`not within ${maxMs} ms: ${what}`)
      this.clock.advance(everyMs)
      this.round()
    }
    return this.clock.nowMs() - startMs
  }

  /** All replicas in sync, all logs equally long, all answers given. */
  converge(maxMs = 60_000): number {
    return this.until('the cluster converges', () => this.isConverged(), maxMs)
  }

  isConverged(): boolean {
    if (!this.isFollowed() || this.#sent.size > 0) return false
    for (let partition = 0; partition < this.partitions; partition++) {
      const { leader, replicas, inSyncReplicas } = this.registration(partition)
      if (inSyncReplicas.length !== replicas.length) return false
      const end = this.logEndOffset(leader, partition)
      if (this.highWatermark(leader, partition) !== end) return false
      if (replicas.some((replica) => this.logEndOffset(replica, partition) !== end)) return false
    }
    return true
  }

  // ── producing ────────────────────────────────────────────────────────────────────────────────

  /**
   * Sends one batch of `count` records with values that never repeat, padded to `valueBytes`.
   *
   * @returns its ticket; -1 when the producer is back-pressured or the leader is away
   */
  produce(partition = 0, count = 1, valueBytes = 0, acks = -1, timeoutMs = 30_000): number {
    const values = Array.from({ length: count }, () => {
      return `p${partition}-${++this.#values}-`.padEnd(valueBytes, 'x')
    })
    const records = values.map((value) => textRecord(value, Math.floor(this.clock.nowMs())))
    const index = partitionIndex(partition)
    const bound = batchSizeBound(records)
    if (this.producer.tryClaim(index, bound) !== 'claimed') return -1
    const { claimMemory, claimPosition } = this.producer
    this.#encoder.begin(claimMemory, claimPosition, bound, { compression: 'none' })
    for (const record of records) this.#encoder.tryAppend(record)
    const ticket = this.producer.commit(index, this.#encoder.finish(), acks, timeoutMs)
    if (acks !== 0) this.#sent.set(ticket, { partition, values, acks })
    return ticket
  }

  /** The answer to one batch; undefined: none yet. */
  answer(ticket: number): Acknowledgement | undefined {
    return this.acknowledged.find((each) => each.ticket === ticket)
  }

  get unanswered(): number {
    return this.#sent.size
  }

  /** Failures of logs that brokers told of. */
  failures(): string[] {
    return this.news.flatMap((each) => each.failures.map(({ message }) => message))
  }

  /** A high watermark never goes back within a tenure and is never above the end of one in sync. */
  checkHighWatermarks(): void {
    for (let partition = 0; partition < this.partitions; partition++) {
      const registration = this.controller.image.partition(partitionIndex(partition))
      if (registration === undefined || registration.leader < 1) continue
      const { leader, leaderEpoch, index, inSyncReplicas } = registration
      if (!this.isAlive(leader) || this.board.ledEpoch(leader, index) !== leaderEpoch) continue
      const highWatermark = this.board.highWatermark(leader, index)
      const tenure = `${partition} of ${leader} in epoch ${leaderEpoch}`
      const before = this.#highest.get(tenure) ?? 0
      if (highWatermark < before) {
        throw new Error(`high watermark of ${tenure}: ${highWatermark} after ${before}`)
      }
      this.#highest.set(tenure, highWatermark)
      for (const replica of inSyncReplicas) {
        const end = this.board.logEndOffset(replica, index)
        if (end >= highWatermark) continue
        throw new Error(`high watermark of ${tenure}: ${highWatermark}, ${replica} ends at ${end}`)
      }
    }
  }
}
