/**
 * The leader's side of replication: every partition that ONE broker leads, who of its followers is
 * in sync, what is committed, and which producers wait for it. No I/O, no threads, no clock of its
 * own.
 *
 * ```
 *  append ─▶ appended ─┐                                  ┌─▶ takeAdvanced       high watermarks
 *  poll ─▶ beginFetch, ├─▶ follower progress, ISR state, ─┼─▶ takeCompleted      producers
 *          fetched*,   │   high watermark                 ├─▶ takeAlterPartition…  controller
 *          endFetch   ─┤                                  └─▶ takeEvents         who decided, on
 *          what timer ─▶ check…    ─┤ controller ─▶ on… ──┘
 * ```
 *
 * Each call on the left finishes its change of state; what follows from it is taken on the right
 * afterwards, so whoever reacts sees a consistent state and may call again (KAFKA-13254).
 */
import { errorNumber, errorNumberNone } from '../errors.ts'
import type {
  BrokerEpoch,
  BrokerId,
  LeaderEpoch,
  Offset,
  PartitionEpoch,
  PartitionIndex,
} from '../ids.ts'
import { invariant } from '../invariant.ts'
import { AlterPartitionSender } from './alter-partition-sender.ts'
import { type AdvanceVisitor, CommittedOffsets } from './committed-offsets.ts'
import { FollowerProgress } from './follower-progress.ts'
import { IsrChanges } from './isr-changes.ts'
import { IsrGauges } from './isr-gauges.ts'
import { committedIsr } from './isr-state.ts'
import {
  describeLeader,
  type FollowerLag,
  type LeaderDescription,
  lagOf,
} from './leader-description.ts'
import type {
  LocalLog,
  MakeFollowerResult,
  MakeLeaderResult,
  PartitionLeadersOptions,
} from './leader-options.ts'
import { LedPartitions, replicaStride } from './led-partitions.ts'
import type { AlterPartitionRequest, AlterPartitionResponse } from './messages.ts'
import { OutsiderSweep, outsiderSweepIntervalDefaultMs } from './outsider-sweep.ts'
import { Outsiders } from './outsiders.ts'
import type { BrokerView, PartitionRegistration } from './registration.ts'
import { isStaleIncarnation } from './replica-eligibility.ts'
import { assignSlots, forgetOutsiders, resetReplicas, type SlotParts } from './replica-slots.ts'
import type { ReplicationEvent } from './replication-event.ts'
import { type CompletionVisitor, WaitingAcks } from './waiting-acks.ts'

const notLeader = errorNumber('NOT_LEADER_OR_FOLLOWER')
const fencedLeaderEpoch = errorNumber('FENCED_LEADER_EPOCH')
const unknownLeaderEpoch = errorNumber('UNKNOWN_LEADER_EPOCH')
const notEnoughReplicas = errorNumber('NOT_ENOUGH_REPLICAS')
const invalidRequiredAcks = errorNumber('INVALID_REQUIRED_ACKS')
const brokerNone = 0 as BrokerId

export class PartitionLeaders {
  readonly #brokerId: BrokerId
  readonly #brokerEpoch: () => BrokerEpoch
  readonly #brokers: BrokerView

  readonly #table: LedPartitions
  readonly #progress: FollowerProgress
  readonly #parts: SlotParts
  readonly #gauges: IsrGauges
  readonly #sender = new AlterPartitionSender()
  readonly #acks: WaitingAcks
  readonly #offsets: CommittedOffsets
  readonly #changes: IsrChanges
  readonly #sweep: OutsiderSweep

  #fetcher: BrokerId = brokerNone
  #fetchTimeMs = 0

  constructor(options: PartitionLeadersOptions) {
    const { brokerId, partitionsMax, brokers, brokerEpoch, config } = options
    this.#brokerId = brokerId
    this.#brokerEpoch = brokerEpoch
    this.#brokers = brokers
    const table = new LedPartitions(brokerId, partitionsMax)
    const progress = new FollowerProgress(table)
    this.#table = table
    this.#progress = progress
    const outsiders = new Outsiders(partitionsMax)
    this.#parts = { table, progress, outsiders }
    this.#gauges = new IsrGauges(table)
    this.#acks = new WaitingAcks(partitionsMax, {
      highWatermark: (partition) => table.highWatermark[partition],
      hasEnoughReplicas: (partition) =>
        table.effectiveMinInSync(partition) <= table.maximalSize[partition],
    })
    const { replicaLagTimeMaxMs, isrExpandCriterion } = config
    const { sight } = options
    const context = { table, progress, brokers, replicaLagTimeMaxMs, sight }
    this.#offsets = new CommittedOffsets(context, this.#acks)
    this.#changes = new IsrChanges({
      ...context,
      outsiders,
      gauges: this.#gauges,
      sender: this.#sender,
      offsets: this.#offsets,
      brokerEpoch,
      isrExpandCriterion,
    })
    const sweepIntervalMs = config.outsiderSweepIntervalMs ?? outsiderSweepIntervalDefaultMs
    this.#sweep = new OutsiderSweep(outsiders, this.#changes, sweepIntervalMs)
  }

  /**
   * This broker leads the partition by metadata (Kafka: `Partition.makeLeader`). A registration
   * with an older partition epoch is dropped; one with the same is taken, because the answer to a
   * proposal may have come before the metadata that tells the same.
   * One rule is stricter than Kafka's: metadata that only repeats the partition epoch we know does
   * not end a pending proposal, whose own outcome it cannot contain. Ending it would let the high
   * watermark pass a replica that the controller is just taking into the ISR.
   * `local` matters when this broker was not the leader; a leader knows better itself.
   */
  makeLeader(
    registration: PartitionRegistration,
    local: LocalLog,
    minInsyncReplicas: number,
    nowMs: number,
  ): MakeLeaderResult {
    const table = this.#table
    const { index: partition } = registration
    invariant(registration.leader === this.#brokerId, 'a leader is made of the registered leader')
    invariant(partition >= 0 && partition < table.partitionsMax, () => `partition ${partition}`)
    invariant(this.#fetcher === brokerNone, 'metadata is applied between fetches')
    const isNewLeader = table.leading[partition] === 0
    if (registration.partitionEpoch < table.partitionEpoch[partition]) {
      return this.#leaderMade(partition, {
        accepted: false,
        isNewLeader: false,
        isNewLeaderEpoch: false,
      })
    }
    const isNewLeaderEpoch = registration.leaderEpoch > table.leaderEpoch[partition]
    const isRepeat =
      !isNewLeader &&
      !isNewLeaderEpoch &&
      registration.partitionEpoch === table.partitionEpoch[partition]
    if (isNewLeader) this.#startTenure(partition, local)
    assignSlots(this.#parts, registration)
    table.minInSync[partition] = Math.min(minInsyncReplicas, 255)
    if (isNewLeader || isNewLeaderEpoch) {
      table.leaderEpochStartOffset[partition] = table.logEndOffset[partition]
      resetReplicas(this.#parts, registration, isNewLeader, nowMs)
    }
    table.leaderEpoch[partition] = registration.leaderEpoch
    table.partitionEpoch[partition] = registration.partitionEpoch
    const isr = registration.inSyncReplicas
    if (isNewLeader) this.#changes.apply(partition, committedIsr([...isr], 'recovered'))
    else if (isRepeat && table.pending[partition] === 1) this.#changes.refresh(partition)
    else this.#changes.applyMetadata(partition, isr, nowMs)
    this.#offsets.maybeAdvance(partition, nowMs)
    return this.#leaderMade(partition, { accepted: true, isNewLeader, isNewLeaderEpoch })
  }

  /**
   * Another broker leads the partition, or none (Kafka: `Partition.makeFollower`): drops what a
   * leader knows; whoever waits gets NOT_LEADER_OR_FOLLOWER. The caller restarts its fetching
   * exactly when `isNewLeaderEpoch`, whether or not the leader is another one (KAFKA-7164).
   */
  makeFollower(registration: PartitionRegistration): MakeFollowerResult {
    const table = this.#table
    const { index: partition } = registration
    if (registration.partitionEpoch < table.partitionEpoch[partition]) {
      return { accepted: false, isNewLeaderEpoch: false }
    }
    const isNewLeaderEpoch = registration.leaderEpoch > table.leaderEpoch[partition]
    this.resign(partition)
    table.leaderEpoch[partition] = registration.leaderEpoch
    table.partitionEpoch[partition] = registration.partitionEpoch
    return { accepted: true, isNewLeaderEpoch }
  }

  /** Leads no more: became follower, deleted, or its log failed. Fails what waits. */
  resign(partition: PartitionIndex): void {
    invariant(this.#fetcher === brokerNone, 'metadata is applied between fetches')
    if (this.#table.leading[partition] === 0) return
    this.#acks.failAll(partition, notLeader)
    forgetOutsiders(this.#parts, partition)
    this.#table.stopLeading(partition)
    this.#gauges.refresh(partition)
  }

  isLeader(partition: PartitionIndex): boolean {
    return this.#table.leading[partition] === 1
  }

  /** Of the last accepted metadata, led or not; -1: none. */
  leaderEpoch(partition: PartitionIndex): LeaderEpoch {
    return this.#table.leaderEpoch[partition]
  }

  partitionEpoch(partition: PartitionIndex): PartitionEpoch {
    return this.#table.partitionEpoch[partition]
  }

  highWatermark(partition: PartitionIndex): Offset {
    return this.#table.highWatermark[partition]
  }

  logEndOffset(partition: PartitionIndex): Offset {
    return this.#table.logEndOffset[partition]
  }

  /** Partitions led now. */
  get leaderCount(): number {
    return this.#table.count
  }

  /** Before an append: 0, or the number of the error to answer. */
  admission(partition: PartitionIndex, acks: number): number {
    if (acks !== -1 && acks !== 0 && acks !== 1) return invalidRequiredAcks
    if (this.#table.leading[partition] !== 1) return notLeader
    if (acks === -1 && this.#table.isUnderMinInSync(partition)) return notEnoughReplicas
    return errorNumberNone
  }

  /** After a local append. O(replicas); allocates nothing. */
  appended(partition: PartitionIndex, logEndOffset: Offset, nowMs: number): void {
    const table = this.#table
    const old = table.logEndOffset[partition]
    invariant(table.leading[partition] === 1 && logEndOffset > old, 'a leader appends records')
    invariant(this.#fetcher === brokerNone, 'a fetch sees one log end')
    this.#progress.leaderAppends(partition, old, logEndOffset)
    table.logEndOffset[partition] = logEndOffset
    this.#offsets.maybeAdvance(partition, nowMs)
  }

  /**
   * One poll of a follower begins: it covers every partition that the follower follows from us,
   * though only those whose log end offset changed since the follower last said are reported.
   *
   * @returns false when an earlier incarnation of the broker speaks (KIP-903): nothing may follow.
   */
  beginFetch(follower: BrokerId, brokerEpoch: BrokerEpoch, fetchTimeMs: number): boolean {
    invariant(this.#fetcher === brokerNone, 'one fetch at a time')
    if (isStaleIncarnation(this.#brokers, follower, brokerEpoch)) return false
    this.#progress.beginPoll(follower, brokerEpoch, fetchTimeMs)
    this.#fetcher = follower
    this.#fetchTimeMs = fetchTimeMs
    return true
  }

  /**
   * The follower's log end offset in a partition; O(replicas). It may be lower than before
   * (truncated), but doesn't fall within one fetch. Not to be told of a diverging or failed fetch
   * (KAFKA-13141).
   *
   * @param leaderEpoch the epoch in which the follower follows; -1: not stated, not checked.
   * @returns 0, or the error number with which nothing changed.
   */
  fetched(partition: PartitionIndex, logEndOffset: Offset, leaderEpoch: LeaderEpoch = -1): number {
    const table = this.#table
    const fetcher = this.#fetcher
    invariant(fetcher !== brokerNone, 'a report is part of a fetch')
    if (leaderEpoch !== -1) {
      if (table.leaderEpoch[partition] > leaderEpoch) return fencedLeaderEpoch
      if (table.leaderEpoch[partition] < leaderEpoch) return unknownLeaderEpoch
    }
    if (table.leading[partition] !== 1) return notLeader
    const slot = table.slotOf(partition, fetcher)
    if (slot < 0) return leaderEpoch === -1 ? notLeader : unknownLeaderEpoch
    const index = partition * replicaStride + slot
    const oldEndOffset = this.#progress.logEndOffset[index]
    this.#progress.report(partition, index, logEndOffset)
    // Joining is decided on the high watermark before this fetch moves it; then it bounds that.
    if ((table.committedMask[partition] & (1 << slot)) === 0) {
      this.#changes.polledOutside(partition, index, this.#fetchTimeMs)
    }
    if (logEndOffset !== oldEndOffset) {
      this.#offsets.maybeAdvance(partition, this.#fetchTimeMs)
    }
    return errorNumberNone
  }

  /** Ends the fetch; looks at the follower's unreported partitions outside the ISR. */
  endFetch(): void {
    const follower = this.#fetcher
    invariant(follower !== brokerNone, 'a fetch was begun')
    this.#sweep.maybeSweep(follower, this.#fetchTimeMs)
    this.#fetcher = brokerNone
  }

  /**
   * Every half `replicaLagTimeMaxMs`, the first time at once; returns the proposals made. A high
   * watermark waits for an outsider that is caught up by time: it may be silent since.
   */
  checkInSyncReplicas(nowMs: number): number {
    let proposals = 0
    for (let place = 0; place < this.#table.count; place += 1) {
      const partition = this.#table.partitionAt(place)
      if (this.#changes.maybeShrink(partition, nowMs)) proposals += 1
      this.#offsets.maybeAdvance(partition, nowMs)
    }
    this.#changes.checked(nowMs)
    return proposals
  }

  /** The next request to the controller, if there is one to send. One at a time is under way. */
  takeAlterPartitionRequest(nowMs: number): AlterPartitionRequest | undefined {
    return this.#sender.takeRequest(this.#brokerId, this.#brokerEpoch, nowMs)
  }

  onAlterPartitionResponse(response: AlterPartitionResponse, nowMs: number): void {
    this.#sender.onResponse(response, this.#changes, nowMs)
  }

  /** The controller went away or another came: the request under way is sent again. */
  onControllerLost(nowMs: number): void {
    this.#sender.onConnectionLost(nowMs)
  }

  /**
   * An acks=all producer waits until the high watermark reaches `requiredOffset` (last offset +
   * 1).
   */
  wait(
    partition: PartitionIndex,
    requiredOffset: Offset,
    producerSlot: number,
    ticket: number,
    deadlineMs: number,
    baseOffset: Offset = -1,
  ): void {
    if (this.#table.leading[partition] !== 1) {
      this.#acks.refuse(partition, producerSlot, ticket, notLeader, baseOffset)
      return
    }
    this.#acks.wait(partition, requiredOffset, producerSlot, ticket, deadlineMs, baseOffset)
  }

  /** Waiters past their deadline get REQUEST_TIMED_OUT. Cheap to call often. */
  expire(nowMs: number): void {
    this.#acks.expire(nowMs)
  }

  /** Tells of every waiter completed since; returns how many. After each change of state. */
  takeCompleted(visitor: CompletionVisitor): number {
    return this.#acks.takeCompleted(visitor)
  }

  /** Tells of every partition whose high watermark moved since the last call, once. */
  takeAdvanced(visitor: AdvanceVisitor): number {
    return this.#offsets.takeAdvanced(visitor)
  }

  takeEvents(): ReplicationEvent[] {
    return this.#changes.takeEvents()
  }

  /** @returns undefined when we don't lead the partition or the broker is no replica of it. */
  lag(partition: PartitionIndex, follower: BrokerId, nowMs: number): FollowerLag | undefined {
    return lagOf(this.#parts, partition, follower, nowMs)
  }

  /** @returns undefined when we don't lead the partition. */
  describe(partition: PartitionIndex, nowMs: number): LeaderDescription | undefined {
    return describeLeader(this.#parts, partition, nowMs)
  }

  /** Counts since the start, and gauges as of now. */
  get counters() {
    return {
      isrShrinks: this.#changes.isrShrinks,
      isrExpands: this.#changes.isrExpands,
      failedIsrUpdates: this.#changes.failedIsrUpdates,
      highWatermarkAdvances: this.#offsets.advanceCount,
      acksExpired: this.#acks.expiredCount,
      acksWaiting: this.#acks.waitingCount,
      leaderCount: this.#table.count,
      underReplicated: this.#gauges.underReplicated,
      underMinInSync: this.#gauges.underMinInSync,
      atMinInSync: this.#gauges.atMinInSync,
      proposalsUnanswered: this.#sender.size,
    } as const
  }

  #startTenure(partition: PartitionIndex, local: LocalLog): void {
    const table = this.#table
    table.startLeading(partition)
    table.logEndOffset[partition] = local.logEndOffset
    const highWatermark = Math.min(local.highWatermark, local.logEndOffset)
    table.highWatermark[partition] = Math.max(0, highWatermark)
  }

  #leaderMade(
    partition: PartitionIndex,
    result: Omit<MakeLeaderResult, 'leaderEpochStartOffset'>,
  ): MakeLeaderResult {
    return { ...result, leaderEpochStartOffset: this.#table.leaderEpochStartOffset[partition] }
  }
}
