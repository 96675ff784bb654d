/**
 * How far each follower is, and when it was last caught up, for every partition a broker leads.
 *
 * The rule (Kafka: `Replica.updateFetchStateOrThrow`, KAFKA-4485). On a fetch at time t from
 * offset f, with the leader's log end offset L then, and with P and T the leader's log end offset
 * and the time at the fetch before:
 *
 *     1.  f >= L   caught-up time = max(old, t)      it has everything
 *     2.  f >= P   caught-up time = max(old, T)      it has what the leader had at T
 *     3.  else     unchanged
 *
 * A poll of a follower thread is a fetch of *every* partition it follows, but only those whose
 * offset changed are reported. The values are exactly those of the rule applied to all of them:
 *
 * - While f stays and f >= L, each poll is case 1, so the time is that of the follower's last poll:
 *   read from one word per follower when asked, and stored when an append makes L pass f.
 * - While f stays and f < L, a poll changes nothing: case 2 gives T, and f >= P means that the
 *   poll at T, having the same f, was case 1 already.
 * - On a reported poll case 2 needs P. The first append after a poll notes the log end offset
 *   that the poll saw, tagged with the number of the poll; no note with that tag: P = L, nothing
 *   was appended.
 * - The first poll after a reset never gains by case 2: P and T are reset so that T adds nothing.
 *
 * Cost: an append touches a few words per follower, a report likewise, a poll two words; nothing
 * scans. A follower must report a partition in its first poll after the leader reset its state
 * (new leader, new replica) and every partition in the first poll of a new incarnation; until then
 * the partition doesn't count as polled.
 */

import type { BrokerEpoch, BrokerId, Offset, PartitionIndex } from '../ids.ts'
import { limits } from '../limits.ts'
import { type LedPartitions, replicaStride } from './led-partitions.ts'

/** No fetch in this leader's tenure has stated an epoch (-1 is a legal statement: "don't know"). */
export const brokerEpochNone = -2
const offsetUnknown = -1
const pollNone = -1

export class FollowerProgress {
  /**
   * Per replica: offset of its last report; -1 unknown. May go down when the follower truncated.
   */
  readonly logEndOffset: Float64Array
  /** Per replica: epoch of the follower at its last report; `brokerEpochNone` before. */
  readonly brokerEpoch: Float64Array

  readonly #table: LedPartitions
  readonly #storedCaughtUpTimeMs: Float64Array
  /** Polls up to this number came before the last reset and say nothing. */
  readonly #resetPoll: Float64Array
  readonly #notedPoll: Float64Array
  readonly #notedLeaderEndOffset: Float64Array

  readonly #pollCount = new Float64Array(limits.brokersMax + 1)
  readonly #pollTimeMs = new Float64Array(limits.brokersMax + 1)
  readonly #previousPollTimeMs = new Float64Array(limits.brokersMax + 1)
  readonly #incarnation = new Float64Array(limits.brokersMax + 1).fill(brokerEpochNone)

  constructor(table: LedPartitions) {
    const replicas = table.partitionsMax * replicaStride
    this.#table = table
    this.logEndOffset = new Float64Array(replicas).fill(offsetUnknown)
    this.brokerEpoch = new Float64Array(replicas).fill(brokerEpochNone)
    this.#storedCaughtUpTimeMs = new Float64Array(replicas)
    this.#resetPoll = new Float64Array(replicas)
    this.#notedPoll = new Float64Array(replicas).fill(pollNone)
    this.#notedLeaderEndOffset = new Float64Array(replicas)
  }

  /** A poll begins: a fetch, at that time, of everything the follower follows from us. */
  beginPoll(broker: BrokerId, brokerEpoch: BrokerEpoch, timeMs: number): void {
    if (this.#incarnation[broker] !== brokerEpoch) this.#beginIncarnation(broker, brokerEpoch)
    this.#pollCount[broker] += 1
    this.#previousPollTimeMs[broker] = this.#pollTimeMs[broker]
    this.#pollTimeMs[broker] = timeMs
  }

  /** Within a poll: the follower's offset in one partition. O(1). */
  report(partition: PartitionIndex, index: number, offset: Offset): void {
    const broker = this.#table.follower[index]
    const stated = this.brokerEpoch[index] === this.#incarnation[broker]
    const reached = stated ? Math.max(this.logEndOffset[index], offset) : offset
    if (
      this.#wasPolledBefore(index) &&
      reached >= this.#previousLeaderEndOffset(partition, index)
    ) {
      // Case 2 of this poll, or case 1 of the one before, which is stored only now that the offset
      // moves.
      this.#raiseCaughtUpTime(index, this.#previousPollTimeMs[broker])
    }
    if (offset >= this.#table.logEndOffset[partition]) {
      this.#raiseCaughtUpTime(index, this.#pollTimeMs[broker])
    }
    this.logEndOffset[index] = offset
    this.brokerEpoch[index] = this.#incarnation[broker]
  }

  /**
   * Before the leader's log end offset moves from `endOffset` up to `newEndOffset`. O(1) a
   * follower.
   */
  leaderAppends(partition: PartitionIndex, endOffset: Offset, newEndOffset: Offset): void {
    const first = partition * replicaStride
    const end = first + this.#table.followerCount[partition]
    for (let index = first; index < end; index += 1) {
      const broker = this.#table.follower[index]
      const offset = this.logEndOffset[index]
      if (offset >= endOffset && offset < newEndOffset) this.#storeCaughtUpTime(index, broker)
      if (this.#notedPoll[index] !== this.#pollCount[broker]) {
        this.#notedPoll[index] = this.#pollCount[broker]
        this.#notedLeaderEndOffset[index] = endOffset
      }
    }
  }

  /** Of the follower's last poll; 0: it never polled. */
  lastPollTimeMs(broker: BrokerId): number {
    return this.#pollTimeMs[broker]
  }

  /** Largest time at which the replica is known to have had all that the leader had; 0: never. */
  caughtUpTimeMs(partition: PartitionIndex, index: number): number {
    const stored = this.#storedCaughtUpTimeMs[index]
    if (this.logEndOffset[index] < this.#table.logEndOffset[partition]) return stored
    const broker = this.#table.follower[index]
    return this.#isPolled(index, broker) ? Math.max(stored, this.#pollTimeMs[broker]) : stored
  }

  /** The same for a replica that is known to be below the leader's end: one word. */
  caughtUpTimeBehindMs(index: number): number {
    return this.#storedCaughtUpTimeMs[index]
  }

  /**
   * Which case of the rule the poll in progress met: 1 at the leader's end, 2 at the leader's end
   * as of the poll before, 0 neither. Unlike the rule itself it asks case 2 for a real poll
   * before, in this leader epoch and not older than `lagMaxMs`: a follower that comes back from a
   * long stop has what the leader had when it stopped, and that isn't caught up.
   */
  caughtUpCase(partition: PartitionIndex, index: number, lagMaxMs: number): 0 | 1 | 2 {
    const broker = this.#table.follower[index]
    if (!this.#isPolled(index, broker)) return 0
    const offset = this.logEndOffset[index]
    if (offset >= this.#table.logEndOffset[partition]) return 1
    if (!this.#wasPolledBefore(index)) return 0
    if (this.#pollTimeMs[broker] - this.#previousPollTimeMs[broker] > lagMaxMs) return 0
    return offset >= this.#previousLeaderEndOffset(partition, index) ? 2 : 0
  }

  /**
   * Nothing known: a new replica of a led partition (caught-up time 0), or its slot is free again.
   */
  resetUnknown(index: number, caughtUpTimeMs: number): void {
    this.logEndOffset[index] = offsetUnknown
    this.brokerEpoch[index] = brokerEpochNone
    this.resetTimes(index, caughtUpTimeMs)
  }

  /**
   * The leader was elected again: offset and epoch stay, times start anew (Kafka:
   * `resetReplicaState`).
   */
  resetTimes(index: number, caughtUpTimeMs: number): void {
    this.#storedCaughtUpTimeMs[index] = caughtUpTimeMs
    this.#resetPoll[index] = this.#pollCount[this.#table.follower[index]]
    this.#notedPoll[index] = pollNone
  }

  /** Copies a replica's words to another slot, through which they are followed from now on. */
  moveSlot(source: Readonly<ReplicaWords>, targetIndex: number): void {
    this.logEndOffset[targetIndex] = source.logEndOffset
    this.brokerEpoch[targetIndex] = source.brokerEpoch
    this.#storedCaughtUpTimeMs[targetIndex] = source.caughtUpTimeMs
    this.#resetPoll[targetIndex] = source.resetPoll
    this.#notedPoll[targetIndex] = source.notedPoll
    this.#notedLeaderEndOffset[targetIndex] = source.notedLeaderEndOffset
  }

  readSlot(index: number): ReplicaWords {
    return {
      logEndOffset: this.logEndOffset[index],
      brokerEpoch: this.brokerEpoch[index],
      caughtUpTimeMs: this.#storedCaughtUpTimeMs[index],
      resetPoll: this.#resetPoll[index],
      notedPoll: this.#notedPoll[index],
      notedLeaderEndOffset: this.#notedLeaderEndOffset[index],
    }
  }

  /**
   * Offsets reported by an earlier life of the follower must not go on counting as polled: what
   * its polls proved so far is stored, and then they stand still until the new life reports. Once
   * a restart.
   */
  #beginIncarnation(broker: BrokerId, brokerEpoch: BrokerEpoch): void {
    const table = this.#table
    for (let place = 0; place < table.count; place += 1) {
      const partition = table.partitionAt(place)
      const slot = table.slotOf(partition, broker)
      if (slot < 0) continue
      const index = partition * replicaStride + slot
      this.#storedCaughtUpTimeMs[index] = this.caughtUpTimeMs(partition, index)
    }
    this.#incarnation[broker] = brokerEpoch
  }

  /**
   * The follower's last poll covered this partition: after the last reset, in the life that
   * reported.
   */
  #isPolled(index: number, broker: number): boolean {
    return (
      this.#pollCount[broker] > this.#resetPoll[index] &&
      this.brokerEpoch[index] === this.#incarnation[broker]
    )
  }

  /** Within a poll: the poll before came after the last reset as well. */
  #wasPolledBefore(index: number): boolean {
    return this.#pollCount[this.#table.follower[index]] - 1 > this.#resetPoll[index]
  }

  /** Within a poll: the leader's log end offset at the poll before. */
  #previousLeaderEndOffset(partition: PartitionIndex, index: number): Offset {
    const previousPoll = this.#pollCount[this.#table.follower[index]] - 1
    if (this.#notedPoll[index] === previousPoll) return this.#notedLeaderEndOffset[index]
    return this.#table.logEndOffset[partition]
  }

  #storeCaughtUpTime(index: number, broker: number): void {
    if (this.#isPolled(index, broker)) this.#raiseCaughtUpTime(index, this.#pollTimeMs[broker])
  }

  #raiseCaughtUpTime(index: number, timeMs: number): void {
    if (timeMs > this.#storedCaughtUpTimeMs[index]) this.#storedCaughtUpTimeMs[index] = timeMs
  }
}

/** The words of one replica, to carry them to another slot. */
export interface ReplicaWords {
  readonly logEndOffset: Offset
  readonly brokerEpoch: BrokerEpoch
  readonly caughtUpTimeMs: number
  readonly resetPoll: number
  readonly notedPoll: number
  readonly notedLeaderEndOffset: Offset
}
