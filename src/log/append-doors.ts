/** What must hold of batches before a log takes them: one list of refusals for each door. */
import { TidemarkError } from '../errors.ts'
import {
  baseOffsetAt,
  checkBatchFraming,
  hasProducerIdAt,
  isControlAt,
  leaderEpochAt,
  nextOffsetAt,
  sizeInBytesAt,
} from './batch-header.ts'
import type { BatchMemory, BatchRun } from './batch-memory.ts'
import type { LogConfig } from './log-config.ts'
import type { AppendOutcomes } from './producers/append-outcomes.ts'
import { RecordCursor } from './record-reader.ts'

/**
 * Leader's door: offsets and epochs are not set yet.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE, RECORD_TOO_LARGE, RECORD_LIST_TOO_LARGE,
 *   FENCED_LEADER_EPOCH, INVALID_RECORD where a compacted log would get a record without a key
 */
export function checkLeaderRun(
  run: BatchRun,
  config: LogConfig,
  leaderEpoch: number,
  latestEpoch: number,
): void {
  const { memory, positions, count } = run
  // Recovery takes batches of an epoch that goes back for the remains of a log cut off long ago.
  if (leaderEpoch < latestEpoch && leaderEpoch >= 0) {
    throw new TidemarkError(
      'FENCED_LEADER_EPOCH',
      `an append of leader epoch ${leaderEpoch} after epoch ${latestEpoch}`,
    )
  }
  for (let at = 0; at < count; at += 1) {
    checkFraming(run, at, config)
    const size = sizeInBytesAt(memory, positions[at])
    if (size > config.maxMessageBytes) {
      throw new TidemarkError(
        'RECORD_TOO_LARGE',
        `a batch of ${size} bytes: allowed by max.message.bytes are ${config.maxMessageBytes}`,
      )
    }
    if (config.compacts && lacksKey(memory, positions[at])) {
      throw new TidemarkError(
        'INVALID_RECORD',
        `batch ${at} of the run: in a compacted log every record needs a key`,
      )
    }
  }
}

/** Whether offsets may be missing between batches: a leader that has compacted lacks some. */
export type OffsetGaps = 'none' | 'allowed'

/**
 * Follower's door: every batch must begin where the log, or the batch before, ends, or above where
 * gaps are allowed.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE, RECORD_LIST_TOO_LARGE, OFFSET_OUT_OF_RANGE
 */
export function checkReplicatedRun(
  run: BatchRun,
  config: LogConfig,
  logEndOffset: number,
  gaps: OffsetGaps,
): void {
  const { memory, positions, count } = run
  let expectedOffset = logEndOffset
  for (let at = 0; at < count; at += 1) {
    checkFraming(run, at, config)
    const baseOffset = baseOffsetAt(memory, positions[at])
    if (baseOffset < expectedOffset || (baseOffset > expectedOffset && gaps === 'none')) {
      throw new TidemarkError(
        'OFFSET_OUT_OF_RANGE',
        `a replicated batch begins at ${baseOffset}, expected is ${expectedOffset}`,
      )
    }
    expectedOffset = nextOffsetAt(memory, positions[at])
  }
}

/**
 * Follower's door: epochs are there, and don't go back.
 *
 * @throws {TidemarkError} FENCED_LEADER_EPOCH
 */
export function checkReplicatedEpochs(run: BatchRun, latestEpoch: number): void {
  const { memory, positions, count } = run
  let epoch = latestEpoch
  for (let at = 0; at < count; at += 1) {
    const leaderEpoch = leaderEpochAt(memory, positions[at])
    if (leaderEpoch < 0 || leaderEpoch < epoch) {
      throw new TidemarkError(
        'FENCED_LEADER_EPOCH',
        `a replicated batch of leader epoch ${leaderEpoch} after epoch ${epoch}`,
      )
    }
    epoch = leaderEpoch
  }
}

/** Whether a compaction wouldn't know what the record is about; nobody asks that of a marker. */
export function lacksKey(memory: BatchMemory, position: number): boolean {
  if (isControlAt(memory, position)) return false
  const cursor = new RecordCursor(memory, position)
  while (cursor.next()) if (cursor.place.keyLength < 0) return true
  return false
}

/**
 * Whether no batch has a producer id, whose sequence numbers must be looked at; `outcomes` is told.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT when one has, and there is no room for outcomes
 */
export function arePlain(run: BatchRun, outcomes: AppendOutcomes | undefined): boolean {
  const { memory, positions, count } = run
  let at = 0
  while (at < count && !hasProducerIdAt(memory, positions[at])) at += 1
  if (outcomes !== undefined) outcomes.areAllPlain = at === count
  if (at === count) return true
  if (outcomes !== undefined && outcomes.errors.length >= count) return false
  throw new TidemarkError(
    'INVALID_ARGUMENT',
    `a run with batches of producers needs room for ${count} outcomes`,
  )
}

/** Both doors: the header must be a batch's, and all of it must lie within the memory. */
function checkFraming({ memory, positions }: BatchRun, at: number, config: LogConfig): void {
  const position = positions[at]
  const available = memory.bytes.length - position
  const fault = position < 0 ? 'header-cut' : checkBatchFraming(memory, position, available)
  const size = fault === undefined ? sizeInBytesAt(memory, position) : 0
  if (fault !== undefined || size > available) {
    throw new TidemarkError(
      'CORRUPT_MESSAGE',
      `batch ${at} of the run at position ${position}: ${fault ?? 'bytes-cut'}`,
    )
  }
  if (size > config.segmentBytes) {
    throw new TidemarkError(
      'RECORD_LIST_TOO_LARGE',
      `a batch of ${size} bytes: segment.bytes is ${config.segmentBytes}`,
    )
  }
}
