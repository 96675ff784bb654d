/**
 * A log's directory with one of its files spoiled. Recovery must make a sound log of any of them;
 * opening it as if it had ended cleanly may find it corrupt, and must then say so.
 */
import { ManualClock } from '../../src/clock.ts'
import { isTidemarkError } from '../../src/errors.ts'
import {
  baseOffsetAt,
  checkBatch,
  nextOffsetAt,
  sizeInBytesAt,
} from '../../src/log/batch-header.ts'
import { batchMemory } from '../../src/log/batch-memory.ts'
import { type LogConfig, logConfigDefaults } from '../../src/log/log-config.ts'
import { recoverLog } from '../../src/log/log-recovery.ts'
import { OpenFiles } from '../../src/log/open-files.ts'
import { PartitionLog } from '../../src/log/partition-log.ts'
import { SegmentReader } from '../../src/log/segment-reader.ts'
import { runOfRecords, textRecords } from '../support/batch-builder.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'
import type { FuzzTarget } from './fuzz-target.ts'

const MiB = 1024 * 1024
const directory = '/t-0'
const config: LogConfig = { ...logConfigDefaults, segmentBytes: 700, indexIntervalBytes: 100 }
const recordsEach = 2
const recordsInAll = 24
const target = batchMemory(new ArrayBuffer(64 * 1024))

interface NamedFile {
  readonly name: string
  readonly bytes: Uint8Array
}

const files = filesOfSmallLog()

export const directoryTarget: FuzzTarget = {
  name: 'log directory',
  weight: 4,
  /** The first byte says which file it is. */
  inputs: files.map(({ bytes }, index) => Uint8Array.of(index, ...bytes)),
  codes: [],
  bytesMax: 8 * MiB,
  run(bytes, random) {
    const spoiled = files[(bytes[0] ?? 0) % files.length]!.name
    const spoil = (fs: MemoryFileSystem) => writeFile(fs, spoiled, bytes.subarray(1))
    const isIndex = spoiled.endsWith('index')
    const kind = random.nextBelow(isIndex ? 3 : 2)
    if (kind === 0) readRecovered(directoryOf(spoil))
    else if (kind === 1) readUnrecovered(directoryOf(spoil))
    else readByBadIndex(directoryOf(spoil), random.nextBelow(recordsInAll))
  },
}

/** The data is as it was: whatever an index says, the right batch is found, and cut at. */
function readByBadIndex(fs: MemoryFileSystem, offset: number): void {
  const log = open(fs, true)
  for (const source of [log, SegmentReader.open(directory, { fs })]) {
    source.read(offset, recordsInAll, 1, target, 0)
    const [base, next] = [baseOffsetAt(target, 0), nextOffsetAt(target, 0)]
    if (base > offset || next <= offset) throw new Error(`read at ${offset}: ${base} to ${next}`)
  }
  log.truncateTo(offset)
  if (readAll(log, 0, offset) !== offset - (offset % recordsEach)) {
    throw new Error(`cut at ${offset}, and what is left does not end there`)
  }
}

function readRecovered(fs: MemoryFileSystem): void {
  const options = { recoveryPoint: 0, logStartOffset: 0, config, files: new OpenFiles(fs) }
  const { logEndOffset } = recoverLog(directory, options)
  const log = open(fs, true)
  if (log.logEndOffset !== logEndOffset) {
    throw new Error(`opens at ${log.logEndOffset}, recovered to ${logEndOffset}`)
  }
  if (readAll(log, log.logStartOffset, logEndOffset) !== logEndOffset) {
    throw new Error('not all of a recovered log can be read')
  }
  log.append(runOfRecords(textRecords(1, 'more')), log.leaderEpochs.latest + 1)
  log.truncateTo(log.logStartOffset)
  log.close()
}

function readUnrecovered(fs: MemoryFileSystem): void {
  try {
    const log = open(fs, true)
    readAll(log, log.logStartOffset, log.logEndOffset)
    log.truncateTo(Math.floor(log.logEndOffset / 2))
    log.close()
  } catch (error) {
    if (!isTidemarkError(error)) throw error
  }
  try {
    readAll(SegmentReader.open(directory, { fs }), 0, 1_000)
  } catch (error) {
    if (!isTidemarkError(error)) throw error
  }
}

/** Returns where it came to. */
function readAll(source: Pick<PartitionLog, 'read'>, start: number, end: number): number {
  let offset = start
  while (offset < end) {
    const bytes = source.read(offset, end, 500, target, 0)
    if (bytes === 0) break
    for (let at = 0; at < bytes; at += sizeInBytesAt(target, at)) {
      checkBatch(target, at, bytes - at)
      const next = nextOffsetAt(target, at)
      if (next <= offset) throw new Error(`read at ${offset}: a batch that ends at ${next}`)
      offset = next
    }
  }
  return offset
}

function open(fs: MemoryFileSystem, cleanShutdown: boolean): PartitionLog {
  return PartitionLog.open({
    directory,
    topic: 't',
    partition: 0,
    config,
    clock: new ManualClock(),
    fs,
    cleanShutdown,
  })
}

function filesOfSmallLog(): NamedFile[] {
  const fs = new MemoryFileSystem()
  const log = open(fs, true)
  for (let at = 0; log.logEndOffset < recordsInAll; at += 1) {
    log.append(runOfRecords(textRecords(recordsEach, `b${at}`, 1_000 + at)), at >>> 2)
  }
  log.close()
  return fs.list(directory)!.map((name) => ({ name, bytes: fs.readFile(`${directory}/${name}`)! }))
}

function directoryOf(spoil: (fs: MemoryFileSystem) => void): MemoryFileSystem {
  const fs = new MemoryFileSystem()
  fs.makeDirectory(directory)
  for (const { name, bytes } of files) writeFile(fs, name, bytes)
  spoil(fs)
  return fs
}

function writeFile(fs: MemoryFileSystem, name: string, bytes: Uint8Array): void {
  const fd = fs.open(`${directory}/${name}`, 'create')
  fs.write(fd, bytes, 0, bytes.length, 0)
  fs.close(fd)
}
