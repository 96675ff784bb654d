/**
 * Kafka's `Partition` at a leader, said as plainly as possible: maps, lists, and every rule
 * looked up anew each time. Slow, allocating, and hopefully without the product's mistakes.
 */
import type {
  AlterPartitionItem,
  AlterPartitionItemResult,
} from '../../src/replication/messages.ts'
import type { BrokerView } from '../../src/replication/registration.ts'
import { ModelReplica } from './kafka-replica-model.ts'
import { leader, type WorldOfBrokers } from './led-fixture.ts'

interface Proposal {
  readonly leaderEpoch: number
  readonly partitionEpoch: number
  readonly isr: readonly (readonly [number, number])[]
}

interface Pending {
  readonly proposal: Proposal
  readonly added: number | undefined
}

export interface ModelOptions {
  readonly followers: readonly number[]
  readonly minInSync: number
  readonly lagMaxMs: number
  readonly isLogEndNeeded: boolean
}

export class ModelPartition {
  readonly replicas = new Map<number, ModelReplica>()
  isr: readonly number[]
  pending: Pending | undefined
  /** In the sender: submitted and not answered. */
  unanswered: Proposal | undefined
  leaderEpoch: number
  partitionEpoch: number
  epochStart = 0
  logEndOffset = 0
  highWatermark = 0

  readonly #options: ModelOptions
  readonly #view: WorldOfBrokers

  constructor(
    options: ModelOptions,
    view: WorldOfBrokers,
    epochs: [number, number],
    nowMs: number,
  ) {
    this.#options = options
    this.#view = view
    this.isr = [leader, ...options.followers]
    this.leaderEpoch = epochs[0]
    this.partitionEpoch = epochs[1]
    for (const follower of options.followers) {
      const replica = new ModelReplica()
      replica.reset(true, 0, true, nowMs)
      this.replicas.set(follower, replica)
    }
  }

  get maximalIsr(): readonly number[] {
    const added = this.pending?.added
    return added === undefined ? this.isr : [...this.isr, added]
  }

  append(records: number, nowMs: number): void {
    this.logEndOffset += records
    this.maybeIncrement(nowMs)
  }

  fetch(follower: number, offset: number, epoch: number, nowMs: number): void {
    const replica = this.replicas.get(follower)!
    const old = replica.logEndOffset
    replica.fetch(offset, this.logEndOffset, nowMs, epoch)
    this.#maybeExpand(follower, replica)
    if (old !== offset) this.maybeIncrement(nowMs)
  }

  /** One more than Kafka's: a high watermark held by a silent outsider is let go. */
  check(nowMs: number): void {
    this.#shrink(nowMs)
    this.maybeIncrement(nowMs)
  }

  #shrink(nowMs: number): void {
    if (this.pending !== undefined) return
    const out = this.isr.filter((member) => {
      return member !== leader && !this.#isCaughtUp(this.replicas.get(member)!, nowMs)
    })
    if (out.length === 0 || this.unanswered !== undefined) return
    this.#propose(
      this.isr.filter((member) => !out.includes(member)),
      undefined,
    )
  }

  answered(proposal: Proposal, result: AlterPartitionItemResult, nowMs: number): void {
    if (this.unanswered === proposal && result.error !== 'NOT_CONTROLLER') {
      this.unanswered = undefined
    }
    if (this.pending?.proposal !== proposal) return
    switch (result.error) {
      case 'NONE':
        if (result.leaderEpoch !== this.leaderEpoch) return
        if (result.partitionEpoch < this.partitionEpoch) return
        this.isr = result.inSyncReplicas
        this.partitionEpoch = result.partitionEpoch
        this.pending = undefined
        this.maybeIncrement(nowMs)
        return
      case 'INELIGIBLE_REPLICA':
        this.pending = undefined
        return
      default:
    }
  }

  /** Metadata; the one rule that is not Kafka's: a mere repetition leaves a proposal pending. */
  learn(isr: readonly number[], leaderEpoch: number, partitionEpoch: number, nowMs: number): void {
    if (partitionEpoch < this.partitionEpoch) return
    const isRisen = leaderEpoch > this.leaderEpoch
    const isRepeat = !isRisen && partitionEpoch === this.partitionEpoch
    if (isRisen) {
      this.epochStart = this.logEndOffset
      for (const [follower, replica] of this.replicas) {
        replica.reset(false, this.logEndOffset, isr.includes(follower), nowMs)
      }
    }
    if (!isRepeat) {
      this.isr = isr
      this.pending = undefined
    }
    this.leaderEpoch = leaderEpoch
    this.partitionEpoch = partitionEpoch
    this.maybeIncrement(nowMs)
  }

  maybeIncrement(nowMs: number): void {
    const minimum = Math.min(this.#options.minInSync, this.replicas.size + 1)
    if (this.isr.length < minimum) return
    const counted = [...this.replicas].filter(([follower, replica]) => {
      if (this.maximalIsr.includes(follower)) return true
      return this.#isCaughtUp(replica, nowMs) && this.#isEligible(follower, replica)
    })
    const ends = counted.map(([, replica]) => replica.logEndOffset)
    const least = Math.min(this.logEndOffset, ...ends)
    if (least > this.highWatermark) this.highWatermark = least
  }

  #maybeExpand(follower: number, replica: ModelReplica): void {
    const { isLogEndNeeded, lagMaxMs } = this.#options
    if (this.pending !== undefined || this.isr.includes(follower)) return
    if (!this.#isEligible(follower, replica)) return
    if (replica.logEndOffset < this.highWatermark) return
    if (replica.logEndOffset < this.epochStart) return
    const isAtEnd =
      replica.lastCase === 1 || (replica.lastCase === 2 && replica.lastGapMs <= lagMaxMs)
    if (isLogEndNeeded && !isAtEnd) return
    if (this.unanswered === undefined) this.#propose([...this.isr, follower], follower)
  }

  #propose(isr: readonly number[], added: number | undefined): void {
    const epochOf = (member: number) =>
      member === leader ? this.#view.of(leader).epoch : this.replicas.get(member)!.brokerEpoch
    const { leaderEpoch, partitionEpoch } = this
    const stated = isr.map((member) => [member, epochOf(member) ?? -1] as const)
    const proposal = { leaderEpoch, partitionEpoch, isr: stated }
    this.pending = { proposal, added }
    this.unanswered = proposal
  }

  #isCaughtUp(replica: ModelReplica, nowMs: number): boolean {
    const isAtEnd = replica.logEndOffset === this.logEndOffset
    return isAtEnd || nowMs - replica.lastCaughtUpTimeMs <= this.#options.lagMaxMs
  }

  #isEligible(follower: number, replica: ModelReplica): boolean {
    const view: BrokerView = this.#view
    const broker = follower as typeof leader
    return view.isActive(broker) && view.aliveEpoch(broker) === replica.brokerEpoch
  }
}

export function asProposal(item: AlterPartitionItem): Proposal {
  return {
    leaderEpoch: item.leaderEpoch,
    partitionEpoch: item.partitionEpoch,
    isr: item.newInSyncReplicas.map(({ brokerId, brokerEpoch }) => [brokerId, brokerEpoch]),
  }
}
