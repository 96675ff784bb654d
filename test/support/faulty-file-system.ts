/**
 * A disk that does what real ones do on a bad day: it writes less than asked, fills up, fails to
 * sync, loses its power between or in the middle of two calls.
 */
import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import type { FileSystem, OpenMode } from '../../src/log/file-system.ts'
import { type MemoryFileSystem, systemError } from './memory-file-system.ts'

export class FaultyFileSystem implements FileSystem {
  /** Bytes that may still be written; then ENOSPC. */
  roomBytes = Number.POSITIVE_INFINITY
  /** Syncs that may still succeed; the one after fails with EIO and its bytes are dropped. */
  goodSyncs = Number.POSITIVE_INFINITY
  /** Calls that change something and may still be made; then the power is gone. */
  callsToPowerCut = Number.POSITIVE_INFINITY
  /** One write in so many is short; 0: none is. */
  shortWriteOneOf = 0
  /** Since the faults were last cleared. */
  powerIsGone = false
  syncFailed = false
  readonly disk: MemoryFileSystem
  readonly #random: SeededRandom

  constructor(disk: MemoryFileSystem, random: SeededRandom) {
    this.disk = disk
    this.#random = random
  }

  /** Something goes wrong, or has gone wrong since the faults were last cleared. */
  get hasFaults(): boolean {
    return this.syncFailed || this.powerIsGone || this.roomBytes < Number.POSITIVE_INFINITY
  }

  /** The machine is as good as new; what was lost stays lost. */
  clearFaults(): void {
    this.roomBytes = Number.POSITIVE_INFINITY
    this.goodSyncs = Number.POSITIVE_INFINITY
    this.callsToPowerCut = Number.POSITIVE_INFINITY
    this.powerIsGone = false
    this.syncFailed = false
  }

  open(path: string, mode: OpenMode): number {
    if (mode === 'create') this.#change()
    else this.#assertPower()
    return this.disk.open(path, mode)
  }

  close(fd: number): void {
    if (!this.powerIsGone) this.disk.close(fd)
  }

  read(
    fd: number,
    target: Uint8Array,
    targetPosition: number,
    length: number,
    filePosition: number,
  ): number {
    this.#assertPower()
    return this.disk.read(fd, target, targetPosition, length, filePosition)
  }

  write(
    fd: number,
    source: Uint8Array,
    sourcePosition: number,
    length: number,
    filePosition: number,
  ): number {
    const taken = this.#take(length)
    return this.disk.write(fd, source, sourcePosition, taken, filePosition)
  }

  writev(fd: number, views: readonly Uint8Array[], filePosition: number): number {
    const bytes = Buffer.concat(views)
    return this.write(fd, bytes, 0, bytes.length, filePosition)
  }

  truncate(fd: number, sizeBytes: number): void {
    this.#change()
    this.disk.truncate(fd, sizeBytes)
  }

  dataSync(fd: number): void {
    this.#sync(() => this.disk.dropUnsynced(fd))
    this.disk.dataSync(fd)
  }

  syncDirectory(path: string): void {
    this.#sync(() => {})
    this.disk.syncDirectory(path)
  }

  sizeOf(path: string): number | undefined {
    this.#assertPower()
    return this.disk.sizeOf(path)
  }

  modifiedMs(path: string): number | undefined {
    this.#assertPower()
    return this.disk.modifiedMs(path)
  }

  readFile(path: string): Uint8Array | undefined {
    this.#assertPower()
    return this.disk.readFile(path)
  }

  rename(from: string, to: string): void {
    this.#change()
    this.disk.rename(from, to)
  }

  remove(path: string): void {
    this.#change()
    this.disk.remove(path)
  }

  makeDirectory(path: string): void {
    this.#change()
    this.disk.makeDirectory(path)
  }

  removeDirectory(path: string): void {
    this.#change()
    this.disk.removeDirectory(path)
  }

  list(path: string): string[] | undefined {
    this.#assertPower()
    return this.disk.list(path)
  }

  isDirectory(path: string): boolean {
    this.#assertPower()
    return this.disk.isDirectory(path)
  }

  tryLock(fd: number): boolean {
    this.#assertPower()
    return this.disk.tryLock(fd)
  }

  #take(length: number): number {
    this.#change()
    if (length === 0) return 0
    if (this.roomBytes <= 0) throw systemError('ENOSPC', 'no space left')
    const short = this.shortWriteOneOf > 0 && this.#random.nextBelow(this.shortWriteOneOf) === 0
    const wanted = short ? 1 + this.#random.nextBelow(length) : length
    const taken = Math.min(wanted, this.roomBytes)
    this.roomBytes -= taken
    return taken
  }

  #sync(drop: () => void): void {
    this.#change()
    if (this.goodSyncs > 0) {
      this.goodSyncs -= 1
      return
    }
    this.goodSyncs = Number.POSITIVE_INFINITY
    this.syncFailed = true
    drop()
    throw systemError('EIO', 'input/output error')
  }

  #change(): void {
    this.#assertPower()
    this.callsToPowerCut -= 1
    if (this.callsToPowerCut >= 0) return
    this.powerIsGone = true
    this.#assertPower()
  }

  #assertPower(): void {
    if (this.powerIsGone) throw systemError('EPOWER', 'the power is gone')
  }
}
