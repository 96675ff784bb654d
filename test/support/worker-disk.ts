/** The real disk as a broker sees it, until its thread ends in the middle of a write. */
import { type FileSystem, realFileSystem } from '../../src/log/file-system.ts'

/** What the thread meets instead of its next instruction. Its catch blocks run; see `onEnd`. */
export class ThreadEnded extends Error {}

export class WorkerDisk implements FileSystem {
  /** Called at the moment of the end, before any code of the thread sees it. */
  onEnd: () => void = () => undefined
  writes = 0
  #openFds = new Set<number>()
  #endAtWrite = Number.POSITIVE_INFINITY
  #endShare = 0
  #isEnded = false
  #failsWith: string | undefined

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** The `count`-th write from now on is the last; only `share` (0 to 1) of it reaches the file. */
  endAtWrite(count: number, share: number): void {
    this.#endAtWrite = this.writes + count
    this.#endShare = share
  }

  /** Every write from now on fails with this system error (EIO, ENOSPC); undefined: none does. */
  failWrites(code: string | undefined): void {
    this.#failsWith = code
  }

  /** The system closes what a thread had open. */
  closeAll(): void {
    this.#isEnded = true
    for (const fd of this.#openFds) realFileSystem.close(fd)
    this.#openFds.clear()
  }

  open(...args: Parameters<FileSystem['open']>): number {
    const fd = this.#alive().open(...args)
    this.#openFds.add(fd)
    return fd
  }

  close(fd: number): void {
    this.#alive().close(fd)
    this.#openFds.delete(fd)
  }

  read(...args: Parameters<FileSystem['read']>): number {
    return this.#alive().read(...args)
  }

  write(...args: Parameters<FileSystem['write']>): number {
    const fs = this.#alive()
    const [fd, source, position, length, filePosition] = args
    if (!this.#endsNow()) return fs.write(...args)
    const part = Math.floor(length * this.#endShare)
    if (part > 0) fs.write(fd, source, position, part, filePosition)
    return this.#end()
  }

  writev(...args: Parameters<FileSystem['writev']>): number {
    const fs = this.#alive()
    const [fd, views, filePosition] = args
    if (!this.#endsNow()) return fs.writev(...args)
    const whole = Buffer.concat(views)
    const part = Math.floor(whole.length * this.#endShare)
    if (part > 0) fs.write(fd, whole, 0, part, filePosition)
    return this.#end()
  }

  truncate(...args: Parameters<FileSystem['truncate']>): void {
    this.#alive().truncate(...args)
  }

  dataSync(_fd: number): void {
    this.#alive()
  }

  sizeOf(...args: Parameters<FileSystem['sizeOf']>): number | undefined {
    return this.#alive().sizeOf(...args)
  }

  modifiedMs(...args: Parameters<FileSystem['modifiedMs']>): number | undefined {
    return this.#alive().modifiedMs(...args)
  }

  syncDirectory(_path: string): void {
    this.#alive()
  }

  readFile(...args: Parameters<FileSystem['readFile']>): Uint8Array | undefined {
    return this.#alive().readFile(...args)
  }

  rename(...args: Parameters<FileSystem['rename']>): void {
    this.#alive().rename(...args)
  }

  remove(...args: Parameters<FileSystem['remove']>): void {
    this.#alive().remove(...args)
  }

  makeDirectory(...args: Parameters<FileSystem['makeDirectory']>): void {
    this.#alive().makeDirectory(...args)
  }

  removeDirectory(...args: Parameters<FileSystem['removeDirectory']>): void {
    this.#alive().removeDirectory(...args)
  }

  list(...args: Parameters<FileSystem['list']>): string[] | undefined {
    return this.#alive().list(...args)
  }

  isDirectory(...args: Parameters<FileSystem['isDirectory']>): boolean {
    return this.#alive().isDirectory(...args)
  }

  tryLock(): boolean {
    return true
  }

  #alive(): FileSystem {
    if (this.#isEnded) throw new ThreadEnded('the thread has ended')
    return realFileSystem
  }

  #endsNow(): boolean {
    this.writes++
    const code = this.#failsWith
    if (code !== undefined) {
      const error = new Error(`${code}: the disk fails, write`)
      throw Object.assign(error, { code, errno: -5, syscall: 'write' })
    }
    return this.writes >= this.#endAtWrite
  }

  #end(): never {
    this.#isEnded = true
    this.onEnd()
    throw new ThreadEnded('the thread ends here')
  }
}
