/**
 * Snapshots of the metadata, beside the log: `<end offset>-<epoch>.checkpoint` in KRaft's framing
 * (KIP-630; Kafka: RecordsSnapshotWriter, Snapshots): a control batch with the header, batches of
 * records numbered from 0, a control batch with the footer. Replaced as a whole, never changed.
 */
import { TidemarkError } from '../../errors.ts'
import { baseOffsetAt, leaderEpochAt, nextOffsetAt, stampBatch } from '../../log/batch-header.ts'
import { type BatchMemory, batchMemory } from '../../log/batch-memory.ts'
import type { FileSystem } from '../../log/file-system.ts'
import { forEachRecord } from '../../log/record-reader.ts'
import { storageError } from '../../log/storage-error.ts'
import {
  checkedBatchBytes,
  forEachMetadataRecord,
  isControlAt,
  MetadataBatches,
} from './metadata-batches.ts'
import type { MetadataRecord } from './metadata-records.ts'

export interface SnapshotId {
  /** Exclusive end of the log that it stands for. */
  readonly endOffset: number
  /** Epoch of the log's last record before that. */
  readonly epoch: number
}

const suffix = '.checkpoint'
const partSuffix = '.checkpoint.part'
const corruptSuffix = '.checkpoint.corrupt'
const nameOfSnapshot = /^(\d{20})-(\d{10})\.checkpoint$/

/** Types of control records (Kafka: ControlRecordType). */
const controlTypes = { header: 3, footer: 4 } as const
const controlKeyBytes = 4
/** Of the header's and the footer's format. */
const controlVersionMax = 0
/** The controller that comes after has one more, in 32 bits. */
const epochMax = 0x7fff_fffe
const recordsPerBatchMax = 1024

export class MetadataSnapshots {
  readonly #fs: FileSystem
  readonly #directory: string
  readonly #batches = new MetadataBatches()

  constructor(fs: FileSystem, directory: string) {
    this.#fs = fs
    this.#directory = directory
  }

  /** Those that are there, oldest first; what was left half written is removed. */
  list(): SnapshotId[] {
    const found: SnapshotId[] = []
    for (const name of this.#fs.list(this.#directory) ?? []) {
      if (name.endsWith(partSuffix)) this.#fs.remove(`${this.#directory}/${name}`)
      const match = nameOfSnapshot.exec(name)
      if (match === null) continue
      const id = { endOffset: Number(match[1]), epoch: Number(match[2]) }
      if (Number.isSafeInteger(id.endOffset) && id.epoch <= epochMax) found.push(id)
    }
    return found.sort((a, b) => a.endOffset - b.endOffset || a.epoch - b.epoch)
  }

  /** @throws {TidemarkError} KAFKA_STORAGE_ERROR; then there is no such snapshot. */
  write(id: SnapshotId, records: Iterable<MetadataRecord>, timestampMs: number): void {
    const file = this.#file(id)
    const part = file.slice(0, -suffix.length) + partSuffix
    try {
      const fd = this.#fs.open(part, 'create')
      try {
        this.#writeAll(fd, id, records, timestampMs)
        this.#fs.dataSync(fd)
      } finally {
        this.#fs.close(fd)
      }
      this.#fs.rename(part, file)
      this.#fs.syncDirectory(this.#directory)
    } catch (cause) {
      throw storageError('cannot write snapshot', file, cause)
    }
  }

  /** @throws {TidemarkError} CORRUPT_MESSAGE, UNSUPPORTED_VERSION, KAFKA_STORAGE_ERROR */
  read(id: SnapshotId): MetadataRecord[] {
    const file = this.#file(id)
    try {
      const bytes = this.#fs.readFile(file) ?? new Uint8Array(0)
      const { buffer, byteOffset, length } = bytes
      const memory = batchMemory(buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer)
      return readRecords(memory, id, file)
    } catch (cause) {
      throw storageError('cannot read snapshot', file, cause)
    }
  }

  remove(id: SnapshotId): void {
    this.#fs.remove(this.#file(id))
  }

  /** Kept for whoever wants to know what became of it, but no more taken for a snapshot. */
  setAside(id: SnapshotId): void {
    const file = this.#file(id)
    this.#fs.rename(file, file.slice(0, -suffix.length) + corruptSuffix)
  }

  #file({ endOffset, epoch }: SnapshotId): string {
    const name = `${String(endOffset).padStart(20, '0')}-${String(epoch).padStart(10, '0')}`
    return `${this.#directory}/${name}${suffix}`
  }

  #writeAll(
    fd: number,
    { epoch }: SnapshotId,
    records: Iterable<MetadataRecord>,
    timestampMs: number,
  ): void {
    let position = 0
    let offset = 0
    const put = (sizeBytes: number, count: number) => {
      const { memory } = this.#batches
      stampBatch(memory, 0, offset, epoch)
      for (let done = 0; done < sizeBytes; ) {
        done += this.#fs.write(fd, memory.bytes, done, sizeBytes - done, position + done)
      }
      position += sizeBytes
      offset += count
    }
    put(this.#encodeControl(controlTypes.header, headerValue(timestampMs), timestampMs), 1)
    let waiting: MetadataRecord[] = []
    const putWaiting = () => {
      if (waiting.length > 0) put(this.#batches.encode(waiting, timestampMs), waiting.length)
      waiting = []
    }
    for (const record of records) {
      waiting.push(record)
      if (waiting.length === recordsPerBatchMax) putWaiting()
    }
    putWaiting()
    put(this.#encodeControl(controlTypes.footer, footerValue(), timestampMs), 1)
  }

  #encodeControl(type: number, value: Uint8Array, timestampMs: number): number {
    const key = Buffer.alloc(controlKeyBytes)
    key.writeInt16BE(type, 2)
    return this.#batches.encodeRaw([{ key, value, timestampMs }], {
      compression: 'none',
      control: true,
    })
  }
}

/** SnapshotHeaderRecord 0: version, timestamp of the log's last record, no tagged fields. */
function headerValue(timestampMs: number): Uint8Array {
  const value = Buffer.alloc(11)
  value.writeBigInt64BE(BigInt(timestampMs), 2)
  return value
}

/** SnapshotFooterRecord 0: version, no tagged fields. */
function footerValue(): Uint8Array {
  return Buffer.alloc(3)
}

/** Whole only from header to footer, each batch beginning where the one before it ended. */
function readRecords(memory: BatchMemory, id: SnapshotId, file: string): MetadataRecord[] {
  const records: MetadataRecord[] = []
  const end = memory.bytes.length
  const corrupt = (position: number, what: string) =>
    new TidemarkError('CORRUPT_MESSAGE', `${file}: byte ${position}: ${what}`)
  let nextOffset = 0
  let isEnded = false
  for (let position = 0; position < end; ) {
    const sizeBytes = checkedBatchBytes(memory, position, end, file)
    if (isEnded) throw corrupt(position, 'a batch after the footer')
    if (baseOffsetAt(memory, position) !== nextOffset) throw corrupt(position, 'offset')
    if (leaderEpochAt(memory, position) !== id.epoch) throw corrupt(position, 'epoch')
    if (isControlAt(memory, position)) {
      const type = controlTypeAt(memory, position, file)
      const isHeader = type === controlTypes.header
      if (isHeader !== (position === 0)) throw corrupt(position, `control record ${type}`)
      isEnded = type === controlTypes.footer
    } else {
      if (position === 0) throw corrupt(position, 'no header')
      forEachMetadataRecord(memory, position, 0, (record) => records.push(record))
    }
    nextOffset = nextOffsetAt(memory, position)
    position += sizeBytes
  }
  if (!isEnded) throw corrupt(end, 'no footer')
  return records
}

/**
 * Of the batch's last control record; those that Kafka adds (5, 6) mean nothing here.
 *
 * @throws {TidemarkError} UNSUPPORTED_VERSION when a later version wrote it.
 */
function controlTypeAt(memory: BatchMemory, position: number, file: string): number {
  let type = -1
  forEachRecord(memory, position, (place) => {
    const { bytes, keyPosition, valuePosition } = place
    if (place.keyLength !== controlKeyBytes || place.valueLength < 2) return
    type = (bytes[keyPosition + 2] << 8) | bytes[keyPosition + 3]
    const version = (bytes[valuePosition] << 8) | bytes[valuePosition + 1]
    if (version <= controlVersionMax || !isOurs(type)) return
    const detail = `${file}: version ${version} of control record ${type}: at most ${controlVersionMax}`
    throw new TidemarkError('UNSUPPORTED_VERSION', detail)
  })
  return type
}

function isOurs(type: number): boolean {
  return type === controlTypes.header || type === controlTypes.footer
}
