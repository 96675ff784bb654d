/**
 * Verifies directories of any make, ours or Apache Kafka's: of a partition, of a broker, of a whole
 * cluster; what several of them have in common is also held against each other. Reads only.
 */
import path from 'node:path'
import { TidemarkError } from '../errors.ts'
import { type FileSystem, realFileSystem } from '../log/file-system.ts'
import { parsePartitionDirectoryName } from '../log/topic-name.ts'
import { type BrokerFiles, readBrokerFiles } from './broker-files.ts'
import { fileKindOf, metaPropertiesFileName } from './file-kind.ts'
import { withNamedErrors } from './named-errors.ts'
import { metadataPartitionName, verifyCheckpoints } from './verify-checkpoints.ts'
import {
  type PartitionContext,
  type VerifiedPartition,
  verifyPartition,
} from './verify-partition.ts'
import { type Replica, verifyReplicas } from './verify-replicas.ts'
import {
  type BytesListener,
  type LogFault,
  type VerifyCounts,
  VerifyReport,
} from './verify-report.ts'

export interface VerifyOptions {
  /** Whether gaps in the offsets are no fault: compacted topics without their broker's files. */
  readonly allowGaps?: boolean
  readonly fs?: FileSystem
  /** Called every so many MiB. */
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined
}

/** Bytes of segments; those that replicas are held against each other for are not counted. */
export interface VerifyProgress {
  readonly doneBytes: number
  readonly totalBytes: number
  /** Of the partition that is being read. */
  readonly directory: string
}

export interface VerifyResult {
  /** As they were found below the paths that were given. */
  readonly directories: readonly string[]
  readonly checked: VerifyCounts
  readonly faults: readonly LogFault[]
}

interface Verified extends Replica {
  readonly partition: VerifiedPartition
}

/** Topics that Kafka compacts, whatever else is known. */
const compactedTopics = new Set([
  '__consumer_offsets',
  '__transaction_state',
  '__share_group_state',
])

/**
 * @throws {TidemarkError} INVALID_ARGUMENT for a directory that is not there or holds no partition.
 */
export function verifyDirectories(
  paths: readonly string[],
  options: VerifyOptions = {},
): VerifyResult {
  const fs = withNamedErrors(options.fs ?? realFileSystem)
  const found = paths.flatMap((given) => directoriesOf(fs, given))
  const progress = progressOf(fs, found, options)
  const report = new VerifyReport(progress.onBytes)
  const byName = new Map<string, Verified[]>()
  const brokers = new Map<string, BrokerFiles>()
  const seen = (name: string, verified: Verified) => {
    byName.set(name, [...(byName.get(name) ?? []), verified])
  }
  const verify = (directory: string, broker: BrokerFiles) => {
    progress.enter(directory)
    const verified = verifyOne(report, fs, directory, broker, options)
    report.tellProgress()
    seen(...verified)
    return verified[1].partition
  }
  for (const directory of found) {
    if (isPartition(fs, directory)) {
      verify(directory, readBrokerFiles(fs, path.dirname(path.resolve(directory))))
      continue
    }
    const broker = readBrokerFiles(fs, directory, report)
    brokers.set(directory, broker)
    const all = partitionDirectories(fs, directory).map((partition) => verify(partition, broker))
    verifyCheckpoints(report, broker, all)
  }
  for (const replicas of byName.values()) {
    if (replicas.length > 1) verifyReplicas(report, fs, replicas)
  }
  checkTopicIds(report, byName)
  checkBrokers(report, brokers)
  return { directories: found, checked: report.counts, faults: report.faults }
}

interface ProgressTeller {
  enter(directory: string): void
  readonly onBytes: BytesListener | undefined
}

/** Sizes are looked up only if somebody listens. */
function progressOf(
  fs: FileSystem,
  directories: readonly string[],
  { onProgress }: VerifyOptions,
): ProgressTeller {
  if (onProgress === undefined) return { enter: () => undefined, onBytes: undefined }
  const partitions = directories.flatMap((directory) =>
    isPartition(fs, directory) ? [directory] : partitionDirectories(fs, directory),
  )
  let totalBytes = 0
  for (const partition of partitions) {
    for (const name of fs.list(partition) ?? []) {
      if (fileKindOf(name)?.kind !== 'segment') continue
      totalBytes += fs.sizeOf(path.join(partition, name)) ?? 0
    }
  }
  let doneBytes = 0
  let directory = ''
  return {
    enter(entered) {
      directory = entered
    },
    onBytes(bytes) {
      doneBytes += bytes
      onProgress({ doneBytes, totalBytes, directory })
    },
  }
}

function verifyOne(
  report: VerifyReport,
  fs: FileSystem,
  directory: string,
  broker: BrokerFiles,
  options: VerifyOptions,
): readonly [string, Verified] {
  const name = path.basename(path.resolve(directory))
  const context = contextOf(fs, directory, name, broker, options)
  const partition = verifyPartition(report, fs, directory, context)
  const { logEndOffset } = partition
  const highWatermark = broker.checkpoints.highWatermark?.entries.get(name)?.offset
  return [name, { partition, directory, logEndOffset, highWatermark }]
}

function contextOf(
  fs: FileSystem,
  directory: string,
  name: string,
  { checkpoints, isClosed }: BrokerFiles,
  { allowGaps = false }: VerifyOptions,
): PartitionContext {
  const { cleaned, logStartOffset } = checkpoints
  const topic = parsePartitionDirectoryName(name)?.topic ?? ''
  const cleanedTo = cleaned?.entries.get(name)?.offset ?? 0
  const compacted = allowGaps || compactedTopics.has(topic)
  const context = { gapsBelow: compacted ? Number.POSITIVE_INFINITY : cleanedTo, isClosed }
  if (name === metadataPartitionName) {
    // A snapshot stands for what was before it, and the log may begin anywhere up to there.
    const hasSnapshots = (fs.list(directory) ?? []).some((file) => file.endsWith('.checkpoint'))
    return { ...context, isClosed: false, logStartOffset: hasSnapshots ? undefined : 0 }
  }
  const start = logStartOffset?.entries.get(name)?.offset ?? 0
  return { ...context, logStartOffset: logStartOffset === undefined ? undefined : start }
}

/** The directory itself, or those of the brokers in it. */
function directoriesOf(fs: FileSystem, given: string): string[] {
  if (!fs.isDirectory(given)) {
    const what = fs.sizeOf(given) === undefined ? 'no such directory' : 'not a directory'
    throw new TidemarkError('INVALID_ARGUMENT', `${given}: ${what}`)
  }
  if (isPartition(fs, given) || isBroker(fs, given)) return [given]
  const inside = (fs.list(given) ?? [])
    .sort()
    .map((name) => path.join(given, name))
    .filter((directory) => fs.isDirectory(directory) && isBroker(fs, directory))
  if (inside.length > 0) return inside
  const allowed = "directories of a partition ('TOPIC-0'), of a broker, or of a cluster's brokers"
  throw new TidemarkError('INVALID_ARGUMENT', `${given}: holds no log; allowed are ${allowed}`)
}

function isPartition(fs: FileSystem, directory: string): boolean {
  const names = fs.list(directory) ?? []
  return names.some((name) => fileKindOf(name)?.kind === 'segment')
}

function isBroker(fs: FileSystem, directory: string): boolean {
  const names = fs.list(directory) ?? []
  return names.includes(metaPropertiesFileName) || partitionDirectories(fs, directory).length > 0
}

/** Without those being deleted, moved in, or strayed; a broker's may be called `broker-1`. */
function partitionDirectories(fs: FileSystem, directory: string): string[] {
  return (fs.list(directory) ?? [])
    .sort()
    .filter((name) => parsePartitionDirectoryName(name) !== undefined)
    .map((name) => path.join(directory, name))
    .filter((partition) => {
      return fs.isDirectory(partition) && !fs.list(partition)?.includes(metaPropertiesFileName)
    })
}

/** All partitions of a topic, wherever they are, carry its id. */
function checkTopicIds(report: VerifyReport, byName: ReadonlyMap<string, Verified[]>): void {
  const ids = new Map<string, { readonly topicId: string; readonly directory: string }>()
  for (const [name, replicas] of byName) {
    const topic = parsePartitionDirectoryName(name)?.topic ?? name
    for (const { directory, partition } of replicas) {
      const { topicId } = partition
      if (topicId === undefined) continue
      const known = ids.get(topic)
      if (known === undefined) ids.set(topic, { topicId, directory })
      else if (known.topicId !== topicId) {
        const expected = `topic id ${known.topicId}, as in ${known.directory}`
        const file = path.join(directory, 'partition.metadata')
        report.add('meta-file', file, {}, { expected, found: topicId })
      }
    }
  }
}

/** Brokers that are verified together are of one cluster, and are not the same one. */
function checkBrokers(report: VerifyReport, brokers: ReadonlyMap<string, BrokerFiles>): void {
  let clusterId: string | undefined
  const nodes = new Map<string, string>()
  for (const [directory, { properties }] of brokers) {
    if (properties === undefined) continue
    const file = path.join(directory, metaPropertiesFileName)
    clusterId ??= properties.clusterId
    if (properties.clusterId !== clusterId) {
      const expected = `cluster.id ${clusterId}, as in the first directory`
      report.add('meta-file', file, {}, { expected, found: properties.clusterId })
    }
    const { nodeId, directoryId } = properties
    const other = directoryId === undefined ? undefined : nodes.get(directoryId)
    if (other !== undefined) {
      const expected = `a directory.id of its own, other than that of ${other}`
      report.add('meta-file', file, {}, { expected, found: `${directoryId} of node ${nodeId}` })
    }
    if (directoryId !== undefined) nodes.set(directoryId, directory)
  }
}
