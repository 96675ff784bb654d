/**
 * A directory's offsets by partition (Kafka: `OffsetCheckpointFile`): `<topic> <partition>
 * <offset>` a line. Recovery points, log start offsets and high watermarks have a file each,
 * written as a whole.
 */
import {
  checkpointText,
  corruptEntry,
  nonNegativeInteger,
  readCheckpointFile,
  writeCheckpointFile,
} from './checkpoint-file.ts'
import type { FileSystem } from './file-system.ts'
import { partitionDirectoryName, type TopicPartition, topicNameFault } from './topic-name.ts'

export interface PartitionOffset extends TopicPartition {
  readonly offset: number
}

/** Offsets by the name of the partition's directory (`topic-0`). */
export type OffsetsByPartition = ReadonlyMap<string, number>

/**
 * @throws {TidemarkError} CORRUPT_FILE naming file and line; KAFKA_STORAGE_ERROR. No file: none.
 */
export function readOffsetCheckpoint(fs: FileSystem, file: string): OffsetsByPartition {
  const offsets = new Map<string, number>()
  for (const [index, line] of (readCheckpointFile(fs, file) ?? []).entries()) {
    const [topic, partitionText, offsetText, ...more] = line.split(' ')
    const partition = nonNegativeInteger(partitionText ?? '')
    const offset = nonNegativeInteger(offsetText ?? '')
    const valid = topicNameFault(topic) === undefined && more.length === 0
    if (!valid || partition === undefined || offset === undefined) {
      throw corruptEntry(file, index, line)
    }
    offsets.set(partitionDirectoryName({ topic, partition }), offset)
  }
  return offsets
}

export function writeOffsetCheckpoint(
  fs: FileSystem,
  file: string,
  entries: Iterable<PartitionOffset>,
): void {
  writeCheckpointFile(fs, file, offsetLines(entries), { durable: true })
}

/** The file's whole text, for writers that do not wait for the disk themselves. */
export function offsetCheckpointText(entries: Iterable<PartitionOffset>): string {
  return checkpointText(offsetLines(entries))
}

function offsetLines(entries: Iterable<PartitionOffset>): string[] {
  const lines: string[] = []
  for (const { topic, partition, offset } of entries) lines.push(`${topic} ${partition} ${offset}`)
  return lines
}
