/** What `Log` does with batches of producers that number them, and what it answers. */
import { errorCodeOf, TidemarkError } from '../errors.ts'
import type { BatchOptions } from './batch-encoder.ts'
import { type Compression, sizeInBytesAt } from './batch-header.ts'
import type { BatchRun } from './batch-memory.ts'
import type { AppendOptions, AppendResult, LogDescription, TransactionEnd } from './log-options.ts'
import type { PartitionLog } from './partition-log.ts'
import { AppendOutcomes } from './producers/append-outcomes.ts'
import type { EndMarker } from './producers/end-marker.ts'

const int16Max = 0x7fff
const int32Max = 0x7fff_ffff

/** @throws {TidemarkError} INVALID_ARGUMENT naming the field of `producer` */
export function batchOptionsOf(
  compression: Compression,
  { producer }: AppendOptions,
): BatchOptions {
  if (producer === undefined) return { compression }
  const { producerId, producerEpoch, baseSequence, isTransactional = false } = producer
  checkInteger('producerId', producerId, Number.MAX_SAFE_INTEGER)
  checkInteger('producerEpoch', producerEpoch, int16Max)
  checkInteger('baseSequence', baseSequence, int32Max)
  return { compression, producerId, producerEpoch, baseSequence, transactional: isTransactional }
}

export function describeLog(log: PartitionLog): LogDescription {
  const { directory, logStartOffset, logEndOffset, recoveryPoint, sizeBytes, segmentCount } = log
  return {
    directory,
    logStartOffset,
    logEndOffset,
    recoveryPoint,
    sizeBytes,
    segmentCount,
    leaderEpoch: log.leaderEpochs.latest,
    failure: log.failure,
  }
}

/** @throws {TidemarkError} INVALID_ARGUMENT naming the field */
export function endMarkerOf(end: TransactionEnd, timestampMs: number): EndMarker {
  const { producerId, producerEpoch, isCommit, coordinatorEpoch = 0 } = end
  checkInteger('producerId', producerId, Number.MAX_SAFE_INTEGER)
  checkInteger('producerEpoch', producerEpoch, int16Max)
  checkInteger('coordinatorEpoch', coordinatorEpoch, int32Max)
  if (typeof isCommit !== 'boolean') {
    throw new TidemarkError('INVALID_ARGUMENT', `isCommit ${String(isCommit)}: true or false`)
  }
  return { producerId, producerEpoch, isCommit, coordinatorEpoch, timestampMs }
}

function checkInteger(name: string, value: unknown, max: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max) return
  throw new TidemarkError(
    'INVALID_ARGUMENT',
    `${name} ${String(value)}: allowed are integers from 0 to ${max}`,
  )
}

/** @throws {TidemarkError} what `PartitionLog.append` throws, and the first batch's refusal */
export function appendRun(log: PartitionLog, run: BatchRun, options: AppendOptions): AppendResult {
  const baseOffset = log.logEndOffset
  const leaderEpoch = options.leaderEpoch ?? Math.max(0, log.leaderEpochs.latest)
  const outcomes = new AppendOutcomes(run.count)
  log.append(run, leaderEpoch, outcomes)
  if (!outcomes.areAllPlain) return judged(run, outcomes)
  return {
    baseOffset,
    lastOffset: log.logEndOffset - 1,
    batchCount: run.count,
    sizeBytes: sizeOf(run, () => true),
    isDuplicate: false,
  }
}

function judged(run: BatchRun, outcomes: AppendOutcomes): AppendResult {
  const refused = outcomes.errors.findIndex((error) => error !== 0)
  if (refused >= 0) {
    throw new TidemarkError(
      errorCodeOf(outcomes.errors[refused]!),
      `batch ${refused} of ${run.count} of a producer was refused`,
    )
  }
  const isNew = (at: number): boolean => outcomes.duplicates[at] === 0
  return {
    baseOffset: outcomes.baseOffsets[0]!,
    lastOffset: outcomes.nextOffsets[run.count - 1]! - 1,
    batchCount: run.count,
    sizeBytes: sizeOf(run, isNew),
    isDuplicate: outcomes.duplicates.every((duplicate) => duplicate === 1),
  }
}

function sizeOf(
  { memory, positions, count }: BatchRun,
  isWritten: (at: number) => boolean,
): number {
  let sizeBytes = 0
  for (let at = 0; at < count; at += 1) {
    if (isWritten(at)) sizeBytes += sizeInBytesAt(memory, positions[at]!)
  }
  return sizeBytes
}
