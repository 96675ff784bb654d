/**
 * The invariants that can be looked at any time, over what the controller committed and the words
 * that replicas show: cheap enough for every step of a simulation and for a running cluster.
 */
import { type BrokerId, brokerId, type PartitionIndex } from '../../ids.ts'
import type { PartitionRegistration } from '../registration.ts'
import { highWatermarkAboveMember } from './high-watermark-on-members.ts'
import { HighWatermarkRises } from './high-watermark-rises.ts'
import { inSyncFault } from './in-sync-within-replicas.ts'
import { OneLeaderAnEpoch } from './one-leader-an-epoch.ts'
import type { ReplicaWords } from './replica-words.ts'

export interface InvariantViolation {
  readonly invariant: string
  /** -1: of no single partition. */
  readonly partition: PartitionIndex | -1
  readonly detail: string
}

export class BoardInvariants {
  readonly #words: ReplicaWords
  readonly #brokers: number
  readonly #rises: HighWatermarkRises
  readonly #leaders = new OneLeaderAnEpoch()

  constructor(words: ReplicaWords, brokers: number) {
    this.#words = words
    this.#brokers = brokers
    this.#rises = new HighWatermarkRises(brokers)
  }

  /** @param registration as the controller committed it last */
  check(
    registration: PartitionRegistration,
    onViolation: (violation: InvariantViolation) => void,
  ): void {
    const { index } = registration
    const tell = (invariant: string, detail: string | undefined) => {
      if (detail !== undefined) onViolation({ invariant, partition: index, detail })
    }
    tell('in-sync-within-replicas', inSyncFault(registration))
    tell('high-watermark-on-members', highWatermarkAboveMember(registration, this.#words))
    for (let id = 1; id <= this.#brokers; id++) this.#checkLeader(brokerId(id), index, tell)
  }

  #checkLeader(
    broker: BrokerId,
    partition: PartitionIndex,
    tell: (invariant: string, detail: string | undefined) => void,
  ): void {
    const epoch = this.#words.ledEpoch(broker, partition)
    if (epoch < 0) return
    const highWatermark = this.#words.highWatermark(broker, partition)
    // In a running cluster the tenure may have ended between the two looks.
    if (this.#words.ledEpoch(broker, partition) !== epoch) return
    tell('one-leader-an-epoch', this.#leaders.observe(broker, partition, epoch))
    tell('high-watermark-rises', this.#rises.observe(broker, partition, epoch, highWatermark))
  }
}
