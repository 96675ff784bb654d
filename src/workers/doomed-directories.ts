/**
 * Directories of partitions that this broker no longer holds: renamed at once, so that the name is
 * free and no start takes them for a log, and removed when whoever reads them had time to finish
 * (Kafka: LogManager.asyncDelete). One directory a step: freeing large files takes a while.
 */
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import type { Clock } from '../clock.ts'
import { isTidemarkError } from '../errors.ts'
import type { BrokerId } from '../ids.ts'
import type { FileSystem } from '../log/file-system.ts'
import { readTopicId } from '../log/partition-metadata.ts'
import { parsePartitionDirectoryName } from '../log/topic-name.ts'
import type { MetadataImage } from '../replication/controller/metadata-image.ts'
import type { PartitionRegistration } from '../replication/registration.ts'

/** Of what is to be removed, and of what nobody asked for and an administrator may look at. */
const suffixes = { deleted: '-delete', stray: '-stray' } as const
const nameBytesMax = 255

interface Doomed {
  readonly path: string
  readonly dueMs: number
}

export interface DoomedDirectoriesParts {
  readonly brokerId: BrokerId
  /** The broker's. */
  readonly directory: string
  readonly fs: FileSystem
  readonly clock: Clock
}

export class DoomedDirectories {
  readonly #parts: DoomedDirectoriesParts
  readonly #waiting: Doomed[] = []
  /** What the sweep read, by directory's name, for whoever opens the log. */
  readonly #topicIds = new Map<string, string>()

  constructor(parts: DoomedDirectoriesParts) {
    this.#parts = parts
  }

  /** Takes a partition's directory out of use. @param name as in the broker's directory */
  doom(name: string, delayMs: number): void {
    const dueMs = this.#parts.clock.nowMs() + delayMs
    this.#topicIds.delete(name)
    this.#waiting.push({ path: this.#rename(name, suffixes.deleted), dueMs })
  }

  /** Topic's id in a partition's directory, if the sweep has just read it there; given once. */
  takeTopicId(name: string): string | undefined {
    const topicId = this.#topicIds.get(name)
    this.#topicIds.delete(name)
    return topicId
  }

  /** Removes one directory that is due. @returns how many */
  step(): number {
    const nowMs = this.#parts.clock.nowMs()
    const at = this.#waiting.findIndex(({ dueMs }) => dueMs <= nowMs)
    if (at < 0) return 0
    const [{ path: doomed }] = this.#waiting.splice(at, 1)
    this.#parts.fs.removeDirectory(doomed)
    return 1
  }

  /**
   * At the start, with the metadata in hand: dooms what a former life left, and sets aside what the
   * metadata gives to nobody or to others, which is never deleted (Kafka: LogManager
   * .isStrayReplica, KAFKA-16234).
   */
  sweep(image: MetadataImage): void {
    const { brokerId, directory, fs } = this.#parts
    const dueMs = this.#parts.clock.nowMs()
    for (const name of fs.list(directory) ?? []) {
      const full = path.join(directory, name)
      if (name.endsWith(suffixes.deleted)) {
        if (fs.isDirectory(full)) this.#waiting.push({ path: full, dueMs })
        continue
      }
      const parsed = parsePartitionDirectoryName(name)
      if (parsed === undefined || !fs.isDirectory(full)) continue
      const written = this.#writtenId(full)
      const topicId = written ?? image.topicNamed(parsed.topic)?.topicId
      const registration =
        topicId === undefined ? undefined : image.partitionOf(topicId, parsed.partition)
      if (!isHeldBy(brokerId, registration)) this.#rename(name, suffixes.stray)
      else if (written !== undefined) this.#topicIds.set(name, written)
    }
  }

  /**
   * None can be read: then the name decides. If the partition of that name is held here, opening it
   * meets the same damage and tells of it, and the others are not held up.
   */
  #writtenId(directory: string): string | undefined {
    try {
      return readTopicId(this.#parts.fs, directory)
    } catch (error) {
      if (isTidemarkError(error, 'CORRUPT_FILE')) return undefined
      throw error
    }
  }

  #rename(name: string, suffix: string): string {
    const { directory, fs } = this.#parts
    const end = `.${randomUUID().replaceAll('-', '')}${suffix}`
    const to = path.join(directory, name.slice(0, nameBytesMax - end.length) + end)
    fs.rename(path.join(directory, name), to)
    return to
  }
}

function isHeldBy(broker: BrokerId, registration: PartitionRegistration | undefined): boolean {
  return registration?.replicas.includes(broker) === true
}
