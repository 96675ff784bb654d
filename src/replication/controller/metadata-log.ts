/**
 * The controller's log on disk: an ordinary partition log named as Kafka names it, whose batches
 * carry the controller's epoch and hold record values in KRaft's framing.
 */
import type { Clock } from '../../clock.ts'
import { isTidemarkError, TidemarkError } from '../../errors.ts'
import { invariant } from '../../invariant.ts'
import { limits } from '../../limits.ts'
import { BatchEncoder } from '../../log/batch-encoder.ts'
import { attributesAt, checkBatch, nextOffsetAt, sizeInBytesAt } from '../../log/batch-header.ts'
import { attributeBit } from '../../log/batch-layout.ts'
import { type BatchMemory, batchMemory } from '../../log/batch-memory.ts'
import { type FileSystem, realFileSystem } from '../../log/file-system.ts'
import { type FlushPolicy, logConfigDefaults } from '../../log/log-config.ts'
import { PartitionLog } from '../../log/partition-log.ts'
import { batchSizeBound, type ProduceRecord } from '../../log/record.ts'
import { forEachRecord } from '../../log/record-reader.ts'
import { CompactWriter } from './compact-writer.ts'
import { type MetadataLogPort, metadataTopic } from './metadata-log-port.ts'
import { decodeMetadataRecord, encodeMetadataRecord } from './metadata-record-codec.ts'
import type { MetadataRecord } from './metadata-records.ts'

export const metadataDirectoryName = `${metadataTopic}-0`

const readBytesInitial = 1024 * 1024

export interface MetadataLogOptions {
  /** The controller's own; the log lies in a directory inside, made when absent. */
  readonly directory: string
  readonly clock: Clock
  /**
   * Default: when the system likes. Then a crash of the machine, not of a thread, may lose the
   * end.
   */
  readonly flush?: FlushPolicy
  readonly fs?: FileSystem
}

export class MetadataLog implements MetadataLogPort {
  readonly #log: PartitionLog
  readonly #clock: Clock
  readonly #encoder = new BatchEncoder()
  readonly #writer = new CompactWriter()
  readonly #positions = new Int32Array(1)
  /** Grows with the largest batch; one for writing and reading. */
  #memory = memoryOf(readBytesInitial)
  /** Of this controller's time at the log: one more than that of the one before. */
  readonly epoch: number

  private constructor(log: PartitionLog, clock: Clock) {
    this.#log = log
    this.#clock = clock
    this.epoch = Math.max(0, log.leaderEpochs.latest) + 1
  }

  /**
   * Opens the log, cutting off what a crash left half written.
   *
   * @throws {TidemarkError} CORRUPT_FILE, KAFKA_STORAGE_ERROR
   */
  static open({ directory, clock, flush, fs = realFileSystem }: MetadataLogOptions): MetadataLog {
    fs.makeDirectory(directory)
    const log = PartitionLog.open({
      directory: `${directory}/${metadataDirectoryName}`,
      topic: metadataTopic,
      partition: 0,
      config: {
        ...logConfigDefaults,
        maxMessageBytes: limits.batchBytesMax,
        flush: flush ?? { kind: 'os' },
      },
      clock,
      // It is read whole anyway, so that checking all of it costs little more.
      cleanShutdown: false,
      fs,
    })
    return new MetadataLog(log, clock)
  }

  get directory(): string {
    return this.#log.directory
  }

  get endOffset(): number {
    return this.#log.logEndOffset
  }

  append(records: readonly MetadataRecord[]): number {
    const baseOffset = this.#log.logEndOffset
    const produced = this.#produceRecords(records)
    const boundBytes = batchSizeBound(produced)
    this.#reserve(boundBytes)
    this.#encoder.begin(this.#memory, 0, boundBytes, { compression: 'none' })
    for (const record of produced) {
      invariant(this.#encoder.tryAppend(record), 'the bound of a batch holds its records')
    }
    this.#encoder.finish()
    this.#log.append({ memory: this.#memory, positions: this.#positions, count: 1 }, this.epoch)
    return baseOffset
  }

  replay(fromOffset: number, visit: (record: MetadataRecord, offset: number) => void): void {
    const end = this.#log.logEndOffset
    for (let offset = fromOffset; offset < end; ) {
      const bytes = this.#read(offset, end)
      if (bytes === 0) {
        throw new TidemarkError('CORRUPT_MESSAGE', `${this.directory}: nothing at offset ${offset}`)
      }
      offset = this.#visitBatches(bytes, fromOffset, visit)
    }
  }

  flushIfDue(nowMs: number): boolean {
    return this.#log.flushIfDue(nowMs)
  }

  /** Makes the log durable and closes it. */
  close(): void {
    this.#log.close()
  }

  #produceRecords(records: readonly MetadataRecord[]): ProduceRecord[] {
    const timestampMs = Math.floor(this.#clock.nowMs())
    return records.map((record) => {
      this.#writer.reset()
      encodeMetadataRecord(record, this.#writer)
      return { key: null, value: this.#writer.written().slice(), timestampMs }
    })
  }

  /** Reads whole batches into the memory, which grows until the first of them fits. */
  #read(offset: number, end: number): number {
    for (;;) {
      const { length } = this.#memory.bytes
      try {
        return this.#log.read(offset, end, length, this.#memory, 0)
      } catch (error) {
        const grows = isTidemarkError(error, 'RECORD_TOO_LARGE') && length < limits.batchBytesMax
        if (!grows) throw error
        this.#reserve(Math.min(limits.batchBytesMax, length * 2))
      }
    }
  }

  /** Returns the offset after the batches. */
  #visitBatches(
    bytes: number,
    fromOffset: number,
    visit: (record: MetadataRecord, offset: number) => void,
  ): number {
    const memory = this.#memory
    let nextOffset = fromOffset
    for (let position = 0; position < bytes; ) {
      const fault = checkBatch(memory, position, bytes - position)
      if (fault !== undefined) {
        throw new TidemarkError('CORRUPT_MESSAGE', `${this.directory}: batch fails: ${fault}`)
      }
      nextOffset = nextOffsetAt(memory, position)
      // Control batches are the log's own affair (in Kafka: elections of the controller).
      if ((attributesAt(memory, position) & attributeBit.control) === 0) {
        forEachRecord(memory, position, (place) => {
          if (place.offset < fromOffset) return
          const { valuePosition, valueLength } = place
          const value = place.bytes.subarray(
            valuePosition,
            valuePosition + Math.max(0, valueLength),
          )
          visit(decodeMetadataRecord(value), place.offset)
        })
      }
      position += sizeInBytesAt(memory, position)
    }
    return nextOffset
  }

  #reserve(bytes: number): void {
    if (this.#memory.bytes.length < bytes) this.#memory = memoryOf(bytes)
  }
}

function memoryOf(bytes: number): BatchMemory {
  return batchMemory(new ArrayBuffer(bytes))
}
