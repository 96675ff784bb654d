/**
 * A thread's way to the simulated disk. Every call is a point at which others may go on, the call
 * may fail, or the thread may end; what it had open is closed then, and nothing it does later
 * counts.
 */
import type { FileSystem } from '../../src/log/file-system.ts'
import { systemError } from '../support/memory-file-system.ts'

/** What a thread meets instead of its next instruction. Its catch blocks run, see `onCall`. */
export class ThreadEnded extends Error {}

export class SimulatedDisk implements FileSystem {
  isEnded = false
  /** Reads that fail with EIO from now on. */
  badReads = 0
  readonly #machine: FileSystem
  readonly #onCall: (mayGoOn: boolean) => void
  readonly #openFds = new Set<number>()
  /** Of a `writev` that was short; the pieces that follow belong to it. */
  #unfinishedBytes = 0

  /**
   * @param onCall before each call; may throw `ThreadEnded` after it has called `end`. `mayGoOn`:
   *   others may take steps meanwhile; not where code keeps scratch that a thread has for itself
   */
  constructor(machine: FileSystem, onCall: (mayGoOn: boolean) => void) {
    this.#machine = machine
    this.#onCall = onCall
  }

  /** The system closes what the thread had open. */
  end(): void {
    if (this.isEnded) return
    this.isEnded = true
    for (const fd of this.#openFds) this.#machine.close(fd)
    this.#openFds.clear()
  }

  open(...args: Parameters<FileSystem['open']>): number {
    const fd = this.#call().open(...args)
    this.#openFds.add(fd)
    return fd
  }

  close(fd: number): void {
    if (this.isEnded) return
    this.#machine.close(fd)
    this.#openFds.delete(fd)
  }

  read(...args: Parameters<FileSystem['read']>): number {
    return this.#reading().read(...args)
  }

  write(...args: Parameters<FileSystem['write']>): number {
    const fs = this.#call(this.#unfinishedBytes === 0)
    const unfinishedBytes = this.#unfinishedBytes
    this.#unfinishedBytes = 0
    const written = fs.write(...args)
    this.#unfinishedBytes = Math.max(0, unfinishedBytes - written)
    return written
  }

  writev(...args: Parameters<FileSystem['writev']>): number {
    const fs = this.#call(false)
    const [, views] = args
    let bytes = 0
    for (const view of views) bytes += view.length
    const written = fs.writev(...args)
    this.#unfinishedBytes = bytes - written
    return written
  }

  truncate(...args: Parameters<FileSystem['truncate']>): void {
    this.#call().truncate(...args)
  }

  dataSync(...args: Parameters<FileSystem['dataSync']>): void {
    this.#call().dataSync(...args)
  }

  sizeOf(...args: Parameters<FileSystem['sizeOf']>): number | undefined {
    return this.#call().sizeOf(...args)
  }

  modifiedMs(...args: Parameters<FileSystem['modifiedMs']>): number | undefined {
    return this.#call().modifiedMs(...args)
  }

  syncDirectory(...args: Parameters<FileSystem['syncDirectory']>): void {
    this.#call().syncDirectory(...args)
  }

  readFile(...args: Parameters<FileSystem['readFile']>): Uint8Array | undefined {
    return this.#reading().readFile(...args)
  }

  rename(...args: Parameters<FileSystem['rename']>): void {
    this.#call().rename(...args)
  }

  remove(...args: Parameters<FileSystem['remove']>): void {
    this.#call().remove(...args)
  }

  makeDirectory(...args: Parameters<FileSystem['makeDirectory']>): void {
    this.#call().makeDirectory(...args)
  }

  removeDirectory(...args: Parameters<FileSystem['removeDirectory']>): void {
    this.#call().removeDirectory(...args)
  }

  list(...args: Parameters<FileSystem['list']>): string[] | undefined {
    return this.#call().list(...args)
  }

  isDirectory(...args: Parameters<FileSystem['isDirectory']>): boolean {
    return this.#call().isDirectory(...args)
  }

  tryLock(...args: Parameters<FileSystem['tryLock']>): boolean {
    return this.#call().tryLock(...args)
  }

  #call(mayGoOn = true): FileSystem {
    if (!this.isEnded) this.#onCall(mayGoOn)
    if (this.isEnded) throw new ThreadEnded('the thread has ended')
    return this.#machine
  }

  #reading(): FileSystem {
    const fs = this.#call()
    if (this.badReads === 0) return fs
    this.badReads--
    throw systemError('EIO', 'input/output error')
  }
}
