/**
 * Changes of the in-sync replicas of led partitions: decides proposals, takes answers and
 * metadata, and tells what happened. Decision and proposal come from one look at the state
 * (KAFKA-15221).
 */
import type { ErrorCode } from '../errors.ts'
import type { BrokerEpoch, BrokerId, PartitionIndex } from '../ids.ts'
import { invariant } from '../invariant.ts'
import type { AlterPartitionSender, ProposalReceiver } from './alter-partition-sender.ts'
import type { CommittedOffsets } from './committed-offsets.ts'
import { brokerEpochNone, type FollowerProgress } from './follower-progress.ts'
import { type ExpandCriterion, hasReachedCommitted, isCaughtUp } from './in-sync-rules.ts'
import type { IsrGauges } from './isr-gauges.ts'
import {
  committedInSyncReplicas,
  committedIsr,
  type IsrState,
  isPending,
  isSameIsr,
  outcomeOfRefusal,
  type PendingIsr,
} from './isr-state.ts'
import { type FollowerSight, LaggingReplicas } from './lagging-replicas.ts'
import { type LedPartitions, replicaStride } from './led-partitions.ts'
import type { AlterPartitionItem, AlterPartitionItemResult } from './messages.ts'
import type { Outsiders } from './outsiders.ts'
import type { BrokerView, LeaderRecoveryState } from './registration.ts'
import { isEligibleReplica } from './replica-eligibility.ts'
import type { IsrCommitted, LaggingReplica, ReplicationEvent } from './replication-event.ts'

export interface IsrChangesParts {
  readonly table: LedPartitions
  readonly progress: FollowerProgress
  readonly outsiders: Outsiders
  readonly gauges: IsrGauges
  readonly sight: FollowerSight | undefined
  readonly sender: AlterPartitionSender
  readonly offsets: CommittedOffsets
  readonly brokers: BrokerView
  readonly brokerEpoch: () => BrokerEpoch
  readonly replicaLagTimeMaxMs: number
  readonly isrExpandCriterion: ExpandCriterion
}

export class IsrChanges implements ProposalReceiver {
  /**
   * Committed proposals of ours, one each whatever the number of replicas (Kafka:
   * IsrShrinksPerSec).
   */
  isrShrinks = 0
  isrExpands = 0
  /** Refusals, and answers ignored for old epochs (Kafka: FailedIsrUpdatesPerSec). */
  failedIsrUpdates = 0

  readonly #parts: IsrChangesParts
  readonly #lagging: LaggingReplicas
  #events: ReplicationEvent[] = []
  /** Of proposed shrinks, until they are answered. */
  readonly #leaving = new Map<PartitionIndex, readonly LaggingReplica[]>()

  constructor(parts: IsrChangesParts) {
    this.#parts = parts
    this.#lagging = new LaggingReplicas(parts)
  }

  takeEvents(): ReplicationEvent[] {
    const events = this.#events
    if (events.length > 0) this.#events = []
    return events
  }

  /** The only way the ISR state of a led partition changes. */
  apply(partition: PartitionIndex, state: IsrState): void {
    const { table, outsiders, gauges } = this.#parts
    table.setIsr(partition, state)
    const first = partition * replicaStride
    for (let slot = 0; slot < table.followerCount[partition]; slot += 1) {
      const broker = table.follower[first + slot] as BrokerId
      const isMember = (table.committedMask[partition] & (1 << slot)) !== 0
      if (isMember) outsiders.remove(broker, first + slot)
      else outsiders.add(broker, first + slot)
    }
    gauges.refresh(partition)
  }

  /** The slots or the minimum changed, the state did not. */
  refresh(partition: PartitionIndex): void {
    this.apply(partition, this.#parts.table.isrOf(partition))
  }

  /** Metadata of the same tenure replaces whatever was believed, and pending with it. */
  applyMetadata(partition: PartitionIndex, isr: readonly BrokerId[], nowMs: number): void {
    const old = this.#parts.table.isrOf(partition)
    this.apply(partition, committedIsr([...isr], 'recovered'))
    if (isSameIsr(committedInSyncReplicas(old), isr)) return
    const isOurs = isPending(old) && isSameIsr(proposedIsr(old), isr)
    if (isOurs) this.#countCommitted(old)
    this.#tellCommitted(partition, old, { via: 'metadata', isOurs, nowMs })
  }

  /**
   * Within a poll, for a replica outside the committed ISR: notes that it reached the log end, and
   * proposes to take it in when the criterion holds (Kafka: `Partition.maybeExpandIsr`).
   */
  polledOutside(partition: PartitionIndex, index: number, nowMs: number): void {
    const { progress, outsiders, table, replicaLagTimeMaxMs } = this.#parts
    const isLogEndNeeded = this.#parts.isrExpandCriterion === 'log.end.offset'
    const isPendingNow = table.pending[partition] === 1
    if (isPendingNow && outsiders.hasReachedEnd(index)) return
    const caughtUpCase = progress.caughtUpCase(partition, index, replicaLagTimeMaxMs)
    if (caughtUpCase !== 0 && outsiders.reachesEnd(index)) {
      this.#tellReachedEnd(partition, index, caughtUpCase, nowMs)
    }
    if (isPendingNow || (isLogEndNeeded && caughtUpCase === 0)) return
    if (!this.#mayJoin(partition, index)) return
    this.#proposeExpand(partition, index, caughtUpCase, nowMs)
  }

  /**
   * Kafka: `Partition.maybeShrinkIsr`. All that are out of sync go into one proposal; no lower
   * bound.
   */
  maybeShrink(partition: PartitionIndex, nowMs: number): boolean {
    const { table, progress, sender, replicaLagTimeMaxMs } = this.#parts
    if (table.pending[partition] === 1) return false
    const mask = table.committedMask[partition]
    const first = partition * replicaStride
    let outMask = 0
    for (let slot = 0; slot < table.followerCount[partition]; slot += 1) {
      if ((mask & (1 << slot)) === 0) continue
      const ageMs = nowMs - progress.caughtUpTimeMs(partition, first + slot)
      const offset = progress.logEndOffset[first + slot]
      if (isCaughtUp(offset, table.logEndOffset[partition], ageMs, replicaLagTimeMaxMs)) continue
      outMask |= 1 << slot
    }
    if (outMask === 0 && table.strangers[partition] === 0) return false
    if (sender.has(partition)) return false
    this.#proposeShrink(partition, outMask, nowMs)
    return true
  }

  /** All partitions were looked at: where the replicas are now is what rates count from. */
  checked(nowMs: number): void {
    this.#lagging.note(nowMs)
  }

  proposalAnswered(
    item: AlterPartitionItem,
    result: AlterPartitionItemResult,
    nowMs: number,
  ): void {
    const { table, offsets } = this.#parts
    const { partition } = item
    const state = table.isrOf(partition)
    // Metadata replaced the state meanwhile, or we lead no more: the answer is about the past.
    if (!isPending(state) || state.proposal !== item) return
    if (result.error !== 'NONE') {
      this.#refused(state, result.error, nowMs)
      return
    }
    const isOld =
      result.leaderEpoch !== table.leaderEpoch[partition] ||
      result.partitionEpoch < table.partitionEpoch[partition]
    if (isOld) {
      this.failedIsrUpdates += 1
      this.#tellRejected(state, 'NONE', nowMs)
      return
    }
    this.apply(partition, committedIsr([...result.inSyncReplicas], result.leaderRecoveryState))
    table.partitionEpoch[partition] = result.partitionEpoch
    this.#countCommitted(state)
    this.#tellCommitted(partition, state, { via: 'response', isOurs: true, nowMs })
    offsets.maybeAdvance(partition, nowMs)
  }

  #refused(state: PendingIsr, error: ErrorCode, nowMs: number): void {
    this.failedIsrUpdates += 1
    this.#tellRejected(state, error, nowMs)
    const outcome = outcomeOfRefusal(error)
    if (outcome === 'reverted') this.apply(state.proposal.partition, state.lastCommitted)
    if (outcome === 'resubmitted') this.#parts.sender.trySubmit(state.proposal)
  }

  #mayJoin(partition: PartitionIndex, index: number): boolean {
    const { table, progress, brokers, sender } = this.#parts
    const isThere = hasReachedCommitted(
      progress.logEndOffset[index],
      table.highWatermark[partition],
      table.leaderEpochStartOffset[partition],
    )
    if (!isThere || sender.has(partition)) return false
    return isEligibleReplica(
      brokers,
      table.follower[index] as BrokerId,
      progress.brokerEpoch[index],
    )
  }

  #proposeExpand(
    partition: PartitionIndex,
    index: number,
    caughtUpCase: 0 | 1 | 2,
    nowMs: number,
  ): void {
    const { table, progress, isrExpandCriterion } = this.#parts
    const lastCommitted = table.isrOf(partition)
    if (isPending(lastCommitted)) return
    const added = table.follower[index] as BrokerId
    const proposed = [...lastCommitted.inSyncReplicas, added]
    this.#events.push({
      type: 'expandProposed',
      cause: isrExpandCriterion,
      ...this.#numbers(partition, nowMs),
      brokerId: added,
      brokerEpoch: progress.brokerEpoch[index],
      followerLogEndOffset: progress.logEndOffset[index],
      leaderEpochStartOffset: table.leaderEpochStartOffset[partition],
      caughtUpCase,
      proposed,
    })
    const proposal = this.#proposal(partition, proposed, lastCommitted.leaderRecoveryState)
    this.#submit({ kind: 'pendingExpand', lastCommitted, added, proposal })
  }

  #proposeShrink(partition: PartitionIndex, outMask: number, nowMs: number): void {
    const { table, replicaLagTimeMaxMs } = this.#parts
    const lastCommitted = table.isrOf(partition)
    if (isPending(lastCommitted)) return
    const removed = table.strangersOf(partition)
    for (let slot = 0; slot < table.followerCount[partition]; slot += 1) {
      if ((outMask & (1 << slot)) === 0) continue
      removed.push(table.follower[partition * replicaStride + slot] as BrokerId)
    }
    const proposed = lastCommitted.inSyncReplicas.filter((broker) => !removed.includes(broker))
    const lagging = removed.map((broker) => this.#lagging.describe(partition, broker, nowMs))
    this.#leaving.set(partition, lagging)
    this.#events.push({
      type: 'shrinkProposed',
      cause: 'notCaughtUp',
      ...this.#numbers(partition, nowMs),
      lagging,
      replicaLagTimeMaxMs,
      proposed,
    })
    const proposal = this.#proposal(partition, proposed, lastCommitted.leaderRecoveryState)
    this.#submit({ kind: 'pendingShrink', lastCommitted, removed, proposal })
  }

  /** Pending first, then the sender; it has no item of this partition, the callers have looked. */
  #submit(state: PendingIsr): void {
    this.apply(state.proposal.partition, state)
    const isTaken = this.#parts.sender.trySubmit(state.proposal)
    invariant(isTaken, 'one proposal of a partition at a time')
  }

  #proposal(
    partition: PartitionIndex,
    proposed: readonly BrokerId[],
    leaderRecoveryState: LeaderRecoveryState,
  ): AlterPartitionItem {
    const { table } = this.#parts
    return {
      partition,
      leaderEpoch: table.leaderEpoch[partition],
      partitionEpoch: table.partitionEpoch[partition],
      newInSyncReplicas: proposed.map((brokerId) => ({
        brokerId,
        brokerEpoch: this.#statedEpoch(partition, brokerId),
      })),
      leaderRecoveryState,
    }
  }

  /**
   * -1 for a member that has not fetched from this leader. The controller then skips the check,
   * which is safe: a member that restarted was removed by it, so the partition epoch would not
   * match.
   */
  #statedEpoch(partition: PartitionIndex, broker: BrokerId): BrokerEpoch {
    const { table, progress, brokerEpoch } = this.#parts
    if (broker === table.self) return brokerEpoch()
    const slot = table.slotOf(partition, broker)
    const epoch = slot < 0 ? -1 : progress.brokerEpoch[partition * replicaStride + slot]
    return epoch === brokerEpochNone ? -1 : epoch
  }

  #countCommitted(state: PendingIsr): void {
    if (state.kind === 'pendingExpand') this.isrExpands += 1
    else this.isrShrinks += 1
  }

  #numbers(partition: PartitionIndex, nowMs: number) {
    const { table } = this.#parts
    return {
      partition,
      atMs: nowMs,
      leader: table.self,
      leaderEpoch: table.leaderEpoch[partition],
      partitionEpoch: table.partitionEpoch[partition],
      logEndOffset: table.logEndOffset[partition],
      highWatermark: table.highWatermark[partition],
      inSyncReplicas: committedInSyncReplicas(table.isrOf(partition)),
    }
  }

  #tellCommitted(
    partition: PartitionIndex,
    old: IsrState,
    how: { via: IsrCommitted['via']; isOurs: boolean; nowMs: number },
  ): void {
    const previous = committedInSyncReplicas(old)
    const numbers = this.#numbers(partition, how.nowMs)
    const left = previous.filter((broker) => !numbers.inSyncReplicas.includes(broker))
    const proposed = this.#leaving.get(partition)
    this.#leaving.delete(partition)
    const known = how.isOurs ? proposed : undefined
    this.#events.push({
      type: left.length > 0 ? 'shrinkCommitted' : 'expandCommitted',
      ...numbers,
      previous,
      via: how.via,
      cause: how.isOurs ? 'proposal' : 'controller',
      left: known ?? left.map((broker) => this.#lagging.describe(partition, broker, how.nowMs)),
      joined: numbers.inSyncReplicas.filter((broker) => !previous.includes(broker)),
    })
  }

  #tellRejected(state: PendingIsr, error: ErrorCode | 'NONE', nowMs: number): void {
    this.#events.push({
      type: 'rejected',
      ...this.#numbers(state.proposal.partition, nowMs),
      proposal: state.kind === 'pendingExpand' ? 'expand' : 'shrink',
      proposed: proposedIsr(state),
      error,
      outcome: error === 'NONE' ? 'awaitingMetadata' : outcomeOfRefusal(error),
    })
  }

  #tellReachedEnd(
    partition: PartitionIndex,
    index: number,
    caughtUpCase: 1 | 2,
    nowMs: number,
  ): void {
    const { table, progress } = this.#parts
    this.#events.push({
      type: 'reachedLogEnd',
      ...this.#numbers(partition, nowMs),
      brokerId: table.follower[index] as BrokerId,
      followerLogEndOffset: progress.logEndOffset[index],
      caughtUpCase,
    })
  }
}

function proposedIsr(state: PendingIsr): BrokerId[] {
  return state.proposal.newInSyncReplicas.map((replica) => replica.brokerId)
}
