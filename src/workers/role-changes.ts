/**
 * RoleChanges: what the metadata says of a partition, applied to this broker: lead it, follow
 * somebody, or neither. A bounded number a step, so that thousands of partitions can change hands
 * under load. Sources: Kafka's `Partition.makeLeader`, `makeFollower`, `ReplicaManager.applyDelta`.
 */
import path from 'node:path'
import type { Clock } from '../clock.ts'
import { isTidemarkError } from '../errors.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import type { FileSystem } from '../log/file-system.ts'
import { epochEndOf, readLeaderEpochs } from '../log/leader-epochs.ts'
import { findDivergence } from '../replication/divergence.ts'
import type { PartitionLeaders } from '../replication/partition-leaders.ts'
import type { PartitionRegistration } from '../replication/registration.ts'
import type { CatchUp } from './catch-up.ts'
import type { ControllerLink } from './controller-link.ts'
import { cut, type FaultWords } from './fault-words.ts'
import type { FollowedPartitions } from './followed-partitions.ts'
import type { LeaderOffsets } from './leader-offsets.ts'
import { type PartitionStore, partitionName } from './partition-store.ts'
import type { ProgressBoard } from './progress-board.ts'

const changesPerStepMax = 64
/** Each writes or reads a small file: when the disk is slow, fewer fit in a step. */
const stepMsMax = 10

export interface RoleChangesParts {
  readonly brokerId: BrokerId
  readonly board: ProgressBoard
  readonly faults: FaultWords
  readonly link: ControllerLink
  readonly leaders: PartitionLeaders
  readonly followed: FollowedPartitions
  readonly store: PartitionStore
  readonly offsets: LeaderOffsets
  readonly catchUp: CatchUp
  readonly brokerDirectory: (broker: BrokerId) => string
  readonly fs: FileSystem
  readonly clock: Clock
  /**
   * Tells the leader this broker's end offset of a partition, when it is not the ring that does.
   */
  readonly report: (partition: PartitionIndex) => void
  readonly config: { readonly 'replica.lag.time.max.ms': number }
}

export class RoleChanges {
  readonly #parts: RoleChangesParts
  /** For so long, at most, reads of leaders' files wait while partitions change hands. */
  readonly #readsWaitMsMax: number
  #isSwept = false
  /** Partitions that changed hands in this step. */
  #handedOver = 0
  /** Since when some do so in every step; -1: none did in the last. */
  #handingOverSinceMs = -1

  constructor(parts: RoleChangesParts) {
    this.#parts = parts
    this.#readsWaitMsMax = parts.config['replica.lag.time.max.ms'] / 2
  }

  get hasWork(): boolean {
    const { link, followed } = this.#parts
    const areThereChanges = link.changed.size + link.changedTopics.size > 0
    return (link.isRegistered && areThereChanges) || followed.waiting.size > 0
  }

  /** @returns how much was done */
  step(nowMs: number): number {
    this.#handedOver = 0
    const done = this.hasWork ? this.#applyChanges(nowMs) + this.#beginFollowing() : 0
    if (this.#handedOver === 0) this.#handingOverSinceMs = -1
    else if (this.#handingOverSinceMs < 0) this.#handingOverSinceMs = nowMs
    return done
  }

  /**
   * First all partitions are followed, then they are read: both take turns badly. But what else
   * changes of a partition, its in-sync replicas or its settings, may do so in every single step,
   * and the reads of one that is behind must not wait for an end of that; nor for ever at all.
   */
  letsRead(nowMs: number): boolean {
    const sinceMs = this.#handingOverSinceMs
    return sinceMs < 0 || nowMs - sinceMs > this.#readsWaitMsMax
  }

  /** One at least, and no more than the rest of the broker can wait for. */
  #isOver(done: number, sinceMs: number): boolean {
    return done > 0 && this.#parts.clock.nowMs() - sinceMs >= stepMsMax
  }

  #applyChanges(nowMs: number): number {
    const { link } = this.#parts
    if (!link.isRegistered) return 0
    this.#sweep()
    // All at once: a minimum of in-sync replicas must count here before the controller's answer to
    // a proposal made under the new one does.
    let applied = this.#applySettings(nowMs)
    for (const index of link.changed) {
      if (applied === changesPerStepMax || this.#isOver(applied, nowMs)) break
      link.changed.delete(index)
      const registration = link.image.partition(index)
      if (registration === undefined) this.#remove(index)
      else this.#apply(registration, nowMs)
      applied++
    }
    return applied
  }

  /** Once, with all metadata that there was at the registration. */
  #sweep(): void {
    if (this.#isSwept) return
    const { link, store } = this.#parts
    store.doomedDirectories.sweep(link.image)
    this.#isSwept = true
  }

  #applySettings(nowMs: number): number {
    const { brokerId, link, leaders, store } = this.#parts
    if (link.changedTopics.size === 0) return 0
    for (const topic of link.changedTopics) {
      const entries = link.image.topicConfigs(topic)
      for (const index of link.image.topicNamed(topic)?.partitions.values() ?? []) {
        if (!store.has(index)) continue
        store.configure(index, entries)
        const registration = link.image.partition(index)
        const leads = leaders.isLeader(index) && registration?.leader === brokerId
        if (leads) this.#lead(registration, nowMs)
      }
    }
    link.changedTopics.clear()
    return 1
  }

  #apply(registration: PartitionRegistration, nowMs: number): void {
    const { brokerId, link, store } = this.#parts
    if (!registration.replicas.includes(brokerId)) {
      this.#remove(registration.index)
      return
    }
    try {
      store.open(registration, link.image.topicConfigs(registration.topic))
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      this.#stop(registration.index)
      store.noteFailure(registration.index, error)
      return
    }
    if (registration.leader === brokerId) this.#lead(registration, nowMs)
    else this.#follow(registration)
  }

  #lead(registration: PartitionRegistration, nowMs: number): void {
    const { brokerId, board, leaders, followed, store, catchUp } = this.#parts
    const { index, leaderEpoch } = registration
    const { log, config } = store.stored(index)
    const local = { logEndOffset: log.logEndOffset, highWatermark: store.highWatermark(index) }
    const minInSync = config['min.insync.replicas']
    const made = leaders.makeLeader(registration, local, minInSync, nowMs)
    if (!made.accepted) return
    if (made.isNewLeaderEpoch) this.#handedOver++
    if (made.isNewLeader) {
      // A failed append may have left records that the word doesn't tell of.
      board.setLogEndOffset(brokerId, index, log.logEndOffset)
      followed.stop(index)
      catchUp.forget(index)
      board.setFollowedEpoch(brokerId, index, -1)
    }
    // Before any record: a follower with a larger epoch of its own must find where it ends
    // (KAFKA-7415).
    if (made.isNewLeaderEpoch) {
      log.leaderEpochs.begin(leaderEpoch, log.logEndOffset)
      board.setLedEpoch(brokerId, index, leaderEpoch)
    }
  }

  #follow(registration: PartitionRegistration): void {
    const { brokerId, board, leaders, followed, catchUp } = this.#parts
    const { index, leader, leaderEpoch } = registration
    if (leaders.isLeader(index)) {
      // A change that is older than what this broker leads by is dropped; the epochs decide.
      if (leaders.leaderEpoch(index) >= leaderEpoch) return
      leaders.resign(index)
      board.setLedEpoch(brokerId, index, -1)
    }
    if (this.#isLeaving(registration)) {
      followed.stop(index)
      board.setFollowedEpoch(brokerId, index, -1)
      return
    }
    // Every rise of the epoch begins anew, though the leader be the same (KAFKA-7164); nothing else
    // does.
    if (followed.leaderEpoch[index]! >= leaderEpoch) return
    board.setFollowedEpoch(brokerId, index, -1)
    catchUp.forget(index)
    followed.follow(index, leader, leaderEpoch)
    this.#handedOver++
  }

  /**
   * In a controlled shutdown it fetches no more what it is out of sync in, or it would only join
   * again (Kafka: `ReplicaManager.applyLocalFollowersDelta`).
   */
  #isLeaving({ leader, inSyncReplicas }: PartitionRegistration): boolean {
    const { brokerId, link } = this.#parts
    if (link.image.broker(brokerId)?.inControlledShutdown !== true) return false
    return leader < 1 || !inSyncReplicas.includes(brokerId)
  }

  /** The topic is gone, or the replica has moved (Kafka: `ReplicaManager.stopPartitions`). */
  #remove(partition: PartitionIndex): void {
    const { catchUp, store } = this.#parts
    this.#stop(partition)
    catchUp.forget(partition)
    store.remove(partition)
  }

  #stop(partition: PartitionIndex): void {
    const { brokerId, board, leaders, followed } = this.#parts
    if (leaders.isLeader(partition)) leaders.resign(partition)
    followed.stop(partition)
    board.setLedEpoch(brokerId, partition, -1)
    board.setFollowedEpoch(brokerId, partition, -1)
  }

  /** Partitions whose leader has begun its epoch: cut what diverges, then append. */
  #beginFollowing(): number {
    const { board, followed, faults, brokerId, clock } = this.#parts
    const sinceMs = clock.nowMs()
    let begun = 0
    for (const partition of followed.waiting) {
      if (begun === changesPerStepMax || this.#isOver(begun, sinceMs)) break
      const leader = followed.leader[partition]! as BrokerId
      if (board.ledEpoch(leader, partition) !== followed.leaderEpoch[partition]) continue
      if (faults.fetchCut(leader, brokerId) !== cut.nothing) continue
      this.#begin(partition, leader)
      begun++
    }
    this.#handedOver += begun
    return begun
  }

  #begin(partition: PartitionIndex, leader: BrokerId): void {
    const { brokerId, board, followed, store, offsets, report } = this.#parts
    try {
      const leaderEndOffset = board.logEndOffset(leader, partition)
      this.#reconcile(partition, leader, leaderEndOffset)
      followed.begin(partition, leaderEndOffset)
      board.setFollowedEpoch(brokerId, partition, followed.leaderEpoch[partition]!)
      offsets.follow(partition, leader)
      if (store.log(partition).logEndOffset < leaderEndOffset) followed.markBehind(partition)
      report(partition)
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      followed.fail(partition)
      store.noteFailure(partition, error)
    }
  }

  /** In at most as many rounds as epochs differ. */
  #reconcile(partition: PartitionIndex, leader: BrokerId, leaderEndOffset: number): void {
    const { store, followed, brokerDirectory, fs } = this.#parts
    const { topic, partition: number, log } = store.stored(partition)
    if (log.logEndOffset === 0) {
      // An epoch that it led without a record must go: the leader's may be of older ones
      // (Kafka: `UnifiedLog.truncateTo`).
      if (log.leaderEpochs.latest !== -1) store.truncateTo(partition, 0)
      return
    }
    const directory = path.join(brokerDirectory(leader), partitionName(topic, number))
    const history = readLeaderEpochs(directory, fs)
    // One that has no record yet isn't in the file. The end offset was read before the file was.
    const leaderEpoch = followed.leaderEpoch[partition]!
    if ((history.at(-1)?.leaderEpoch ?? -1) < leaderEpoch) {
      history.push({ leaderEpoch, startOffset: leaderEndOffset })
    }
    for (;;) {
      const latestEpoch = log.leaderEpochs.latest
      const follower = {
        logEndOffset: log.logEndOffset,
        highWatermark: store.highWatermark(partition),
        latestEpoch,
        endOffsetFor: (epoch: number) => log.endOffsetFor(epoch),
      }
      const answer = epochEndOf(history, latestEpoch, leaderEndOffset)
      const divergence = findDivergence(follower, answer)
      if (divergence.kind === 'none') return
      store.truncateTo(partition, divergence.offset)
      if (divergence.isComplete || log.logEndOffset === 0) return
    }
  }
}
