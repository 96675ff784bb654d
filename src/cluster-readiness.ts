/** Whether what the controller committed has arrived at the brokers that must act on it. */
import type { BrokerId, PartitionIndex } from './ids.ts'
import type { MetadataImage } from './replication/controller/metadata-image.ts'
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
export function isServed(parts: ReadinessParts, index: PartitionIndex): boolean {
  const { image, board, isRunning } = parts
  const registration = image.partition(index)
  if (registration === undefined || registration.leader < 1) return false
  const { leader, leaderEpoch, replicas } = registration
  if (board.ledEpoch(leader, index) !== leaderEpoch) return false
  return replicas.every((id) => {
    if (id === leader || !isRunning(id) || board.state(id) === brokerState.paused) return true
    return board.followedEpoch(id, index) === leaderEpoch
  })
}

/**
 * Every broker is unfenced in this life, and every partition is served that has anybody to lead it.
 */
export function isReady(parts: ReadinessParts, brokers: readonly BrokerId[]): boolean {
  const { image, board } = parts
  const areActive = brokers.every((id) => {
    return image.isActive(id) && image.aliveEpoch(id) === board.brokerEpoch(id)
  })
  if (!areActive) return false
  let areServed = true
  image.forEachPartition((registration) => {
    const { index, inSyncReplicas, eligibleLeaderReplicas, lastKnownLeader } = registration
    const candidates = [...inSyncReplicas, ...eligibleLeaderReplicas, ...lastKnownLeader]
    const mayHaveLeader = candidates.some((id) => image.isActive(id))
    if (mayHaveLeader && !isServed(parts, index)) areServed = false
  })
  return areServed
}
