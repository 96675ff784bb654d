/** Batches of metadata records in memory: made for log and snapshots, and read back from both. */
import { TidemarkError } from '../../errors.ts'
import { invariant } from '../../invariant.ts'
import { BatchEncoder, type BatchOptions } from '../../log/batch-encoder.ts'
import { attributesAt, checkBatch, sizeInBytesAt } from '../../log/batch-header.ts'
import { attributeBit } from '../../log/batch-layout.ts'
import { type BatchMemory, batchMemory } from '../../log/batch-memory.ts'
import { batchSizeBound, type ProduceRecord } from '../../log/record.ts'
import { forEachRecord } from '../../log/record-reader.ts'
import { CompactWriter } from './compact-writer.ts'
import { decodeMetadataRecord, encodeMetadataRecord } from './metadata-record-codec.ts'
import type { MetadataRecord } from './metadata-records.ts'

const memoryBytesInitial = 64 * 1024

export class MetadataBatches {
  readonly #encoder = new BatchEncoder()
  readonly #writer = new CompactWriter()
  #memory = batchMemory(new ArrayBuffer(memoryBytesInitial))

  /** Grows with the largest batch; one for writing and reading. */
  get memory(): BatchMemory {
    return this.#memory
  }

  reserve(bytes: number): void {
    if (this.#memory.bytes.length < bytes) this.#memory = batchMemory(new ArrayBuffer(bytes))
  }

  /** Makes one batch at the beginning of the memory. @returns its bytes */
  encode(records: readonly MetadataRecord[], timestampMs: number): number {
    const produced = records.map((record) => {
      this.#writer.reset()
      encodeMetadataRecord(record, this.#writer)
      return { key: null, value: this.#writer.written().slice(), timestampMs }
    })
    return this.encodeRaw(produced, { compression: 'none' })
  }

  /** The same of records as they are. */
  encodeRaw(records: readonly ProduceRecord[], options: BatchOptions): number {
    const boundBytes = batchSizeBound(records)
    this.reserve(boundBytes)
    this.#encoder.begin(this.#memory, 0, boundBytes, options)
    for (const record of records) {
      invariant(this.#encoder.tryAppend(record), 'the bound of a batch holds its records')
    }
    return this.#encoder.finish()
  }
}

/**
 * Checks the batch at a position whole, header and CRC. @returns its bytes
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE naming the file or directory.
 */
export function checkedBatchBytes(
  memory: BatchMemory,
  position: number,
  endPosition: number,
  where: string,
): number {
  const fault = checkBatch(memory, position, endPosition - position)
  if (fault === undefined) return sizeInBytesAt(memory, position)
  throw new TidemarkError('CORRUPT_MESSAGE', `${where}: batch at byte ${position} fails: ${fault}`)
}

/** Control batches are the log's own affair (in Kafka: elections of the controller). */
export function isControlAt(memory: BatchMemory, position: number): boolean {
  return (attributesAt(memory, position) & attributeBit.control) !== 0
}

/**
 * Visits the metadata records of a checked batch.
 *
 * @throws {TidemarkError} CORRUPT_MESSAGE, UNSUPPORTED_VERSION
 */
export function forEachMetadataRecord(
  memory: BatchMemory,
  position: number,
  fromOffset: number,
  visit: (record: MetadataRecord, offset: number) => void,
): void {
  forEachRecord(memory, position, ({ bytes, offset, valuePosition, valueLength }) => {
    if (offset < fromOffset) return
    const value = bytes.subarray(valuePosition, valuePosition + Math.max(0, valueLength))
    visit(decodeMetadataRecord(value), offset)
  })
}
