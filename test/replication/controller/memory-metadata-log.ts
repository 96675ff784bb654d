import { TidemarkError } from '../../../src/errors.ts'
import { CompactWriter } from '../../../src/replication/controller/compact-writer.ts'
import type { MetadataLogPort } from '../../../src/replication/controller/metadata-log-port.ts'
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
  readonly #values: Uint8Array[]
  readonly #writer = new CompactWriter()

  constructor(values: readonly Uint8Array[] = []) {
    this.#values = [...values]
  }

  get endOffset(): number {
    return this.#values.length
  }

  append(records: readonly MetadataRecord[]): number {
    if (this.failing) throw new TidemarkError('KAFKA_STORAGE_ERROR', 'no space left')
    const baseOffset = this.#values.length
    for (const record of records) {
      this.#writer.reset()
      encodeMetadataRecord(record, this.#writer)
      this.#values.push(this.#writer.written().slice())
    }
    this.appendCount++
    return baseOffset
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
