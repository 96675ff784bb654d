/** Opens logs for tests, small enough in every measure that rolls and index entries happen. */
import { ManualClock } from '../../src/clock.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { type LogConfig, logConfigDefaults } from '../../src/log/log-config.ts'
import type { LogOptions } from '../../src/log/log-opening.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import type { LogRecord } from '../../src/log/record.ts'
import { labels, recordsIn, runOfRecords, textRecords } from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

export const smallConfig: LogConfig = {
  ...logConfigDefaults,
  segmentBytes: 1_000,
  indexIntervalBytes: 150,
}

export type LogSetup = Partial<Omit<LogOptions, 'config'>> & { config?: Partial<LogConfig> }

/** A log in a fresh directory unless one is given; as after a crash unless told otherwise. */
export function openLog(setup: LogSetup = {}): PartitionLog {
  return PartitionLog.open({
    directory: setup.directory ?? temporaryDirectory(),
    topic: 't',
    partition: 0,
    clock: new ManualClock(),
    cleanShutdown: false,
    ...setup,
    config: { ...smallConfig, ...setup.config },
  })
}

/** Appends `batches` batches of `recordsEach` records as leader, each named by its first offset. */
export function appendBatches(
  log: PartitionLog,
  batches: number,
  recordsEach = 2,
  leaderEpoch = 0,
): void {
  for (let at = 0; at < batches; at += 1) {
    log.append(runOfRecords(textRecords(recordsEach, `b${log.logEndOffset}`)), leaderEpoch)
  }
}

/** All records of the log from `offset` on. */
export function readAll(log: PartitionLog, offset = log.logStartOffset): LogRecord[] {
  const target = batchMemory(new SharedArrayBuffer(64 * 1024))
  const records: LogRecord[] = []
  let at = offset
  while (at < log.logEndOffset) {
    const bytes = log.read(at, log.logEndOffset, 10_000, target, 0)
    if (bytes === 0) throw new Error(`read nothing at ${at} of ${log.logEndOffset}`)
    for (const record of recordsIn(target, 0, bytes)) {
      const headers = record.headers.map((each) => ({ ...each, value: copyOf(each.value) }))
      records.push({ ...record, key: copyOf(record.key), value: copyOf(record.value), headers })
    }
    at = records.at(-1)!.offset + 1
  }
  return records
}

export function labelsOf(log: PartitionLog): string[] {
  return labels(readAll(log))
}

/** The target is read into again: what is kept must be copied. */
function copyOf(bytes: Uint8Array | null): Uint8Array | null {
  return bytes === null ? null : bytes.slice()
}
