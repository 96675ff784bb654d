/** A log that lives through everything at random, compactions included, and what must be in it. */
import { join } from 'node:path'
import { ManualClock } from '../../src/clock.ts'
import { BatchEncoder } from '../../src/log/batch-encoder.ts'
import { compressions } from '../../src/log/batch-header.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { Cleaner } from '../../src/log/compaction/cleaner.ts'
import { realFileSystem } from '../../src/log/file-system.ts'
import { logConfigDefaults } from '../../src/log/log-config.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { type ExpectedRecord, type Random, randomNumbers, randomText } from './random-log.ts'

const batchBytesMax = 8_000
const mapBytes = 1 << 20
const config = {
  ...logConfigDefaults,
  compacts: true,
  deletes: false,
  segmentBytes: 12_000,
  indexIntervalBytes: 300,
  fileDeleteDelayMs: 0,
}

export interface OperationCounts {
  append: number
  epoch: number
  truncate: number
  compact: number
  deleteRecords: number
  reopen: number
}

export class RandomCompactedLog {
  readonly directory: string
  readonly counts: OperationCounts = {
    append: 0,
    epoch: 0,
    truncate: 0,
    compact: 0,
    deleteRecords: 0,
    reopen: 0,
  }
  /** Records that compactions have removed, all in all. */
  compactedCount = 0
  /** What must be there, at and above the log start. */
  records: ExpectedRecord[] = []
  logStartOffset = 0
  readonly #random: Random
  readonly #clock = new ManualClock(1_700_000_000_000)
  readonly #encoder = new BatchEncoder()
  #batchBases: number[] = []
  #log: PartitionLog
  #leaderEpoch = 0
  #highWatermark = 0

  constructor(parent: string, seed: number) {
    this.directory = join(parent, `compacted-${seed}`, 'judged-0')
    this.#random = randomNumbers(seed)
    this.#log = this.#open()
  }

  /** One operation; most are appends. */
  step(): void {
    const choice = this.#random(100)
    if (choice < 80) this.#append()
    else if (choice < 88) this.#beginEpoch()
    else if (choice < 94) this.#compact()
    else if (choice < 96) this.#deleteRecords()
    else this.#reopen()
  }

  close(): void {
    this.#log.close()
  }

  #open(): PartitionLog {
    return PartitionLog.open({
      directory: this.directory,
      topic: 'judged',
      partition: 0,
      config,
      clock: this.#clock,
      cleanShutdown: true,
      logStartOffset: this.logStartOffset,
    })
  }

  #append(): void {
    this.counts.append += 1
    const random = this.#random
    const memory = batchMemory(new ArrayBuffer(batchBytesMax))
    const compression = compressions[random(compressions.length)]!
    const first = this.#log.logEndOffset
    this.#encoder.begin(memory, 0, batchBytesMax, { compression })
    for (let count = 0, last = random(12); count <= last; count += 1) {
      this.#clock.advance(random(500))
      const timestampMs = this.#clock.nowMs() - random(50)
      // So few keys that most records have a later one of the same, and text that all codecs like.
      const key = `key ${random(700)}`
      const value =
        random(9) === 0
          ? null
          : randomText(random, random(60))
              .toString()
              .repeat(1 + random(5))
      const bytes = value === null ? null : Buffer.from(value)
      const record = { timestampMs, key: Buffer.from(key), value: bytes }
      if (!this.#encoder.tryAppend(record)) break
      const leaderEpoch = this.#leaderEpoch
      this.records.push({
        offset: first + count,
        leaderEpoch,
        timestampMs,
        key,
        value,
        headerKeys: [],
      })
    }
    this.#encoder.finish()
    this.#log.append({ memory, positions: Int32Array.of(0), count: 1 }, this.#leaderEpoch)
    this.#batchBases.push(first)
    if (random(3) > 0) this.#highWatermark = this.#log.logEndOffset
  }

  /** Now and then with the tail cut off before it, down to the high watermark at most. */
  #beginEpoch(): void {
    this.counts.epoch += 1
    this.#leaderEpoch += 1 + this.#random(3)
    const cuts = this.#batchBases.filter((base) => base >= this.#highWatermark)
    if (cuts.length === 0) return
    this.counts.truncate += 1
    const offset = cuts[this.#random(cuts.length)]!
    this.#log.truncateTo(offset)
    this.#batchBases = this.#batchBases.filter((base) => base < offset)
    this.records = this.records.filter((record) => record.offset < offset)
  }

  #compact(): void {
    const now = { nowMs: this.#clock.nowMs(), lastStableOffset: this.#highWatermark }
    const job = this.#log.compaction.plan(now, mapBytes)
    if (job === undefined) return
    this.counts.compact += 1
    const cleaner = new Cleaner(realFileSystem, job)
    while (cleaner.step() > 0);
    this.#log.compaction.replace(cleaner.result)
    this.#log.flush()
    const { cleanedOffset } = cleaner.result
    const latest = new Map<string, number>()
    for (const { offset, key } of this.records) {
      if (offset < cleanedOffset) latest.set(key!, offset)
    }
    const kept = this.records.filter(
      ({ offset, key }) => offset >= cleanedOffset || latest.get(key!) === offset,
    )
    this.compactedCount += this.records.length - kept.length
    this.records = kept
  }

  #deleteRecords(): void {
    const below = this.#highWatermark - this.logStartOffset
    if (below < 500) return
    this.counts.deleteRecords += 1
    this.logStartOffset += this.#random(Math.floor(below / 4))
    this.#log.deleteRecordsBefore(this.logStartOffset, this.#highWatermark)
    this.records = this.records.filter(({ offset }) => offset >= this.logStartOffset)
  }

  #reopen(): void {
    this.counts.reopen += 1
    this.#log.close()
    this.#log = this.#open()
  }
}
