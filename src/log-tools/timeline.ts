/**
 * The history in a metadata log, ours or Apache Kafka's: brokers, controllers, and for each
 * partition its in-sync replicas, leaders and epochs.
 */
import { TidemarkError } from '../errors.ts'
import { type FileSystem, realFileSystem } from '../log/file-system.ts'
import { withNamedErrors } from './named-errors.ts'
import { findMetadataFiles, readMetadata } from './timeline-files.ts'
import type { MetadataTimeline, PartitionHistory } from './timeline-model.ts'
import { TimelineReplay } from './timeline-replay.ts'
import { findFlapping, findStorms } from './timeline-storms.ts'

export interface TimelineOptions {
  /** Only partitions of this topic. */
  readonly topic?: string | undefined
  /** Only the partition of this number. */
  readonly partition?: number | undefined
  readonly fs?: FileSystem
}

/**
 * @throws {TidemarkError} INVALID_ARGUMENT: there is no metadata log, or no partition that was
 *   asked for; KAFKA_STORAGE_ERROR naming the file that can't be read
 */
export function readTimeline(directory: string, options: TimelineOptions = {}): MetadataTimeline {
  const fs = withNamedErrors(options.fs ?? realFileSystem)
  const files = findMetadataFiles(fs, directory)
  const { snapshot, segments } = files
  const replay = new TimelineReplay()
  const start = segments[0]?.baseOffset ?? 0
  if (snapshot === undefined && start > 0) {
    replay.note(null, `the log begins at offset ${start}, and no snapshot tells what was before`)
  }
  for (const item of readMetadata(fs, files)) replay.take(item)
  const all = replay.finish()
  const partitions = chosen(all.partitions, options)
  return {
    directory: files.directory,
    files: [...(snapshot === undefined ? [] : [snapshot]), ...segments].map(({ name }) => name),
    ...all,
    partitions,
    storms: findStorms(partitions),
    flapping: findFlapping(partitions),
  }
}

function chosen(
  all: readonly PartitionHistory[],
  { topic, partition }: TimelineOptions,
): PartitionHistory[] {
  const found = all.filter(
    (history) =>
      (topic === undefined || history.topic === topic) &&
      (partition === undefined || history.partition === partition),
  )
  if (found.length === 0 && (topic !== undefined || partition !== undefined)) {
    throw new TidemarkError('INVALID_ARGUMENT', notThere(all, topic, partition))
  }
  return found.sort((a, b) => compareNames(a.topic, b.topic) || a.partition - b.partition)
}

function notThere(
  all: readonly PartitionHistory[],
  topic: string | undefined,
  partition: number | undefined,
): string {
  const topics = [...new Set(all.map((history) => history.topic))].sort()
  const allowed = topics.length === 0 ? 'there are none' : `there are ${topics.join(', ')}`
  if (topic === undefined || topics.includes(topic)) {
    const where = topic === undefined ? '' : ` of topic ${topic}`
    return `--partition ${partition}: no such partition${where} in this log`
  }
  return `--topic ${topic}: no such topic in this log; ${allowed}`
}

function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
