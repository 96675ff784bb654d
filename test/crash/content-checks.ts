/** Whether a log holds the batches it should, and knows the leader epochs that they tell of. */
import type { PartitionLog } from '../../src/log/partition-log.ts'
import { expectEqual } from './expect-equal.ts'
import { isSame, type ModelBatch } from './log-history.ts'

/** Epochs without a record may be known as well. */
export function checkEpochs(log: PartitionLog, held: readonly ModelBatch[]): void {
  const start = log.logStartOffset
  const expected = new Map<number, number>()
  for (const { leaderEpoch, baseOffset } of held) {
    if (!expected.has(leaderEpoch)) expected.set(leaderEpoch, Math.max(baseOffset, start))
  }
  const known = log.leaderEpochs.entries
    .filter(({ leaderEpoch }) => expected.has(leaderEpoch))
    .map(({ leaderEpoch, startOffset }) => [leaderEpoch, startOffset])
  expectEqual('epochs', JSON.stringify(known), JSON.stringify([...expected]))
}

export function checkBatches(found: readonly ModelBatch[], held: readonly ModelBatch[]): void {
  expectEqual('batches', found.length, held.length)
  for (const [index, batch] of found.entries()) {
    if (!isSame(batch, held[index]!)) throw new Error(`another batch at ${batch.baseOffset}`)
  }
}
