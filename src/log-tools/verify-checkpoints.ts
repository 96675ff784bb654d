/** A broker's offset checkpoints against the logs that they speak of. */
import path from 'node:path'
import type { BrokerFiles, CheckpointName, OffsetCheckpoint } from './broker-files.ts'
import type { OffsetEntry } from './checkpoint-lines.ts'
import type { VerifiedPartition } from './verify-partition.ts'
import type { VerifyReport } from './verify-report.ts'

/** Has its own rules, and no entries. */
export const metadataPartitionName = '__cluster_metadata-0'

/**
 * Entries without a directory say nothing: the partition was removed. After a clean shutdown every
 * log has its recovery point at its end, and a high watermark.
 */
export function verifyCheckpoints(
  report: VerifyReport,
  { checkpoints, isClosed }: BrokerFiles,
  partitions: readonly VerifiedPartition[],
): void {
  const { recoveryPoint, highWatermark, logStartOffset, cleaned } = checkpoints
  for (const partition of partitions) {
    const name = path.basename(partition.directory)
    if (name === metadataPartitionName) continue
    for (const checkpoint of [recoveryPoint, highWatermark, logStartOffset, cleaned]) {
      const entry = checkpoint?.entries.get(name)
      if (checkpoint !== undefined && entry !== undefined) {
        checkRange(report, checkpoint, entry, partition)
      }
    }
    if (!isClosed) continue
    checkPresent(report, recoveryPoint, name)
    checkPresent(report, highWatermark, name)
    checkRecoveryPoint(report, recoveryPoint, name, partition)
    checkHighWatermark(report, checkpoints, name, partition)
  }
}

function checkRange(
  report: VerifyReport,
  { file }: OffsetCheckpoint,
  entry: OffsetEntry,
  { logEndOffset, firstOffset, isWhole }: VerifiedPartition,
): void {
  if (!isWhole || entry.offset <= logEndOffset) return
  const expected = `an offset from ${Math.max(0, firstOffset)} to ${logEndOffset}, where the log ends`
  add(report, file, entry, expected)
}

function checkPresent(
  report: VerifyReport,
  checkpoint: OffsetCheckpoint | undefined,
  name: string,
): void {
  if (checkpoint === undefined || checkpoint.entries.has(name)) return
  const expected = `an entry for ${name}, as its broker was shut down cleanly`
  report.add('offset-checkpoint', checkpoint.file, {}, { expected, found: 'none' })
}

function checkRecoveryPoint(
  report: VerifyReport,
  checkpoint: OffsetCheckpoint | undefined,
  name: string,
  { logEndOffset, isWhole }: VerifiedPartition,
): void {
  const entry = checkpoint?.entries.get(name)
  if (checkpoint === undefined || entry === undefined) return
  if (!isWhole || entry.offset >= logEndOffset) return
  const expected = `offset ${logEndOffset}, the log's end, as its broker was shut down cleanly`
  add(report, checkpoint.file, entry, expected)
}

function checkHighWatermark(
  report: VerifyReport,
  { highWatermark, logStartOffset }: Readonly<Record<CheckpointName, OffsetCheckpoint | undefined>>,
  name: string,
  { firstOffset }: VerifiedPartition,
): void {
  const entry = highWatermark?.entries.get(name)
  if (highWatermark === undefined || entry === undefined) return
  const start = Math.max(firstOffset, logStartOffset?.entries.get(name)?.offset ?? 0)
  if (entry.offset < start) {
    add(report, highWatermark.file, entry, `offset ${start} or above, where the log starts`)
  }
}

function add(report: VerifyReport, file: string, entry: OffsetEntry, expected: string): void {
  const { topic, partition, offset, position } = entry
  const found = `'${topic} ${partition} ${offset}'`
  report.add('offset-checkpoint', file, { offset, position }, { expected, found })
}
