import { TidemarkError } from '../../../src/errors.ts'
import { CompactWriter } from '../../../src/replication/controller/compact-writer.ts'
import type {
  MetadataLogPort,
  MetadataSnapshotContents,
} from '../../../src/replication/controller/metadata-log-port.ts'
import {
  decodeMetadataRecord,
  encodeMetadataRecord,
} from '../../../src/replication/controller/metadata-record-codec.ts'
import type { MetadataRecord } from '../../../src/replication/controller/metadata-records.ts'

/** A metadata log in memory that keeps bytes, so that every replay goes through the codec. */
export class MemoryMetadataLog implements MetadataLogPort {
  /** Makes the next append fail as a full disk does. */
  failing = false
  appendCount = 0
  /** A snapshot is due after so many records. */
  snapshotRecordsMax = Number.POSITIVE_INFINITY
  snapshotCount = 0
  readonly #values: Uint8Array[]
  readonly #writer = new CompactWriter()
  #snapshot: { readonly endOffset: number; readonly values: readonly Uint8Array[] } | undefined

  constructor(values: readonly Uint8Array[] = []) {
    this.#values = [...values]
  }

  /** As the disk's would begin if it kept no more than it must. */
  get startOffset(): number {
    return this.#snapshot?.endOffset ?? 0
  }

  get endOffset(): number {
    return this.#values.length
  }

  append(records: readonly MetadataRecord[]): number {
    if (this.failing) throw new TidemarkError('KAFKA_STORAGE_ERROR', 'no space left')
    const baseOffset = this.#values.length
    for (const record of records) this.#values.push(this.#encode(record))
    this.appendCount++
    return baseOffset
  }

  get isSnapshotDue(): boolean {
    return this.endOffset - this.startOffset >= this.snapshotRecordsMax
  }

  writeSnapshot(records: Iterable<MetadataRecord>): void {
    if (this.failing) throw new TidemarkError('KAFKA_STORAGE_ERROR', 'no space left')
    const values = Array.from(records, (record) => this.#encode(record))
    this.#snapshot = { endOffset: this.endOffset, values }
    this.snapshotCount++
  }

  readSnapshot(): MetadataSnapshotContents | undefined {
    if (this.#snapshot === undefined) return undefined
    const { endOffset, values } = this.#snapshot
    return { endOffset, records: values.map((value) => decodeMetadataRecord(value)) }
  }

  #encode(record: MetadataRecord): Uint8Array {
    this.#writer.reset()
    encodeMetadataRecord(record, this.#writer)
    return this.#writer.written().slice()
  }

  replay(fromOffset: number, visit: (record: MetadataRecord, offset: number) => void): void {
    for (let offset = fromOffset; offset < this.#values.length; offset++) {
      visit(decodeMetadataRecord(this.#values[offset]), offset)
    }
  }

  flushIfDue(): boolean {
    return false
  }

  /** What a crash after `endOffset` records leaves. */
  cutAt(endOffset: number): MemoryMetadataLog {
    return new MemoryMetadataLog(this.#values.slice(0, endOffset))
  }
}
