/**
 * Invariant: a batch that is acknowledged with acks=all is in the logs of at least
 * `min.insync.replicas` replicas at that moment, or of all when there are fewer (KIP-966).
 */
import type { Offset } from '../../../src/ids.ts'
import type { ReplicaWords } from '../../../src/replication/invariants/replica-words.ts'
import type { PartitionRegistration } from '../../../src/replication/registration.ts'

/** @returns what is broken; undefined: nothing */
export function tooFewCopies(
  { index, replicas }: PartitionRegistration,
  words: Pick<ReplicaWords, 'logEndOffset'>,
  endOffset: Offset,
  minInSyncReplicas: number,
): string | undefined {
  const holders = replicas.filter((replica) => words.logEndOffset(replica, index) >= endOffset)
  const wanted = Math.min(minInSyncReplicas, replicas.length)
  if (holders.length >= wanted) return undefined
  return `acknowledged up to ${endOffset}, but only replicas ${holders} have that; wanted are ${wanted} of them`
}
