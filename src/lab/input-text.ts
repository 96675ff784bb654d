/**
 * Lines of a text as records. Bytes, whatever their encoding: a line ends with LF or CRLF, which
 * are not part of the record, or with the file. An empty line is an empty record. The file is read
 * straight into the shared memory that the records are then sent from.
 */
import fs from 'node:fs'
import type { InputFile, InputRecords } from './input.ts'
import { Int32Column, inputRecordsMax } from './input-columns.ts'
import { badValue } from './units.ts'

const lineFeed = 10
const carriageReturn = 13
const readBytesMax = 16 * 1024 * 1024

export function loadText(file: InputFile): InputRecords {
  const payload = new SharedArrayBuffer(Math.min(file.fileBytes, file.maxBytes))
  const bytes = new Uint8Array(payload)
  const loaded = fill(file.fd, bytes)
  const cut = loaded < file.fileBytes && loaded === file.maxBytes
  const lines = splitLines(file, bytes.subarray(0, loaded), cut)
  if (lines.bytes === 0) {
    throw badValue('--input', file.path, 'holds no bytes but line ends, must have a line with text')
  }
  return {
    kind: 'text',
    path: file.path,
    payload,
    positions: lines.positions.share(),
    lengths: lines.lengths.share(),
    recordCount: lines.positions.length,
    bytes: lines.bytes,
    recordBytesLargest: lines.largest,
    fileBytes: file.fileBytes,
    truncated: cut || lines.end < loaded,
    warnings: [],
  }
}

/** Fewer bytes than there is room for where the file has become shorter meanwhile. */
function fill(fd: number, bytes: Uint8Array): number {
  let loaded = 0
  while (loaded < bytes.length) {
    const wanted = Math.min(readBytesMax, bytes.length - loaded)
    const count = fs.readSync(fd, bytes, loaded, wanted, loaded)
    if (count === 0) break
    loaded += count
  }
  return loaded
}

interface Lines {
  readonly positions: Int32Column
  readonly lengths: Int32Column
  readonly bytes: number
  readonly largest: number
  /** Where the last line taken ends, its line end included. */
  readonly end: number
}

/** `cut`: the file goes on after `bytes`, so that a last line without an end is not whole. */
function splitLines(file: InputFile, bytes: Uint8Array, cut: boolean): Lines {
  const positions = new Int32Column()
  const lengths = new Int32Column()
  let total = 0
  let largest = 0
  let start = 0
  while (start < bytes.length && positions.length < inputRecordsMax) {
    let feed = start
    while (feed < bytes.length && bytes[feed] !== lineFeed) feed++
    const ended = feed < bytes.length
    const end = ended && bytes[feed - 1] === carriageReturn ? feed - 1 : feed
    const length = end - start
    if (length > file.recordBytesMax)
      throw tooLong(file, positions.length + 1, length, ended || !cut)
    if (!ended && cut) {
      if (positions.length === 0) throw tooLong(file, 1, length, false)
      break
    }
    positions.push(start)
    lengths.push(length)
    total += length
    if (length > largest) largest = length
    start = feed + 1
  }
  return { positions, lengths, bytes: total, largest, end: Math.min(start, bytes.length) }
}

function tooLong(file: InputFile, line: number, length: number, whole: boolean): Error {
  const size = whole ? `${length} bytes` : `at least ${length} bytes`
  const max = Math.min(file.recordBytesMax, file.maxBytes)
  return badValue(
    '--input',
    file.path,
    `line ${line} has ${size}, a record may have ${max}; a larger --batch-bytes allows it`,
  )
}
