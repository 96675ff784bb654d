/**
 * Records of a Kafka `.log` segment. Keys, values and timestamps are kept, headers are not. Batches
 * of transaction markers hold no records of a producer and are left out. A segment that ends in the
 * middle of a batch, or from some place on fails its checks, is used up to there.
 */
import { isTidemarkError } from '../errors.ts'
import { attributesAt, type BatchFault, recordCountAt } from '../log/batch-header.ts'
import { attributeBit } from '../log/batch-layout.ts'
import type { BatchMemory } from '../log/batch-memory.ts'
import { realFileSystem } from '../log/file-system.ts'
import { forEachRecord, type RecordPlace } from '../log/record-reader.ts'
import { scanSegment } from '../log/segment-scan.ts'
import type { InputFile, InputRecords } from './input.ts'
import { Float64Column, Int32Column, inputRecordsMax } from './input-columns.ts'
import { badValue } from './units.ts'

export function loadSegment(file: InputFile): InputRecords {
  const target = new SegmentRecords(file)
  const scan = scanSegment(
    realFileSystem,
    file.fd,
    { startPosition: 0, endPosition: file.fileBytes, verify: true },
    (memory, position, filePosition) => target.takeBatch(memory, position, filePosition),
  )
  const fault = target.fault ?? scan.fault
  return target.finish(fault, target.faultPosition ?? scan.position)
}

class SegmentRecords {
  /** What a batch that passed its checks turned out to hold; ends the walk. */
  fault: string | undefined = undefined
  faultPosition: number | undefined = undefined

  readonly #file: InputFile
  #bytes: Uint8Array<SharedArrayBuffer>
  readonly #positions = new Int32Column()
  readonly #lengths = new Int32Column()
  readonly #keyPositions = new Int32Column()
  readonly #keyLengths = new Int32Column()
  readonly #timestampsMs = new Float64Column()
  readonly #visit: (place: RecordPlace) => void
  #end = 0
  #largest = 0
  #hasKeys = false
  #headerRecords = 0
  #full = false

  constructor(file: InputFile) {
    this.#file = file
    // Enough, unless the batches are compressed.
    this.#bytes = new Uint8Array(new SharedArrayBuffer(Math.min(file.fileBytes, file.maxBytes)))
    this.#visit = (place) => this.#takeRecord(place)
  }

  /** False ends the walk: no room, or records that cannot be read. */
  takeBatch(memory: BatchMemory, position: number, filePosition: number): boolean {
    if ((attributesAt(memory, position) & attributeBit.control) !== 0) return true
    if (recordCountAt(memory, position) === 0) return true
    try {
      forEachRecord(memory, position, this.#visit)
    } catch (cause) {
      if (!isTidemarkError(cause)) throw cause
      if (cause.code === 'INVALID_ARGUMENT') throw cause
      const what = `the batch at position ${filePosition} cannot be read: ${cause.message}`
      if (cause.code !== 'CORRUPT_MESSAGE') throw badValue('--input', this.#file.path, what)
      this.fault = cause.message
      this.faultPosition = filePosition
      return false
    }
    return !this.#full
  }

  finish(fault: BatchFault | string | undefined, position: number): InputRecords {
    const file = this.#file
    const count = this.#positions.length
    if (count === 0 || this.#end === 0) throw this.#nothing(fault, position)
    const warnings: string[] = []
    if (fault !== undefined && !this.#full) {
      const used = `the ${count} records before it are used`
      warnings.push(`${file.path}: the batch at position ${position} ${describe(fault)}; ${used}`)
    }
    if (this.#headerRecords > 0) {
      const some = `${this.#headerRecords} of ${count} records`
      warnings.push(`${file.path}: ${some} have headers, which are left out`)
    }
    const keys = { positions: this.#keyPositions.share(), lengths: this.#keyLengths.share() }
    return {
      kind: 'segment',
      path: file.path,
      payload: this.#bytes.buffer,
      positions: this.#positions.share(),
      lengths: this.#lengths.share(),
      ...(this.#hasKeys ? { keys } : {}),
      timestampsMs: this.#timestampsMs.share(),
      recordCount: count,
      bytes: this.#end,
      recordBytesLargest: this.#largest,
      fileBytes: file.fileBytes,
      truncated: this.#full,
      warnings,
    }
  }

  #takeRecord(place: RecordPlace): void {
    const keyBytes = Math.max(0, place.keyLength)
    const size = keyBytes + Math.max(0, place.valueLength)
    if (size > this.#file.recordBytesMax) throw this.#tooLarge(place.offset, size)
    if (this.#full) return
    if (!this.#makeRoom(this.#end + size) || this.#positions.length === inputRecordsMax) {
      if (this.#positions.length === 0) throw this.#tooLarge(place.offset, size)
      this.#full = true
      return
    }
    this.#keyPositions.push(this.#end)
    this.#keyLengths.push(place.keyLength)
    if (place.keyLength >= 0) this.#hasKeys = true
    this.#copy(place.bytes, place.keyPosition, keyBytes)
    this.#positions.push(this.#end)
    this.#lengths.push(place.valueLength)
    this.#copy(place.bytes, place.valuePosition, size - keyBytes)
    this.#timestampsMs.push(place.timestampMs)
    if (place.headerCount > 0) this.#headerRecords++
    if (size > this.#largest) this.#largest = size
  }

  /** False: the cap is reached. */
  #makeRoom(end: number): boolean {
    if (end <= this.#bytes.length) return true
    if (end > this.#file.maxBytes) return false
    const size = Math.min(this.#file.maxBytes, Math.max(end, 2 * this.#bytes.length))
    const grown = new Uint8Array(new SharedArrayBuffer(size))
    grown.set(this.#bytes.subarray(0, this.#end))
    this.#bytes = grown
    return true
  }

  #copy(source: Uint8Array, position: number, length: number): void {
    if (length === 0) return
    this.#bytes.set(source.subarray(position, position + length), this.#end)
    this.#end += length
  }

  #tooLarge(offset: number, size: number): Error {
    const max = Math.min(this.#file.recordBytesMax, this.#file.maxBytes)
    const what = `the record at offset ${offset} has ${size} bytes, a record may have ${max}`
    return badValue('--input', this.#file.path, what)
  }

  #nothing(fault: BatchFault | string | undefined, position: number): Error {
    const why =
      fault === undefined
        ? 'it has no records with a key or value'
        : `the batch at position ${position} ${describe(fault)}`
    const must = 'must be a Kafka .log segment with records'
    return badValue('--input', this.#file.path, `${why}, ${must}`)
  }
}

function describe(fault: BatchFault | string): string {
  if (fault === 'header-cut' || fault === 'bytes-cut') return 'is cut off by the end of the file'
  return `fails its checks (${fault})`
}
