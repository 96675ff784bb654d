/** Batches of producers for tests, and what a leader says of them. */
import { errorCodeOf } from '../../src/errors.ts'
import { baseOffsetAt, sizeInBytesAt } from '../../src/log/batch-header.ts'
import { type BatchMemory, batchMemory } from '../../src/log/batch-memory.ts'
import type { PartitionLog } from '../../src/log/partition-log.ts'
import { AppendOutcomes } from '../../src/log/producers/append-outcomes.ts'
import { encodeBatch, runOf, textRecords } from './batch-builder.ts'

export interface ProducerBatch {
  readonly id: number
  readonly sequence: number
  readonly epoch?: number
  readonly count?: number
  readonly transactional?: boolean
  readonly timestampMs?: number
}

export function producerBatch(batch: ProducerBatch): BatchMemory {
  const { id, sequence, epoch = 0, count = 1, transactional = false, timestampMs = 1_000 } = batch
  return encodeBatch(textRecords(count, `p${id}e${epoch}s${sequence}`, timestampMs), {
    compression: 'none',
    producerId: id,
    producerEpoch: epoch,
    baseSequence: sequence,
    transactional,
  })
}

/** Appends them as one run; of each its base offset, an error's name, or `dup` and the offset. */
export function appendJudged(
  log: PartitionLog,
  batches: readonly ProducerBatch[],
  leaderEpoch = 0,
): (number | string)[] {
  const outcomes = new AppendOutcomes(batches.length)
  log.append(runOf(batches.map(producerBatch)), leaderEpoch, outcomes)
  return batches.map((_, at) => {
    if (outcomes.errors[at] !== 0) return errorCodeOf(outcomes.errors[at]!)
    return outcomes.duplicates[at] === 1
      ? `dup ${outcomes.baseOffsets[at]}`
      : outcomes.baseOffsets[at]!
  })
}

export function endTransaction(
  log: PartitionLog,
  end: {
    readonly id: number
    readonly commit: boolean
    readonly epoch?: number
    readonly coordinatorEpoch?: number
    readonly timestampMs?: number
  },
): number {
  const { id, commit, epoch = 0, coordinatorEpoch = 0, timestampMs = 1_000 } = end
  return log.appendEndMarker(
    { producerId: id, producerEpoch: epoch, isCommit: commit, coordinatorEpoch, timestampMs },
    0,
  )
}

/** All batches of a log from its start, each with memory of its own. */
export function batchesOf(log: PartitionLog): BatchMemory[] {
  const target = batchMemory(new ArrayBuffer(64 * 1024))
  const found: BatchMemory[] = []
  let offset = log.logStartOffset
  while (offset < log.logEndOffset) {
    const bytes = log.read(offset, log.logEndOffset, 1, target, 0)
    if (bytes === 0) break
    const copy = target.bytes.slice(0, sizeInBytesAt(target, 0))
    const memory = batchMemory(copy.buffer)
    found.push(memory)
    offset = baseOffsetAt(memory, 0) + memory.view.getInt32(23) + 1
  }
  return found
}
