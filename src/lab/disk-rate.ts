/**
 * What the disk below a directory takes for ever. The first gigabytes of any run go to the page
 * cache and prove nothing; here every few megabytes are synced, until the rate no longer moves or
 * the time is over.
 *
 * Several files on one disk share this rate. A disk that is itself a cache of something (a virtual
 * one of a cloud) may keep it up only for a while: the figure is the best that is known after
 * seconds.
 */
import { randomFillSync } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { type Clock, systemClock } from '../clock.ts'
import { TidemarkError } from '../errors.ts'
import { type FileSystem, realFileSystem } from '../log/file-system.ts'
import { storageError, systemErrorCode } from '../log/storage-error.ts'

export interface DiskRateOptions {
  /** Milliseconds after which the best known figure is taken. Default 2,000. */
  readonly budgetMs?: number
  /** Bytes written at most; default 2 GiB, and never more than a quarter of what is free. */
  readonly bytesMax?: number
  readonly clock?: Clock
  readonly fileSystem?: FileSystem
}

export interface DiskRate {
  /** Bytes a second, synced; null: no disk below (the file system lies in memory). */
  readonly bytesPerSec: number | null
  /** `ext4`, `xfs`, `tmpfs`, …; of an unknown one its number, `0x1234`. */
  readonly fileSystem: string
  readonly bytesWritten: number
  readonly elapsedMs: number
  /** The rate had stopped moving; false: the budget was over first. */
  readonly steady: boolean
}

const budgetMsDefault = 2000
const bytesMaxDefault = 2 * 1024 ** 3
const freeShareMax = 1 / 4
const chunkBytes = 1024 * 1024
/** Synced together: long enough that the cost of a sync itself does not count. */
const stretchBytes = 32 * chunkBytes
/**
 * The figure is the mean over this share of the time, the last one: a disk of a cloud takes a burst
 * at several times its lasting rate first, for a second or so.
 */
const windowShare = 0.4
const windowStretchesMin = 4
/** Steady: both halves of that window agree within this share … */
const steadyDifferenceMax = 0.1
/** … and so much of the budget is over. Before, a burst may look steady. */
const steadyBudgetShare = 0.5

/** Each block of this size gets a number of its own, so that none repeats another. */
const stampBytes = 4096

const inMemory = new Set(['tmpfs', 'ramfs', 'hugetlbfs'])

/** `f_type` of statfs(2). */
const namesByType = new Map<number, string>([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
  [0x958458f6, 'hugetlbfs'],
  [0x794c7630, 'overlayfs'],
  [0x2fc12fc1, 'zfs'],
  [0xf2f52010, 'f2fs'],
  [0xca451a4e, 'bcachefs'],
  [0x6969, 'nfs'],
  [0xff534d42, 'cifs'],
  [0xfe534d42, 'smb2'],
  [0x65735546, 'fuse'],
  [0x01021997, '9p'],
  [0x6a656a63, 'virtiofs'],
  [0x4d44, 'vfat'],
  [0x2011bab0, 'exfat'],
  [0x5346544e, 'ntfs'],
  [0x1a, 'apfs'],
])

/**
 * Blocks the calling thread for up to `budgetMs` and leaves no file behind.
 *
 * @throws {TidemarkError} KAFKA_STORAGE_ERROR naming the directory if it cannot be written.
 */
export function measureDiskRate(directory: string, options: DiskRateOptions = {}): DiskRate {
  const { clock = systemClock, fileSystem = realFileSystem } = options
  const { type, freeBytes } = statistics(directory)
  if (inMemory.has(type)) {
    return { bytesPerSec: null, fileSystem: type, bytesWritten: 0, elapsedMs: 0, steady: true }
  }
  const bytesMax = Math.min(options.bytesMax ?? bytesMaxDefault, freeBytes * freeShareMax)
  const file = path.join(directory, `.disk-rate-${process.pid}-${Date.now()}`)
  try {
    const fd = fileSystem.open(file, 'create')
    try {
      const budget = { budgetMs: options.budgetMs ?? budgetMsDefault, bytesMax }
      return { ...writeUntilSteady(fileSystem, fd, clock, budget), fileSystem: type }
    } finally {
      fileSystem.close(fd)
    }
  } catch (cause) {
    throw storageError('measuring the disk below', directory, cause)
  } finally {
    fileSystem.remove(file)
  }
}

/** Type of the file system that holds `directory`: `ext4`, `tmpfs`, … */
export function fileSystemType(directory: string): string {
  return statistics(directory).type
}

function statistics(directory: string): { readonly type: string; readonly freeBytes: number } {
  try {
    const { type, bavail, bsize } = fs.statfsSync(directory)
    const unsigned = type >>> 0
    const name = namesByType.get(unsigned) ?? `0x${unsigned.toString(16)}`
    return { type: name, freeBytes: bavail * bsize }
  } catch (cause) {
    if (systemErrorCode(cause) !== 'ENOENT') throw storageError('measuring', directory, cause)
    const detail = `${directory}: there is no such directory`
    throw new TidemarkError('KAFKA_STORAGE_ERROR', { detail, cause })
  }
}

interface Budget {
  readonly budgetMs: number
  readonly bytesMax: number
}

function writeUntilSteady(
  fileSystem: FileSystem,
  fd: number,
  clock: Clock,
  { budgetMs, bytesMax }: Budget,
): Omit<DiskRate, 'fileSystem'> {
  const pattern = new Pattern()
  const startMs = clock.nowMs()
  /** End of each stretch and the bytes written by then, from the start on. */
  const endsMs = [0]
  const totals = [0]
  let written = 0
  let elapsedMs = 0
  let window: Window
  do {
    const wanted = Math.max(chunkBytes, Math.min(stretchBytes, bytesMax - written))
    written += writeStretch(fileSystem, fd, pattern, written, wanted)
    elapsedMs = clock.nowMs() - startMs
    endsMs.push(elapsedMs)
    totals.push(written)
    window = windowOf(endsMs, totals)
    if (window.steady && elapsedMs >= budgetMs * steadyBudgetShare) break
  } while (elapsedMs < budgetMs && written + chunkBytes <= bytesMax)
  return { ...window, bytesWritten: written, elapsedMs }
}

interface Window {
  readonly bytesPerSec: number
  readonly steady: boolean
}

function windowOf(endsMs: readonly number[], totals: readonly number[]): Window {
  const last = endsMs.length - 1
  const sinceMs = endsMs[last]! * (1 - windowShare)
  let first = endsMs.findLastIndex((endMs) => endMs <= sinceMs)
  first = Math.max(0, Math.min(first, last - windowStretchesMin))
  const rate = (from: number, to: number) =>
    ((totals[to]! - totals[from]!) / Math.max(endsMs[to]! - endsMs[from]!, 1e-3)) * 1000
  const middle = (first + last) >> 1
  const bytesPerSec = rate(first, last)
  const difference = Math.abs(rate(first, middle) - rate(middle, last))
  const steady =
    last - first >= windowStretchesMin && difference <= steadyDifferenceMax * bytesPerSec
  return { bytesPerSec, steady }
}

function writeStretch(
  fileSystem: FileSystem,
  fd: number,
  pattern: Pattern,
  filePosition: number,
  bytes: number,
): number {
  let written = 0
  while (written + chunkBytes <= bytes) {
    const chunk = pattern.next()
    let ofChunk = 0
    while (ofChunk < chunk.length) {
      const rest = chunk.length - ofChunk
      ofChunk += fileSystem.write(fd, chunk, ofChunk, rest, filePosition + written + ofChunk)
    }
    written += ofChunk
  }
  fileSystem.dataSync(fd)
  return written
}

/** Bytes that neither compress nor repeat from block to block. */
class Pattern {
  readonly #bytes = randomFillSync(new Uint8Array(chunkBytes))
  readonly #words = new Uint32Array(this.#bytes.buffer)
  #stamp = 0

  next(): Uint8Array {
    for (
      let word = 0;
      word < this.#words.length;
      word += stampBytes / Uint32Array.BYTES_PER_ELEMENT
    ) {
      this.#words[word] = this.#stamp++
    }
    return this.#bytes
  }
}
