/**
 * Whether what the controller committed has arrived at the brokers that must act on it. Asked again
 * and again while thousands of partitions change hands, by the thread of the application: what was
 * found served is only looked at once more at the end.
 */
import type { BrokerId, PartitionIndex } from './ids.ts'
import type { MetadataImage } from './replication/controller/metadata-image.ts'
import type { PartitionRegistration } from './replication/registration.ts'
import { brokerState, type ProgressBoard } from './workers/progress-board.ts'

export interface ReadinessParts {
  readonly image: MetadataImage
  readonly board: ProgressBoard
  /** Whether the broker has a thread. */
  readonly isRunning: (broker: BrokerId) => boolean
}

/**
 * The committed leader leads in that epoch, and every replica that runs and isn't frozen follows
 * it.
 */
function isServed(parts: ReadinessParts, index: PartitionIndex): boolean {
  const registration = parts.image.partition(index)
  if (registration === undefined || registration.leader < 1) return false
  const { board, isRunning } = parts
  const { leader, leaderEpoch, replicas } = registration
  if (board.ledEpoch(leader, index) !== leaderEpoch) return false
  for (const id of replicas) {
    if (id === leader || board.followedEpoch(id, index) === leaderEpoch) continue
    if (isRunning(id) && board.state(id) !== brokerState.paused) return false
  }
  return true
}

/** Nobody can lead it, or it is served. */
function isSettled(parts: ReadinessParts, index: PartitionIndex): boolean {
  const registration = parts.image.partition(index)
  if (registration === undefined || isServed(parts, index)) return true
  return !mayHaveLeader(parts.image, registration)
}

function mayHaveLeader(
  image: MetadataImage,
  { inSyncReplicas, eligibleLeaderReplicas, lastKnownLeader }: PartitionRegistration,
): boolean {
  const candidates = [...inSyncReplicas, ...eligibleLeaderReplicas, ...lastKnownLeader]
  return candidates.some((id) => image.isActive(id))
}

/** Waits for partitions, in order: where one is not there yet the next look begins. */
class Sweep {
  #at = 0

  /** Whether all from 0 to before `end` are there at the same time. */
  isOver(end: number, isThere: (at: number) => boolean): boolean {
    while (this.#at < end && isThere(this.#at)) this.#at += 1
    if (this.#at < end) return false
    // One that was there may have changed hands since.
    this.#at = 0
    while (this.#at < end && isThere(this.#at)) this.#at += 1
    return this.#at === end
  }
}

/**
 * A condition to be asked until it holds: every broker is unfenced in this life, and every
 * partition is served that has anybody to lead it.
 */
export function readiness(parts: ReadinessParts, brokers: readonly BrokerId[]): () => boolean {
  const { image, board } = parts
  const sweep = new Sweep()
  return () => {
    for (const id of brokers) {
      if (!image.isActive(id) || image.aliveEpoch(id) !== board.brokerEpoch(id)) return false
    }
    return sweep.isOver(image.partitionIndexesEnd, (at) => isSettled(parts, at as PartitionIndex))
  }
}

/** The same: all of these partitions exist and are served. */
export function service(
  parts: ReadinessParts,
  partitions: () => readonly PartitionIndex[] | undefined,
): () => boolean {
  const sweep = new Sweep()
  return () => {
    const indexes = partitions()
    if (indexes === undefined) return false
    return sweep.isOver(indexes.length, (at) => isServed(parts, indexes[at]!))
  }
}
