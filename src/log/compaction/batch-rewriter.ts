/**
 * Makes of a batch one with fewer records (Kafka: `MemoryRecords.filterTo`). Offsets, last offset,
 * sequence numbers, epochs and codec stay what they were; what is left out leaves a gap.
 *
 * A tombstone's time to live begins with the compaction that first meets it as the latest of its
 * key: the batch then notes when it may go, in place of its base timestamp (KIP-534).
 */
import { TidemarkError } from '../../errors.ts'
import {
  attributesAt,
  baseOffsetAt,
  baseTimestampAt,
  compressions,
  maxTimestampAt,
  sizeInBytesAt,
} from '../batch-header.ts'
import {
  attributeBit,
  batchField,
  batchLengthPrefixBytes,
  batchOverheadBytes,
} from '../batch-layout.ts'
import { type BatchMemory, batchMemory } from '../batch-memory.ts'
import { compressRecords } from '../codec.ts'
import { crc32c } from '../crc32c.ts'
import { writeInt64 } from '../int64.ts'
import { forEachRecord, type RecordPlace } from '../record-reader.ts'
import {
  varintSize,
  varlongMagnitudeMax,
  varlongSize,
  writeVarint,
  writeVarlong,
} from '../varint.ts'

export interface RewriteRules {
  readonly retains: (place: RecordPlace) => boolean
  /** When a tombstone that this compaction meets first may go. */
  readonly deleteHorizonMs: number
  /** A transaction's end of which nothing else is left: it goes like a tombstone. */
  readonly isLoneMarker: boolean
}

/** What becomes of a batch: `same` as it is, `fewer` as rewritten, `none` of its records stays. */
export type Rewrite = 'same' | 'fewer' | 'none'

/** -1: the batch has no tombstone that was met by a compaction. */
export function deleteHorizonAt(memory: BatchMemory, position: number): number {
  const isSet = (attributesAt(memory, position) & attributeBit.deleteHorizon) !== 0
  return isSet ? baseTimestampAt(memory, position) : -1
}

const stagingBytesFirst = 64 * 1024

export class BatchRewriter {
  /** The last batch that was rewritten or emptied, from position 0 on. */
  memory: BatchMemory = batchMemory(new ArrayBuffer(stagingBytesFirst))
  #staging = new Uint8Array(stagingBytesFirst)
  /** Of the records that stay. */
  #offsetDeltas: number[] = []
  #timestampsMs: number[] = []
  #payloads: number[] = []
  #ends: number[] = []

  /**
   * Looks at all records of a batch. After `fewer` the new batch is in `memory`.
   *
   * @throws {TidemarkError} CORRUPT_MESSAGE, UNSUPPORTED_VERSION
   */
  rewrite(source: BatchMemory, position: number, rules: RewriteRules): Rewrite {
    const baseOffset = baseOffsetAt(source, position)
    let bytes = source.bytes
    let isWhole = true
    let hasTombstone = false
    this.#clear()
    forEachRecord(source, position, (place) => {
      if (!rules.retains(place)) {
        isWhole = false
        return
      }
      bytes = place.bytes
      hasTombstone ||= place.valueLength < 0
      this.#offsetDeltas.push(place.offset - baseOffset)
      this.#timestampsMs.push(place.timestampMs)
      this.#payloads.push(place.payloadPosition)
      this.#ends.push(place.endPosition)
    })
    if (this.#offsetDeltas.length === 0) return 'none'
    const horizonMs = deleteHorizonAt(source, position)
    const setsHorizon = (hasTombstone || rules.isLoneMarker) && horizonMs < 0
    if (isWhole && !setsHorizon) return 'same'
    this.#write(source, position, bytes, setsHorizon ? rules.deleteHorizonMs : horizonMs)
    return 'fewer'
  }

  /**
   * The batch without any record, kept for its offsets, or for its producer: then with its time,
   * by which producers expire. Else it has none, so that no time index leads to it.
   */
  empty(source: BatchMemory, position: number, keepsTime: boolean): void {
    this.#clear()
    this.#begin(source, position, batchOverheadBytes)
    const attributes = attributesAt(source, position)
    this.#finish(batchOverheadBytes, {
      attributes: attributes & ~(attributeBit.codecMask | attributeBit.deleteHorizon),
      baseTimestampMs: -1,
      maxTimestampMs: keepsTime ? maxTimestampAt(source, position) : -1,
    })
  }

  #write(source: BatchMemory, position: number, bytes: Uint8Array, horizonMs: number): void {
    const attributes = attributesAt(source, position)
    const isAppendTime = (attributes & attributeBit.logAppendTime) !== 0
    const baseTimestampMs = horizonMs >= 0 ? horizonMs : this.#timestampsMs[0]
    const length = this.#stage(bytes, baseTimestampMs)
    const codec = compressions[attributes & attributeBit.codecMask]
    const block = this.#staging.subarray(0, length)
    const records = codec === 'none' ? block : compressRecords(codec, this.#staging, 0, length)
    const size = batchOverheadBytes + records.length
    this.#begin(source, position, size)
    this.memory.bytes.set(records, batchOverheadBytes)
    const horizon = horizonMs >= 0 ? attributeBit.deleteHorizon : 0
    this.#finish(size, {
      attributes: (attributes & ~attributeBit.deleteHorizon) | horizon,
      baseTimestampMs,
      maxTimestampMs: isAppendTime
        ? maxTimestampAt(source, position)
        : this.#timestampsMs.reduce((newest, each) => Math.max(newest, each)),
    })
  }

  /** Writes the records anew, uncompressed, with times that count from another base. */
  #stage(bytes: Uint8Array, baseTimestampMs: number): number {
    let at = 0
    for (let index = 0; index < this.#offsetDeltas.length; index += 1) {
      const offsetDelta = this.#offsetDeltas[index]
      const timestampDelta = this.#timestampsMs[index] - baseTimestampMs
      if (!(Math.abs(timestampDelta) <= varlongMagnitudeMax)) {
        const detail = `timestamp ${this.#timestampsMs[index]} is too far from ${baseTimestampMs}`
        throw new TidemarkError('INVALID_RECORD', detail)
      }
      const payload = this.#payloads[index]
      const payloadBytes = this.#ends[index] - payload
      const body = 1 + varlongSize(timestampDelta) + varintSize(offsetDelta) + payloadBytes
      this.#growStaging(at + varintSize(body) + body)
      at = writeVarint(this.#staging, at, body)
      this.#staging[at] = 0
      at = writeVarlong(this.#staging, at + 1, timestampDelta)
      at = writeVarint(this.#staging, at, offsetDelta)
      this.#staging.set(bytes.subarray(payload, payload + payloadBytes), at)
      at += payloadBytes
    }
    return at
  }

  /** Takes over the old header, for all that stays. */
  #begin(source: BatchMemory, position: number, size: number): void {
    if (this.memory.bytes.length < size) {
      this.memory = batchMemory(new ArrayBuffer(Math.max(size, 2 * this.memory.bytes.length)))
    }
    this.memory.bytes.set(source.bytes.subarray(position, position + batchOverheadBytes), 0)
  }

  #finish(
    size: number,
    header: {
      readonly attributes: number
      readonly baseTimestampMs: number
      readonly maxTimestampMs: number
    },
  ): void {
    const { bytes, view } = this.memory
    view.setInt32(batchField.length, size - batchLengthPrefixBytes)
    view.setInt16(batchField.attributes, header.attributes)
    writeInt64(view, batchField.baseTimestamp, header.baseTimestampMs)
    writeInt64(view, batchField.maxTimestamp, header.maxTimestampMs)
    view.setInt32(batchField.recordCount, this.#offsetDeltas.length)
    view.setUint32(batchField.crc, crc32c(bytes, batchField.attributes, size))
  }

  #growStaging(bytes: number): void {
    if (bytes <= this.#staging.length) return
    const larger = new Uint8Array(Math.max(bytes, 2 * this.#staging.length))
    larger.set(this.#staging)
    this.#staging = larger
  }

  #clear(): void {
    this.#offsetDeltas = []
    this.#timestampsMs = []
    this.#payloads = []
    this.#ends = []
  }
}

/** Bytes of the batch that `BatchRewriter` has made. */
export function rewrittenBytes({ memory }: BatchRewriter): number {
  return sizeInBytesAt(memory, 0)
}
