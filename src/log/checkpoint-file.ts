/**
 * Kafka's text checkpoints (`CheckpointFile`): a line with the version, a line with the number of
 * entries, then a line an entry. Replaced as a whole: temporary file, sync, rename, directory sync.
 */
import path from 'node:path'
import { TidemarkError } from '../errors.ts'
import type { FileSystem } from './file-system.ts'
import { storageError } from './storage-error.ts'
import { syncFile, writeFile } from './whole-file.ts'

const checkpointVersion = '0'
const decoder = new TextDecoder()

export interface CheckpointWriteOptions {
  /** Whether it must survive a loss of power, and so waits for the disk. */
  readonly durable: boolean
}

/** @throws {TidemarkError} KAFKA_STORAGE_ERROR naming the file. */
export function writeCheckpointFile(
  fs: FileSystem,
  file: string,
  entries: readonly string[],
  options: CheckpointWriteOptions,
): void {
  replaceFile(fs, file, checkpointText(entries), options)
}

export function checkpointText(entries: readonly string[]): string {
  const lines = [checkpointVersion, String(entries.length), ...entries]
  return `${lines.join('\n')}\n`
}

/** Replaces a small file as a whole: a reader sees the old text or the new, never a part. */
export function replaceFile(
  fs: FileSystem,
  file: string,
  text: string,
  { durable }: CheckpointWriteOptions,
): void {
  const temporary = `${file}.tmp`
  try {
    writeFile(fs, temporary, Buffer.from(text), { durable })
    fs.rename(temporary, file)
    if (durable) fs.syncDirectory(path.dirname(file))
  } catch (cause) {
    throw storageError('cannot write', file, cause)
  }
}

/** Makes durable what `replaceFile` did without waiting. No file: nothing to do. */
export function syncReplacedFile(fs: FileSystem, file: string): void {
  if (fs.sizeOf(file) === undefined) return
  try {
    syncFile(fs, file)
    fs.syncDirectory(path.dirname(file))
  } catch (cause) {
    throw storageError('cannot sync', file, cause)
  }
}

/**
 * Lines of the entries. No file: undefined. An empty file: no entries.
 *
 * @throws {TidemarkError} CORRUPT_FILE when the version or the count is not as it should be.
 */
export function readCheckpointFile(fs: FileSystem, file: string): string[] | undefined {
  const text = readTextFile(fs, file)
  if (text === undefined) return undefined
  if (text === '') return []
  const lines = text.split('\n')
  if (lines[0] !== checkpointVersion) {
    throw corrupt(file, 1, `version '${lines[0]}', expected '${checkpointVersion}'`)
  }
  const stated = nonNegativeInteger(lines[1] ?? '')
  const ended = lines.at(-1) === ''
  const entries = lines.slice(2, ended ? -1 : undefined)
  if (stated === undefined || stated !== entries.length || !ended) {
    throw corrupt(
      file,
      2,
      `'${lines[1] ?? ''}' entries stated, ${entries.length} whole lines found`,
    )
  }
  return entries
}

/** A small file's text; undefined when it isn't there. */
export function readTextFile(fs: FileSystem, file: string): string | undefined {
  try {
    const bytes = fs.readFile(file)
    return bytes === undefined ? undefined : decoder.decode(bytes)
  } catch (cause) {
    throw storageError('cannot read', file, cause)
  }
}

/** The number that a text of digits alone stands for, if it is exact. */
export function nonNegativeInteger(text: string): number | undefined {
  if (!/^\d{1,16}$/.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : undefined
}

export function corruptEntry(file: string, index: number, entry: string): TidemarkError {
  return corrupt(file, index + 3, `malformed entry '${entry.slice(0, 80)}'`)
}

function corrupt(file: string, line: number, what: string): TidemarkError {
  return new TidemarkError('CORRUPT_FILE', `${file} line ${line}: ${what}`)
}
