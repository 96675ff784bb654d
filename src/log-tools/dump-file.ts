/** Prints any of Kafka's files as lines: what is whole, and where that ends. */
import path from 'node:path'
import { isTidemarkError, TidemarkError } from '../errors.ts'
import { type FileSystem, realFileSystem } from '../log/file-system.ts'
import { offsetIndexEntryBytes } from '../log/offset-index.ts'
import { decodeProducerSnapshot } from '../log/producers/producer-snapshot.ts'
import {
  transactionIndexEntries,
  transactionIndexEntryBytes,
} from '../log/producers/transaction-index.ts'
import { timeIndexEntryBytes } from '../log/time-index.ts'
import type { BatchLine, DumpLine, EndLine } from './dump-line.ts'
import { dumpRecords } from './dump-records.ts'
import { dumpTextFile } from './dump-text-file.ts'
import { batchExpectation, type Expectation, endExpectation } from './fault-text.ts'
import { fileKindOf, holdsMetadata, type KnownFile } from './file-kind.ts'
import { offsetIndexEntries, timeIndexEntries } from './index-entries.ts'
import { withNamedErrors } from './named-errors.ts'
import { type WalkedBatch, walkSegment } from './segment-walk.ts'

export interface DumpOptions {
  /** Whether the records of each batch are printed too. */
  readonly records: boolean
  readonly fs?: FileSystem
}

/** The lines of a file; the last one is always an `EndLine`. @throws what `checkDumpable` does */
export function* dumpFile(file: string, options: DumpOptions): Generator<DumpLine> {
  const fs = withNamedErrors(options.fs ?? realFileSystem)
  const known = checkDumpable(file, fs)
  yield { type: 'file', file, ...known, bytes: fs.sizeOf(file) ?? 0 }
  if (known.kind === 'segment') yield* dumpSegment(fs, file, options.records)
  else yield* dumpSmallFile(fs, file, known)
}

/** @throws {TidemarkError} INVALID_ARGUMENT for a file that is not there or none of a log's. */
export function checkDumpable(file: string, given: FileSystem = realFileSystem): KnownFile {
  const fs = withNamedErrors(given)
  if (fs.sizeOf(file) === undefined) throw badFile(file, 'no such file')
  if (fs.isDirectory(file)) throw badFile(file, 'is a directory; allowed are files')
  const known = fileKindOf(file)
  if (known !== undefined) return known
  const allowed = 'segments, indexes, snapshots and checkpoints by the names Kafka gives them'
  throw badFile(file, `not a file of a log; allowed are ${allowed}`)
}

function* dumpSegment(fs: FileSystem, file: string, records: boolean): Generator<DumpLine> {
  const isMetadata = holdsMetadata(file)
  let first: Expectation | undefined
  const walk = walkSegment(fs, file)
  let next = walk.next()
  for (; next.done !== true; next = walk.next()) {
    const batch = next.value
    const faulty = batch.fault === undefined ? undefined : batchExpectation(batch, batch.fault)
    yield batchLine(batch, faulty)
    first ??= faulty
    if (!records || faulty !== undefined) continue
    try {
      yield* dumpRecords(batch, isMetadata)
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      first ??= {
        expected: `records in the batch at ${batch.filePosition}`,
        found: error.message,
      }
    }
  }
  const { position, fileBytes } = next.value
  const fault = next.value.fault === undefined ? first : endExpectation(next.value)
  yield endLine(file, position, fileBytes, fault)
}

function batchLine(batch: WalkedBatch, faulty: Expectation | undefined): BatchLine {
  const { baseSequence, recordCount, magic, logAppendTime, deleteHorizonMs } = batch
  const timestampType = logAppendTime ? 'LogAppendTime' : 'CreateTime'
  return {
    type: 'batch',
    baseOffset: batch.baseOffset,
    lastOffset: batch.lastOffset,
    count: recordCount < 0 ? null : recordCount,
    baseSequence,
    lastSequence: baseSequence < 0 ? -1 : baseSequence + batch.lastOffset - batch.baseOffset,
    producerId: batch.producerId,
    producerEpoch: batch.producerEpoch,
    partitionLeaderEpoch: batch.leaderEpoch,
    isTransactional: batch.isTransactional,
    isControl: batch.isControl,
    deleteHorizonMs: deleteHorizonMs ?? null,
    position: batch.filePosition,
    timestampType: magic === 0 ? 'NoTimestampType' : timestampType,
    timestamp: batch.maxTimestampMs,
    size: batch.sizeBytes,
    magic,
    compresscodec: batch.compression,
    crc: batch.crc,
    isvalid: faulty === undefined,
    ...faulty,
  }
}

function* dumpSmallFile(fs: FileSystem, file: string, known: KnownFile): Generator<DumpLine> {
  const { kind, baseOffset } = known
  const bytes = fs.readFile(file) ?? new Uint8Array(0)
  if (kind === 'offset-index') {
    for (const { relativeOffset, position } of offsetIndexEntries(bytes)) {
      yield { type: 'entry', offset: baseOffset + relativeOffset, position }
    }
    yield endOfEntries(file, bytes, offsetIndexEntryBytes)
  } else if (kind === 'time-index') {
    for (const { timestampMs, relativeOffset } of timeIndexEntries(bytes)) {
      yield { type: 'entry', timestamp: timestampMs, offset: baseOffset + relativeOffset }
    }
    yield endOfEntries(file, bytes, timeIndexEntryBytes)
  } else if (kind === 'transaction-index') {
    for (const { filePosition: _, ...entry } of transactionIndexEntries(bytes)) {
      yield { type: 'entry', ...entry }
    }
    yield endOfEntries(file, bytes, transactionIndexEntryBytes)
  } else if (kind === 'producer-snapshot') {
    yield* dumpSnapshot(file, bytes)
  } else {
    const end = yield* dumpTextFile(kind, bytes)
    yield endLine(file, end.position, bytes.length, end.fault)
  }
}

function* dumpSnapshot(file: string, bytes: Uint8Array): Generator<DumpLine> {
  try {
    for (const entry of decodeProducerSnapshot(bytes)) yield { type: 'entry', ...entry }
    yield endLine(file, bytes.length, bytes.length, undefined)
  } catch (error) {
    if (!isTidemarkError(error, 'CORRUPT_FILE')) throw error
    yield endLine(file, 0, bytes.length, { expected: 'a snapshot', found: error.message })
  }
}

function endOfEntries(file: string, bytes: Uint8Array, entryBytes: number): EndLine {
  const rest = bytes.length % entryBytes
  const fault =
    rest === 0 ? undefined : { expected: `entries of ${entryBytes} bytes`, found: `${rest} bytes` }
  return endLine(file, bytes.length - rest, bytes.length, fault)
}

function endLine(
  file: string,
  position: number,
  bytes: number,
  fault: Expectation | undefined,
): EndLine {
  return { type: 'end', file, position, bytes, complete: fault === undefined, ...fault }
}

function badFile(file: string, what: string): TidemarkError {
  return new TidemarkError('INVALID_ARGUMENT', `${path.normalize(file)}: ${what}`)
}
