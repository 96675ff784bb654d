/** What an invariant reads of replicas; the words of a progress board, or a test's own. */
import type { BrokerId, LeaderEpoch, Offset, PartitionIndex } from '../../ids.ts'

export interface ReplicaWords {
  /** Leader epoch in which the broker leads the partition; -1: it doesn't. */
  ledEpoch(broker: BrokerId, partition: PartitionIndex): LeaderEpoch
  highWatermark(broker: BrokerId, partition: PartitionIndex): Offset
  logEndOffset(broker: BrokerId, partition: PartitionIndex): Offset
}
