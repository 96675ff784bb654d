/**
 * The file calls that this folder makes, synchronous, so that tests and the simulation can put
 * their own disk below. Thin on purpose: no call here allocates more than Node does itself.
 */
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { systemErrorCode } from './storage-error.ts'

/** `read`: must exist. `update`: read and write, must exist. `create`: read and write, emptied. */
export type OpenMode = 'read' | 'update' | 'create'

export interface FileSystem {
  open(path: string, mode: OpenMode): number
  close(fd: number): void
  /** Returns the bytes read; fewer than asked at the end of the file. */
  read(
    fd: number,
    target: Uint8Array,
    targetPosition: number,
    length: number,
    filePosition: number,
  ): number
  /** Returns the bytes written; fewer than asked is legal. */
  write(
    fd: number,
    source: Uint8Array,
    sourcePosition: number,
    length: number,
    filePosition: number,
  ): number
  /** At most `writevViewsMax` views. Returns the bytes written; fewer than given is legal. */
  writev(fd: number, views: readonly Uint8Array[], filePosition: number): number
  truncate(fd: number, sizeBytes: number): void
  /** Makes the file's data, and what is needed to read it back, durable. */
  dataSync(fd: number): void
  /** Bytes of a file; undefined when there is no such file. */
  sizeOf(path: string): number | undefined
  /**
   * When a file was last written, in milliseconds since 1970; undefined when there is no such file
   * or nobody knows.
   */
  modifiedMs(path: string): number | undefined
  /** Makes a directory's entries durable. */
  syncDirectory(path: string): void
  /** Whole contents; undefined when there is no such file. */
  readFile(path: string): Uint8Array | undefined
  rename(from: string, to: string): void
  /** Removes a file; no error when there is none. */
  remove(path: string): void
  /** Makes a directory and its parents; no error when it is there. */
  makeDirectory(path: string): void
  /** Removes a directory with all in it; no error when there is none. */
  removeDirectory(path: string): void
  /** Names in a directory, in no order; undefined when there is no such directory. */
  list(path: string): string[] | undefined
  isDirectory(path: string): boolean
  /** Takes the advisory lock of an open file; false when somebody else holds it. */
  tryLock(fd: number): boolean
}

/** IOV_MAX of Linux. */
export const writevViewsMax = 1024

const openFlags: Record<OpenMode, number> = {
  read: fs.constants.O_RDONLY,
  update: fs.constants.O_RDWR,
  create: fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_TRUNC,
}

type Flock = (fd: number, flags: 'exnb') => void

let flock: Flock | undefined

/** Loaded at first use: most threads never lock a directory. */
function flockSync(fd: number): void {
  flock ??= (createRequire(import.meta.url)('fs-ext') as { flockSync: Flock }).flockSync
  flock(fd, 'exnb')
}

/** Asked before, because an exception costs more than all the rest of opening a small log. */
function isThere(path: string): boolean {
  return fs.statSync(path, { throwIfNoEntry: false }) !== undefined
}

function undefinedIfAbsent<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch (cause) {
    if (systemErrorCode(cause) === 'ENOENT') return undefined
    throw cause
  }
}

export const realFileSystem: FileSystem = {
  open: (path, mode) => fs.openSync(path, openFlags[mode], 0o644),
  close: (fd) => fs.closeSync(fd),
  read: (fd, target, targetPosition, length, filePosition) =>
    fs.readSync(fd, target, targetPosition, length, filePosition),
  write: (fd, source, sourcePosition, length, filePosition) =>
    fs.writeSync(fd, source, sourcePosition, length, filePosition),
  writev: (fd, views, filePosition) => fs.writevSync(fd, views, filePosition),
  truncate: (fd, sizeBytes) => fs.ftruncateSync(fd, sizeBytes),
  dataSync: (fd) => fs.fdatasyncSync(fd),
  sizeOf: (path) => fs.statSync(path, { throwIfNoEntry: false })?.size,
  modifiedMs: (path) => fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs,
  syncDirectory(path) {
    const fd = fs.openSync(path, fs.constants.O_RDONLY)
    try {
      fs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
  },
  readFile: (path) => (isThere(path) ? undefinedIfAbsent(() => fs.readFileSync(path)) : undefined),
  rename: (from, to) => fs.renameSync(from, to),
  remove(path) {
    if (isThere(path)) undefinedIfAbsent(() => fs.unlinkSync(path))
  },
  makeDirectory(path) {
    fs.mkdirSync(path, { recursive: true })
  },
  removeDirectory: (path) => fs.rmSync(path, { recursive: true, force: true }),
  list: (path) => undefinedIfAbsent(() => fs.readdirSync(path)),
  isDirectory: (path) => fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
  tryLock(fd) {
    try {
      flockSync(fd)
      return true
    } catch (cause) {
      const code = systemErrorCode(cause)
      if (code === 'EAGAIN' || code === 'EWOULDBLOCK') return false
      throw cause
    }
  },
}
