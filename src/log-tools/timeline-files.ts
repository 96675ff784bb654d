/**
 * Reads a metadata log's files in order: the snapshot that its first segment goes on from, if the
 * log doesn't begin at 0, then the segments. What it finds is told record by record.
 */
import path from 'node:path'
import { isTidemarkError, TidemarkError } from '../errors.ts'
import { segmentBases, segmentFileName } from '../log/file-names.ts'
import type { FileSystem } from '../log/file-system.ts'
import type { LogRecord } from '../log/record.ts'
import { parsePartitionDirectoryName } from '../log/topic-name.ts'
import type { MetadataRecord } from '../replication/controller/metadata-records.ts'
import { controlTypeOf } from './dump-records.ts'
import { batchExpectation, endExpectation } from './fault-text.ts'
import { recordsOf, type WalkedBatch, walkSegment } from './segment-walk.ts'
import type { TimelineFault } from './timeline-model.ts'
import { decodeOrSkip } from './timeline-record-kind.ts'

const metadataDirectoryName = '__cluster_metadata-0'
const snapshotName = /^(\d{20})-\d{10}\.checkpoint$/
const logSuffix = '.log'

export interface MetadataFiles {
  readonly directory: string
  readonly snapshot: { readonly name: string; readonly endOffset: number } | undefined
  readonly segments: readonly { readonly name: string; readonly baseOffset: number }[]
}

/** What a log tells, in order. `fault` is always the last. */
export type MetadataItem =
  /** Records of one batch were decided together. */
  | {
      readonly type: 'batch'
      readonly offset: number
      readonly atMs: number
      readonly epoch: number
      readonly isSnapshot: boolean
    }
  | { readonly type: 'controller'; readonly controllerId: number; readonly epoch: number }
  | {
      readonly type: 'record'
      readonly offset: number
      readonly atMs: number
      readonly record: MetadataRecord
    }
  | { readonly type: 'skipped'; readonly offset: number; readonly name: string }
  | { readonly type: 'fault'; readonly fault: TimelineFault }

/**
 * The metadata log in a directory: that directory, or one it holds.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT naming the directory when there is none
 */
export function findMetadataFiles(fs: FileSystem, given: string): MetadataFiles {
  if (!fs.isDirectory(given)) {
    const what = fs.sizeOf(given) === undefined ? 'no such directory' : 'not a directory'
    throw new TidemarkError('INVALID_ARGUMENT', `${given}: ${what}`)
  }
  const inside = [
    path.join(given, metadataDirectoryName),
    path.join(given, 'controller', metadataDirectoryName),
  ]
  const directory = inside.find((candidate) => fs.isDirectory(candidate)) ?? given
  const names = fs.list(directory) ?? []
  const segments = segmentBases(names).map((baseOffset) => {
    return { name: segmentFileName(baseOffset, logSuffix), baseOffset }
  })
  const snapshots = snapshotsOf(names)
  if (segments.length + snapshots.length > 0 && !isOfAnotherTopic(directory)) {
    return { directory, segments, snapshot: snapshotBefore(snapshots, segments[0]?.baseOffset) }
  }
  const allowed = `a directory ${metadataDirectoryName}, or the controller's or cluster's around it`
  throw new TidemarkError('INVALID_ARGUMENT', `${given}: no metadata log; allowed are ${allowed}`)
}

/** A copy of a metadata log may be called anything, but not like another topic's partition. */
function isOfAnotherTopic(directory: string): boolean {
  const name = path.basename(path.resolve(directory))
  return name !== metadataDirectoryName && parsePartitionDirectoryName(name) !== undefined
}

export function* readMetadata(fs: FileSystem, files: MetadataFiles): Generator<MetadataItem> {
  const { directory, snapshot, segments } = files
  let nextOffset = segments[0]?.baseOffset ?? 0
  if (snapshot !== undefined) {
    if (yield* readFile(fs, path.join(directory, snapshot.name), snapshot.endOffset)) return
    nextOffset = snapshot.endOffset
  }
  let expected = segments[0]?.baseOffset ?? 0
  for (const { name } of segments) {
    const file = path.join(directory, name)
    const walk = walkSegment(fs, file)
    let next = walk.next()
    for (; next.done !== true; next = walk.next()) {
      const batch = next.value
      const fault = batchFault(file, batch, expected)
      if (fault !== undefined) {
        yield { type: 'fault', fault }
        return
      }
      expected = batch.lastOffset + 1
      if (yield* readBatch(file, batch, nextOffset, undefined)) return
    }
    const end = endFault(file, next.value)
    if (end === undefined) continue
    yield { type: 'fault', fault: end }
    return
  }
}

/** @returns whether a fault ended it */
function* readFile(
  fs: FileSystem,
  file: string,
  snapshotOffset: number,
): Generator<MetadataItem, boolean> {
  const walk = walkSegment(fs, file)
  const snapshot = { offset: snapshotOffset, atMs: undefined as number | undefined }
  let next = walk.next()
  for (; next.done !== true; next = walk.next()) {
    const batch = next.value
    const fault = batchFault(file, batch, batch.baseOffset)
    if (fault !== undefined) {
      yield { type: 'fault', fault }
      return true
    }
    if (yield* readBatch(file, batch, 0, snapshot)) return true
  }
  const end = endFault(file, next.value)
  if (end !== undefined) yield { type: 'fault', fault: end }
  return end !== undefined
}

function* readBatch(
  file: string,
  batch: WalkedBatch,
  fromOffset: number,
  snapshot: { readonly offset: number; atMs: number | undefined } | undefined,
): Generator<MetadataItem, boolean> {
  const { baseOffset, lastOffset, leaderEpoch, isControl, maxTimestampMs } = batch
  if (lastOffset < fromOffset) return false
  const offset = snapshot?.offset ?? baseOffset
  const atMs = snapshot?.atMs ?? maxTimestampMs
  yield { type: 'batch', offset, atMs, epoch: leaderEpoch, isSnapshot: snapshot !== undefined }
  try {
    for (const record of recordsOf(batch)) {
      if (record.offset < fromOffset) continue
      if (isControl) {
        if (snapshot !== undefined) snapshot.atMs ??= snapshotTimeMs(record)
        const controllerId = snapshot === undefined ? controllerIdOf(record) : undefined
        if (controllerId !== undefined)
          yield { type: 'controller', controllerId, epoch: leaderEpoch }
        continue
      }
      const at = {
        offset: snapshot?.offset ?? record.offset,
        atMs: snapshot?.atMs ?? record.timestampMs,
      }
      const decoded = decodeOrSkip(record.value ?? new Uint8Array(0))
      if (decoded.type === 'skipped') yield { ...decoded, offset: at.offset }
      else yield { type: 'record', ...at, record: decoded }
    }
    return false
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    const expected = 'records of the metadata log'
    const { filePosition: position } = batch
    yield { type: 'fault', fault: { file, position, expected, found: error.message } }
    return true
  }
}

function batchFault(
  file: string,
  batch: WalkedBatch,
  expectedOffset: number,
): TimelineFault | undefined {
  const { filePosition: position, fault, baseOffset } = batch
  if (fault !== undefined) return { file, position, ...batchExpectation(batch, fault) }
  if (baseOffset === expectedOffset) return undefined
  const expected = `a batch at offset ${expectedOffset}`
  return { file, position, expected, found: `offset ${baseOffset}` }
}

function endFault(
  file: string,
  end: Parameters<typeof endExpectation>[0],
): TimelineFault | undefined {
  if (end.fault === undefined) return undefined
  return { file, position: end.position, ...endExpectation(end) }
}

interface Snapshot {
  readonly name: string
  readonly endOffset: number
}

function snapshotsOf(names: readonly string[]): Snapshot[] {
  const found = names.flatMap((name) => {
    const digits = snapshotName.exec(name)?.[1]
    const endOffset = digits === undefined ? Number.NaN : Number(digits)
    return Number.isSafeInteger(endOffset) ? [{ name, endOffset }] : []
  })
  return found.sort((a, b) => a.endOffset - b.endOffset)
}

/** The earliest that the log goes on from, so that the history is as long as it can be. */
function snapshotBefore(
  snapshots: readonly Snapshot[],
  logStartOffset: number | undefined,
): Snapshot | undefined {
  if (logStartOffset === undefined) return snapshots.at(-1)
  if (logStartOffset === 0) return undefined
  return snapshots.find(({ endOffset }) => endOffset >= logStartOffset)
}

/** Kafka: LeaderChangeMessage, version and leader first. */
function controllerIdOf(record: LogRecord): number | undefined {
  const { value } = record
  if (controlTypeOf(record) !== 'LEADER_CHANGE' || value === null || value.length < 6) {
    return undefined
  }
  return new DataView(value.buffer, value.byteOffset).getInt32(2)
}

/** Kafka: SnapshotHeaderRecord, version and the time of the last record it stands for. */
function snapshotTimeMs(record: LogRecord): number | undefined {
  const { value } = record
  if (controlTypeOf(record) !== 'SNAPSHOT_HEADER' || value === null || value.length < 10) {
    return undefined
  }
  const view = new DataView(value.buffer, value.byteOffset)
  const timeMs = view.getInt32(2) * 2 ** 32 + view.getUint32(6)
  return timeMs > 0 && Number.isSafeInteger(timeMs) ? timeMs : undefined
}
