/**
 * Invariant: the high watermark is never above the log end offset of any in-sync replica, the
 * leader among them: each of them may be elected, and has everything that is committed.
 */
import type { PartitionRegistration } from '../registration.ts'
import type { ReplicaWords } from './replica-words.ts'

/**
 * Holds while the registered leader leads in the registered epoch; before, the words are those of
 * another tenure.
 *
 * @returns what is broken; undefined: nothing
 */
export function highWatermarkAboveMember(
  { index, leader, leaderEpoch, inSyncReplicas }: PartitionRegistration,
  words: ReplicaWords,
): string | undefined {
  if (leader < 1 || words.ledEpoch(leader, index) !== leaderEpoch) return undefined
  // The high watermark first: in a running cluster the ends only grow meanwhile.
  const highWatermark = words.highWatermark(leader, index)
  for (const member of inSyncReplicas) {
    const end = words.logEndOffset(member, index)
    if (end >= highWatermark) continue
    return `leader ${leader} in epoch ${leaderEpoch}: high watermark ${highWatermark}, but in-sync replica ${member} ends at ${end}`
  }
  return undefined
}
