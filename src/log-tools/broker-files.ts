/** What a broker's log directory says of its partitions: checkpoints, its name, how it was left. */
import path from 'node:path'
import { isTidemarkError } from '../errors.ts'
import type { FileSystem } from '../log/file-system.ts'
import { type MetaProperties, readMetaProperties } from '../log/meta-properties.ts'
import { partitionDirectoryName } from '../log/topic-name.ts'
import { type OffsetEntry, parseOffsetCheckpoint } from './checkpoint-lines.ts'
import { metaPropertiesFileName, offsetCheckpointFileNames } from './file-kind.ts'
import type { VerifyReport } from './verify-report.ts'

export type CheckpointName = keyof typeof offsetCheckpointFileNames

export interface OffsetCheckpoint {
  readonly file: string
  /** By the name of the partition's directory. */
  readonly entries: ReadonlyMap<string, OffsetEntry>
}

export interface BrokerFiles {
  /** undefined: no such file, or it cannot be read. */
  readonly checkpoints: Readonly<Record<CheckpointName, OffsetCheckpoint | undefined>>
  readonly properties: MetaProperties | undefined
  /** Whether the mark of a clean shutdown is there: then nothing may lag behind the logs. */
  readonly isClosed: boolean
}

const cleanShutdownFileName = '.kafka_cleanshutdown'

/** `report` gets what is wrong with the files by themselves; without one nothing is reported. */
export function readBrokerFiles(
  fs: FileSystem,
  directory: string,
  report?: VerifyReport,
): BrokerFiles {
  const read = (name: CheckpointName) => readCheckpoint(fs, directory, name, report)
  return {
    checkpoints: {
      recoveryPoint: read('recoveryPoint'),
      logStartOffset: read('logStartOffset'),
      highWatermark: read('highWatermark'),
      cleaned: read('cleaned'),
    },
    properties: readProperties(fs, directory, report),
    isClosed: fs.sizeOf(path.join(directory, cleanShutdownFileName)) !== undefined,
  }
}

function readCheckpoint(
  fs: FileSystem,
  directory: string,
  name: CheckpointName,
  report: VerifyReport | undefined,
): OffsetCheckpoint | undefined {
  const file = path.join(directory, offsetCheckpointFileNames[name])
  const bytes = fs.readFile(file)
  if (bytes === undefined) return undefined
  const { entries, fault } = parseOffsetCheckpoint(bytes)
  if (fault !== undefined) {
    report?.add('offset-checkpoint', file, { position: fault.position }, fault)
    return undefined
  }
  const byName = new Map<string, OffsetEntry>()
  for (const entry of entries) {
    const partition = partitionDirectoryName(entry)
    if (byName.has(partition)) {
      const place = { offset: entry.offset, position: entry.position }
      const expected = 'each partition once'
      report?.add('offset-checkpoint', file, place, { expected, found: `${partition} again` })
    }
    byName.set(partition, entry)
  }
  if (report !== undefined) report.counts.checkpointEntries += entries.length
  return { file, entries: byName }
}

function readProperties(
  fs: FileSystem,
  directory: string,
  report: VerifyReport | undefined,
): MetaProperties | undefined {
  const file = path.join(directory, metaPropertiesFileName)
  try {
    return readMetaProperties(fs, file)
  } catch (error) {
    if (!isTidemarkError(error, 'CORRUPT_FILE')) throw error
    const expected = 'version=1, cluster.id and node.id'
    report?.add('meta-file', file, {}, { expected, found: error.message })
    return undefined
  }
}
