/**
 * Real records for the load generator, out of somebody's file: lines of a text, or the records of a
 * Kafka `.log` segment, told apart by content. They are loaded once into shared memory, with the
 * place of each, so that generator threads send them round and round without touching the file
 * again.
 */
import fs from 'node:fs'
import { isTidemarkError } from '../errors.ts'
import { checkBatchFraming } from '../log/batch-header.ts'
import { batchField, batchOverheadBytes } from '../log/batch-layout.ts'
import { batchMemory } from '../log/batch-memory.ts'
import { systemErrorCode } from '../log/storage-error.ts'
import { loadSegment } from './input-segment.ts'
import { loadText } from './input-text.ts'
import { badValue, formatBytesExactly } from './units.ts'

export interface InputOptions {
  /** Of a larger file only the first so many bytes are used, and cycled. Default 256 MiB. */
  readonly maxBytes?: number
  /** Largest record (key and value) that may be produced; a larger one is refused, not cut. */
  readonly recordBytesMax: number
}

/** Places in `InputRecords.payload`, one a record; both arrays lie in shared memory. */
export interface InputPlaces {
  readonly positions: Int32Array
  /** -1: null. */
  readonly lengths: Int32Array
}

/** All records in the order of the file. `positions` and `lengths` are those of the values. */
export interface InputRecords extends InputPlaces {
  readonly kind: 'text' | 'segment'
  readonly path: string
  readonly payload: SharedArrayBuffer
  /** Only where some record has a key. */
  readonly keys?: InputPlaces
  /** Milliseconds since 1970, of a segment; -1 where a record has none. In shared memory. */
  readonly timestampsMs?: Float64Array
  /** From 1. */
  readonly recordCount: number
  /** Payload of one round: keys and values, from 1. */
  readonly bytes: number
  readonly recordBytesLargest: number
  readonly fileBytes: number
  /** Not the whole file was taken: it is larger than `maxBytes`, or has more records than fit. */
  readonly truncated: boolean
  /** One line each: what of the file could not be used, though the rest is. */
  readonly warnings: readonly string[]
}

/** An open file that is about to be loaded. */
export interface InputFile {
  readonly path: string
  readonly fd: number
  readonly fileBytes: number
  readonly maxBytes: number
  readonly recordBytesMax: number
}

export const inputBytesMaxDefault = 256 * 1024 * 1024
const inputBytesLimit = 1024 * 1024 * 1024
/** Looked at to tell what the file is. */
const probeBytes = 64 * 1024

const allowed = 'must be a file with lines of text, or a Kafka .log segment (batches of magic 2)'

/**
 * @throws {TidemarkError} INVALID_ARGUMENT in one line naming `--input`, the path, what is wrong
 *   and what
 *   is allowed: unreadable, no regular file, empty, neither text nor a segment, or a record too
 *   large.
 */
export function loadInput(path: string, options: InputOptions): InputRecords {
  const { maxBytes = inputBytesMaxDefault, recordBytesMax } = options
  if (!(maxBytes >= 1 && maxBytes <= inputBytesLimit)) {
    const limit = `must be from 1 to ${formatBytesExactly(inputBytesLimit)}`
    throw badValue('maxBytes of an input', String(maxBytes), limit)
  }
  const fileBytes = regularFileBytes(path)
  const fd = open(path)
  try {
    const file = { path, fd, fileBytes, maxBytes, recordBytesMax }
    return kindOf(file) === 'segment' ? loadSegment(file) : loadText(file)
  } catch (cause) {
    if (isTidemarkError(cause) || systemErrorCode(cause) === '') throw cause
    throw unreadable(path, cause)
  } finally {
    fs.closeSync(fd)
  }
}

/** Looked at before it is opened: opening a named pipe would wait for its other end. */
function regularFileBytes(path: string): number {
  let stats: fs.Stats
  try {
    stats = fs.statSync(path)
  } catch (cause) {
    throw unreadable(path, cause)
  }
  if (stats.isDirectory()) throw badValue('--input', path, `is a directory, ${allowed}`)
  if (!stats.isFile()) throw badValue('--input', path, `is not a regular file, ${allowed}`)
  if (stats.size === 0) throw badValue('--input', path, `is empty, ${allowed}`)
  return stats.size
}

function open(path: string): number {
  try {
    return fs.openSync(path, 'r')
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

const reasons = new Map([
  ['ENOENT', 'there is no such file'],
  ['ENOTDIR', 'there is no such file'],
  ['EACCES', 'it may not be read (permission denied)'],
  ['EPERM', 'it may not be read (permission denied)'],
  ['ELOOP', 'too many symbolic links'],
  ['ENAMETOOLONG', 'the name is too long'],
])

function unreadable(path: string, cause: unknown): Error {
  const code = systemErrorCode(cause)
  const reason = reasons.get(code) ?? `it cannot be read (${code || String(cause)})`
  return badValue('--input', path, `${reason}, ${allowed}`)
}

function kindOf(file: InputFile): 'text' | 'segment' {
  const probe = batchMemory(new ArrayBuffer(Math.min(file.fileBytes, probeBytes)))
  const count = fs.readSync(file.fd, probe.bytes, 0, probe.bytes.length, 0)
  const bytes = probe.bytes.subarray(0, count)
  if (checkBatchFraming(probe, 0, count) === undefined) return 'segment'
  if (!bytes.includes(0)) return 'text'
  throw badValue('--input', file.path, `${oldFormat(bytes) ?? 'is binary'}, ${allowed}`)
}

/** Message formats 0 and 1 have their magic at the same place, and lengths of at least 14. */
function oldFormat(bytes: Uint8Array): string | undefined {
  const magic = bytes[batchField.magic]
  const zeroOffset = bytes.length >= batchOverheadBytes && bytes[0] === 0 && bytes[8] === 0
  if (!zeroOffset || (magic !== 0 && magic !== 1)) return undefined
  const length = new DataView(bytes.buffer).getInt32(batchField.length)
  if (length < 14) return undefined
  return `looks like a segment of Kafka's message format ${magic} (older than 0.11)`
}
