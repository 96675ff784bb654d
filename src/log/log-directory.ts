/**
 * The directory that holds all logs of one broker: locked, named, with its checkpoints and the mark
 * of a clean shutdown (Kafka: `LogManager`). Opens no log itself.
 */
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { isTidemarkError, TidemarkError } from '../errors.ts'
import { readTextFile, replaceFile } from './checkpoint-file.ts'
import { lockDirectory, lockFileName } from './directory-lock.ts'
import { type FileSystem, realFileSystem } from './file-system.ts'
import { type MetaProperties, readMetaProperties, writeMetaProperties } from './meta-properties.ts'
import {
  type OffsetsByPartition,
  type PartitionOffset,
  readOffsetCheckpoint,
  writeOffsetCheckpoint,
} from './offset-checkpoint.ts'
import { storageError } from './storage-error.ts'
import {
  checkTopicName,
  parsePartitionDirectoryName,
  partitionDirectoryName,
  type TopicPartition,
} from './topic-name.ts'

const metaPropertiesFileName = 'meta.properties'
const cleanShutdownFileName = '.kafka_cleanshutdown'

/** Offsets that are kept by directory, and the file of each. */
const checkpointFileNames = {
  recoveryPoint: 'recovery-point-offset-checkpoint',
  logStartOffset: 'log-start-offset-checkpoint',
  highWatermark: 'replication-offset-checkpoint',
  cleanedOffset: 'cleaner-offset-checkpoint',
} as const

export type CheckpointKind = keyof typeof checkpointFileNames

export interface LogDirectoryOptions {
  /** Made when absent. */
  readonly directory: string
  readonly clusterId: string
  readonly nodeId: number
  readonly fs?: FileSystem
  /** 16 random bytes for a new directory's id. */
  readonly makeId?: () => Uint8Array
}

export interface PartitionDirectory extends TopicPartition {
  readonly directory: string
}

export class LogDirectory {
  readonly directory: string
  /**
   * Whether the last owner ended properly. The mark is gone by now: a crash from here on counts.
   */
  readonly cleanShutdown: boolean
  /** Broker epoch of that life; -1 when it isn't known or the end was not clean. */
  readonly previousBrokerEpoch: number
  readonly #options: LogDirectoryOptions
  readonly #fs: FileSystem
  readonly #lockFd: number
  #properties: MetaProperties
  #closed = false

  private constructor(options: LogDirectoryOptions, fs: FileSystem, lockFd: number) {
    this.directory = options.directory
    this.#options = options
    this.#fs = fs
    this.#lockFd = lockFd
    this.#properties = claimDirectory(fs, options)
    const file = path.join(this.directory, cleanShutdownFileName)
    const mark = readTextFile(fs, file)
    this.cleanShutdown = mark !== undefined
    this.previousBrokerEpoch = brokerEpochOf(mark)
    if (mark === undefined) return
    fs.remove(file)
    // Before anything is written: a mark that came back after a crash would vouch for torn files.
    fs.syncDirectory(this.directory)
  }

  /**
   * Makes the directory if need be, locks it against all other processes and broker threads, checks
   * whose it is, and takes the mark of a clean shutdown away.
   *
   * @throws {TidemarkError} DIRECTORY_IN_USE, INCONSISTENT_CLUSTER_ID, INVALID_CONFIG (another
   *   node's), CORRUPT_FILE, KAFKA_STORAGE_ERROR
   */
  static open(options: LogDirectoryOptions): LogDirectory {
    const fs = options.fs ?? realFileSystem
    const { directory } = options
    return lockDirectory(fs, directory, 'directory', (fd) => new LogDirectory(options, fs, fd))
  }

  get properties(): MetaProperties {
    return this.#properties
  }

  /**
   * Everything is gone but the lock, as after a change of the disk; the directory gets a new id. No
   * log in it may be open.
   *
   * @throws {TidemarkError} KAFKA_STORAGE_ERROR
   */
  wipe(): void {
    try {
      for (const name of this.#fs.list(this.directory) ?? []) {
        const entry = path.join(this.directory, name)
        if (name === lockFileName) continue
        if (this.#fs.isDirectory(entry)) this.#fs.removeDirectory(entry)
        else this.#fs.remove(entry)
      }
      this.#properties = claimDirectory(this.#fs, this.#options)
    } catch (cause) {
      throw storageError('cannot empty', this.directory, cause)
    }
  }

  /** Partitions that have a directory here, in order of name. */
  partitions(): PartitionDirectory[] {
    const found: PartitionDirectory[] = []
    for (const name of (this.#fs.list(this.directory) ?? []).sort()) {
      const partition = parsePartitionDirectoryName(name)
      const directory = path.join(this.directory, name)
      if (partition !== undefined && this.#fs.isDirectory(directory)) {
        found.push({ ...partition, directory })
      }
    }
    return found
  }

  /**
   * @throws {TidemarkError} INVALID_TOPIC_EXCEPTION, so that no name leads out of the directory.
   */
  partitionDirectory(partition: TopicPartition): string {
    checkTopicName(partition.topic)
    return path.join(this.directory, partitionDirectoryName(partition))
  }

  /**
   * No file: none. High watermarks that don't read are none either: they are written down without
   * waiting for the disk, a loss of power may tear them, and leaders raise them again.
   *
   * @throws {TidemarkError} CORRUPT_FILE, KAFKA_STORAGE_ERROR
   */
  readCheckpoint(kind: CheckpointKind): OffsetsByPartition {
    try {
      return readOffsetCheckpoint(this.#fs, this.#checkpointFile(kind))
    } catch (cause) {
      if (kind !== 'highWatermark' || !isTidemarkError(cause, 'CORRUPT_FILE')) throw cause
      return new Map()
    }
  }

  /** Replaces all offsets of a kind, and waits for the disk. */
  writeCheckpoint(kind: CheckpointKind, offsets: Iterable<PartitionOffset>): void {
    writeOffsetCheckpoint(this.#fs, this.#checkpointFile(kind), offsets)
  }

  /**
   * Unlocks. `cleanBrokerEpoch` leaves the mark of a clean shutdown: to be given only after all
   * logs were closed without an error and the checkpoints were written.
   */
  close(cleanBrokerEpoch?: number): void {
    if (this.#closed) return
    this.#closed = true
    try {
      if (cleanBrokerEpoch !== undefined) {
        const mark = JSON.stringify({ version: 0, brokerEpoch: cleanBrokerEpoch })
        const file = path.join(this.directory, cleanShutdownFileName)
        replaceFile(this.#fs, file, mark, { durable: true })
      }
    } finally {
      this.#fs.close(this.#lockFd)
    }
  }

  #checkpointFile(kind: CheckpointKind): string {
    return checkpointFilePath(this.directory, kind)
  }
}

export function checkpointFilePath(directory: string, kind: CheckpointKind): string {
  return path.join(directory, checkpointFileNames[kind])
}

/** Whose directory it is: read, or written when nobody's yet. */
function claimDirectory(fs: FileSystem, options: LogDirectoryOptions): MetaProperties {
  const { directory, clusterId, nodeId } = options
  const file = path.join(directory, metaPropertiesFileName)
  const found = readMetaProperties(fs, file)
  if (found === undefined) {
    const id = options.makeId?.() ?? randomBytes(16)
    const properties = { clusterId, nodeId, directoryId: Buffer.from(id).toString('base64url') }
    writeMetaProperties(fs, file, properties)
    return properties
  }
  if (found.clusterId !== clusterId) {
    throw new TidemarkError(
      'INCONSISTENT_CLUSTER_ID',
      `directory ${directory} belongs to cluster ${found.clusterId}, expected is ${clusterId}`,
    )
  }
  if (found.nodeId !== nodeId) {
    throw new TidemarkError(
      'INVALID_CONFIG',
      `directory ${directory} belongs to node ${found.nodeId}, expected is ${nodeId}`,
    )
  }
  return found
}

/** The mark counts by being there; its content only says which broker epoch ended. */
function brokerEpochOf(mark: string | undefined): number {
  if (mark === undefined) return -1
  try {
    const epoch: unknown = JSON.parse(mark)?.brokerEpoch
    return typeof epoch === 'number' && Number.isSafeInteger(epoch) ? epoch : -1
  } catch {
    return -1
  }
}
