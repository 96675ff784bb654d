/**
 * The controller's log on disk: an ordinary partition log named as Kafka names it, whose batches
 * carry the controller's epoch and hold record values in KRaft's framing. Beside it lie snapshots;
 * two are kept, and of the log what the older of them doesn't tell: so one may turn out damaged.
 */
import type { Clock } from '../../clock.ts'
import { isTidemarkError, TidemarkError } from '../../errors.ts'
import { limits } from '../../limits.ts'
import { nextOffsetAt } from '../../log/batch-header.ts'
import { type FileSystem, realFileSystem } from '../../log/file-system.ts'
import { type FlushPolicy, logConfigDefaults } from '../../log/log-config.ts'
import { makeDirectoryDurably } from '../../log/make-directory.ts'
import { PartitionLog } from '../../log/partition-log.ts'
import { removeFiles } from '../../log/retention/doomed-files.ts'
import {
  checkedBatchBytes,
  forEachMetadataRecord,
  isControlAt,
  MetadataBatches,
} from './metadata-batches.ts'
import {
  type MetadataLogPort,
  type MetadataSnapshotContents,
  metadataTopic,
} from './metadata-log-port.ts'
import type { MetadataRecord } from './metadata-records.ts'
import { MetadataSnapshots } from './metadata-snapshots.ts'

export const metadataDirectoryName = `${metadataTopic}-0`

const snapshotsKept = 2
const snapshotBytesDefault = 20 * 1024 * 1024
/**
 * Only whole segments go, so that one mustn't be much larger than what a snapshot saves; and one
 * must hold the largest decision: 100,000 partitions of 8 replicas, some 250 bytes each.
 */
const segmentBytesDefault = 32 * 1024 * 1024

export interface MetadataLogOptions {
  /** The controller's own; the log lies in a directory inside, made when absent. */
  readonly directory: string
  readonly clock: Clock
  /**
   * Default: when the system likes. Then a crash of the machine, not of a thread, may lose the
   * end.
   */
  readonly flush?: FlushPolicy
  /** `metadata.log.max.record.bytes.between.snapshots`; default 20 MiB. */
  readonly snapshotBytes?: number
  /** Default 32 MiB. No decision may be larger. */
  readonly segmentBytes?: number
  readonly fs?: FileSystem
}

export class MetadataLog implements MetadataLogPort {
  readonly #log: PartitionLog
  readonly #fs: FileSystem
  readonly #clock: Clock
  readonly #snapshotBytes: number
  readonly #snapshots: MetadataSnapshots
  readonly #batches = new MetadataBatches()
  readonly #positions = new Int32Array(1)
  #newest: MetadataSnapshotContents | undefined
  /** Appended since the newest snapshot; what was there at the start counts when replayed. */
  #bytesSinceSnapshot = 0
  #isReplayed = false
  #timestampMs: number
  /** Of this controller's time at the log: one more than that of the one before. */
  readonly epoch: number

  private constructor(log: PartitionLog, fs: FileSystem, options: MetadataLogOptions) {
    this.#log = log
    this.#fs = fs
    this.#clock = options.clock
    this.#snapshotBytes = options.snapshotBytes ?? snapshotBytesDefault
    this.#snapshots = new MetadataSnapshots(fs, log.directory)
    this.#timestampMs = Math.floor(options.clock.nowMs())
    const latest = this.#openSnapshot()
    this.epoch = Math.max(0, latest, log.leaderEpochs.latest) + 1
  }

  /**
   * Opens the log, cutting off what a crash left half written.
   *
   * @throws {TidemarkError} CORRUPT_FILE when neither the log nor a snapshot tells how it began,
   *   UNSUPPORTED_VERSION, KAFKA_STORAGE_ERROR
   */
  static open(options: MetadataLogOptions): MetadataLog {
    const { directory, clock, flush, fs = realFileSystem } = options
    // Or a loss of power might take it away with all that was made durable in it.
    makeDirectoryDurably(fs, directory)
    const log = PartitionLog.open({
      directory: `${directory}/${metadataDirectoryName}`,
      topic: metadataTopic,
      partition: 0,
      config: {
        ...logConfigDefaults,
        segmentBytes: options.segmentBytes ?? segmentBytesDefault,
        // Neither age nor size ends a decision, only a snapshot that tells it.
        retentionMs: -1,
        retentionBytes: -1,
        fileDeleteDelayMs: 0,
        maxMessageBytes: limits.batchBytesMax,
        flush: flush ?? { kind: 'os' },
      },
      clock,
      // It is read whole anyway, so that checking all of it costs little more.
      cleanShutdown: false,
      fs,
    })
    try {
      return new MetadataLog(log, fs, options)
    } catch (error) {
      log.close({ flush: false })
      throw error
    }
  }

  get directory(): string {
    return this.#log.directory
  }

  get startOffset(): number {
    return this.#log.logStartOffset
  }

  get endOffset(): number {
    return this.#log.logEndOffset
  }

  append(records: readonly MetadataRecord[]): number {
    const baseOffset = this.#log.logEndOffset
    this.#timestampMs = Math.floor(this.#clock.nowMs())
    const sizeBytes = this.#batches.encode(records, this.#timestampMs)
    const { memory } = this.#batches
    this.#log.append({ memory, positions: this.#positions, count: 1 }, this.epoch)
    this.#bytesSinceSnapshot += sizeBytes
    return baseOffset
  }

  replay(fromOffset: number, visit: (record: MetadataRecord, offset: number) => void): void {
    const end = this.#log.logEndOffset
    for (let offset = fromOffset; offset < end; ) {
      const bytes = this.#read(offset, end)
      if (bytes === 0) {
        throw new TidemarkError('CORRUPT_MESSAGE', `${this.directory}: nothing at offset ${offset}`)
      }
      if (!this.#isReplayed) this.#bytesSinceSnapshot += bytes
      offset = this.#visitBatches(bytes, fromOffset, visit)
    }
    this.#isReplayed = true
  }

  readSnapshot(): MetadataSnapshotContents | undefined {
    return this.#newest
  }

  get isSnapshotDue(): boolean {
    return this.#bytesSinceSnapshot >= this.#snapshotBytes
  }

  writeSnapshot(records: Iterable<MetadataRecord>): void {
    this.#bytesSinceSnapshot = 0
    // Only after the log: a snapshot of records that a crash takes away would be of the future.
    this.#log.flush()
    this.#newest = undefined
    const id = { endOffset: this.endOffset, epoch: this.epoch }
    this.#snapshots.write(id, records, this.#timestampMs)
    const all = this.#snapshots.list()
    const kept = all.slice(-snapshotsKept)
    if (kept.length < snapshotsKept) return
    this.#log.advanceLogStart(Math.min(kept[0].endOffset, this.endOffset))
    for (const old of all.slice(0, -snapshotsKept)) this.#snapshots.remove(old)
    this.#deleteOldSegments()
  }

  flushIfDue(nowMs: number): boolean {
    return this.#log.flushIfDue(nowMs)
  }

  /** Makes the log durable and closes it. */
  close(): void {
    this.#log.close()
  }

  /** Nobody but this thread reads them, so that their files go at once. */
  #deleteOldSegments(): void {
    const nowMs = this.#clock.nowMs()
    this.#log.deleteOldSegments({ nowMs, highWatermark: this.endOffset })
    removeFiles(this.#fs, this.#log.doomed.takeDue(nowMs))
  }

  /** Takes the newest snapshot that is whole. @returns the epoch of the newest there is, or -1 */
  #openSnapshot(): number {
    const ids = this.#snapshots.list()
    for (const id of ids.toReversed()) {
      const records = this.#tryRead(id)
      if (records === undefined) continue
      this.#newest = { records, endOffset: id.endOffset }
      break
    }
    const reachesTo = this.#newest?.endOffset ?? 0
    if (this.startOffset > reachesTo) {
      const detail = `${this.directory}: the log begins at offset ${this.startOffset}, whole snapshots reach to ${reachesTo}`
      throw new TidemarkError('CORRUPT_FILE', detail)
    }
    // The log lost what a snapshot still has; what is left of it would be told twice.
    if (this.endOffset < reachesTo) this.#log.truncateFullyAndStartAt(reachesTo)
    return ids.reduce((latest, { epoch }) => Math.max(latest, epoch), -1)
  }

  #tryRead(id: {
    readonly endOffset: number
    readonly epoch: number
  }): MetadataRecord[] | undefined {
    try {
      return this.#snapshots.read(id)
    } catch (error) {
      if (!isTidemarkError(error, 'CORRUPT_MESSAGE')) throw error
      this.#snapshots.setAside(id)
      return undefined
    }
  }

  /** Reads whole batches into the memory, which grows until the first of them fits. */
  #read(offset: number, end: number): number {
    for (;;) {
      const { memory } = this.#batches
      const { length } = memory.bytes
      try {
        return this.#log.read(offset, end, length, memory, 0)
      } catch (error) {
        const grows = isTidemarkError(error, 'RECORD_TOO_LARGE') && length < limits.batchBytesMax
        if (!grows) throw error
        this.#batches.reserve(Math.min(limits.batchBytesMax, length * 2))
      }
    }
  }

  /** Returns the offset after the batches. */
  #visitBatches(
    bytes: number,
    fromOffset: number,
    visit: (record: MetadataRecord, offset: number) => void,
  ): number {
    const { memory } = this.#batches
    let nextOffset = fromOffset
    for (let position = 0; position < bytes; ) {
      const sizeBytes = checkedBatchBytes(memory, position, bytes, this.directory)
      nextOffset = nextOffsetAt(memory, position)
      if (!isControlAt(memory, position)) {
        forEachMetadataRecord(memory, position, fromOffset, visit)
      }
      position += sizeBytes
    }
    return nextOffset
  }
}
