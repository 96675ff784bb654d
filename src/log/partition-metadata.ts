/** `partition.metadata`: the id of the topic that a partition's directory belongs to. */
import path from 'node:path'
import { TidemarkError } from '../errors.ts'
import { readTextFile, replaceFile } from './checkpoint-file.ts'
import { partitionMetadataFileName } from './file-names.ts'
import type { FileSystem } from './file-system.ts'
import { writeFile } from './whole-file.ts'

const idPrefix = 'version: 0\ntopic_id: '
/** Characters of 16 bytes in base64 without padding. */
const idLength = 22

/** Id as in the file, base64 of 16 bytes; undefined when there is no file or it is empty. */
export function readTopicId(fs: FileSystem, directory: string): string | undefined {
  const file = path.join(directory, partitionMetadataFileName)
  const text = readTextFile(fs, file)
  // Torn: the power went before the bytes reached the disk. The controller knows the id as well.
  if (text === undefined || isTorn(text)) return undefined
  const [version, topicId, ...more] = text.trimEnd().split('\n')
  if (version !== 'version: 0' || topicId?.startsWith('topic_id: ') !== true || more.length > 0) {
    throw new TidemarkError(
      'CORRUPT_FILE',
      `${file}: expected the lines 'version: 0' and 'topic_id: ID'`,
    )
  }
  return topicId.slice('topic_id: '.length)
}

/** Whether it is what a loss of power makes of a whole file: a part of it, or zeros. */
function isTorn(text: string): boolean {
  if (text.includes('\0') || idPrefix.startsWith(text)) return true
  const id = text.startsWith(idPrefix) ? text.slice(idPrefix.length) : '\n'
  return !id.includes('\n') && id.length < idLength
}

/**
 * Writes the id where none is yet.
 *
 * @param found the id in the directory, if the caller has just read it
 * @throws {TidemarkError} INCONSISTENT_TOPIC_ID when the directory is another topic's.
 */
export function claimTopicId(
  fs: FileSystem,
  directory: string,
  topicId: string,
  durable: boolean,
  found = readTopicId(fs, directory),
): void {
  if (found === topicId) return
  if (found !== undefined) {
    throw new TidemarkError(
      'INCONSISTENT_TOPIC_ID',
      `${directory} belongs to topic id ${found}, expected is ${topicId}`,
    )
  }
  writeTopicId(fs, directory, topicId, durable)
}

/**
 * For a directory without one. Not `durable`, the file is written in its place: one that is torn
 * counts for none, so that it needs no other name first.
 */
export function writeTopicId(
  fs: FileSystem,
  directory: string,
  topicId: string,
  durable: boolean,
): void {
  const file = path.join(directory, partitionMetadataFileName)
  const text = `${idPrefix}${topicId}`
  if (durable) replaceFile(fs, file, text, { durable })
  else writeFile(fs, file, Buffer.from(text), { durable })
}
