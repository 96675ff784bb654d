/**
 * Keeps a bounded number of files open. Thousands of partitions times replicas must not hold a
 * descriptor each, so a file is opened when it is used, and closed when it is the oldest that has
 * not been used since the last look (the CLOCK rule). To move a file to the front at each use would
 * touch its neighbours, and with thousands of files each touch is a miss of the cache.
 *
 * A descriptor is only good until the next call to `descriptor`: callers use it at once.
 */
import { invariant } from '../invariant.ts'
import { limits } from '../limits.ts'
import { type FileSystem, type OpenMode, realFileSystem } from './file-system.ts'
import { IndexPages } from './index-pages.ts'
import { systemErrorCode } from './storage-error.ts'

/** A file that may be open. Links of the row of open files are in the object itself. */
export class OpenFile {
  readonly path: string
  readonly mode: OpenMode
  fd = -1
  /** Since it was opened, or last passed over. */
  isUsed = false
  newer: OpenFile | undefined = undefined
  older: OpenFile | undefined = undefined

  constructor(path: string, mode: 'read' | 'update') {
    this.path = path
    this.mode = mode
  }
}

export class OpenFiles {
  readonly fs: FileSystem
  /** What these files' indexes were looked up in. */
  readonly indexPages = new IndexPages()
  #budget: number
  #newest: OpenFile | undefined = undefined
  #oldest: OpenFile | undefined = undefined
  #count = 0

  constructor(fs: FileSystem = realFileSystem, budget: number = limits.openFilesPerBrokerMax) {
    invariant(budget >= 1, 'one file at least may be open')
    this.fs = fs
    this.#budget = budget
  }

  get openCount(): number {
    return this.#count
  }

  /** The file's descriptor, opened if need be. */
  descriptor(file: OpenFile): number {
    if (file.fd >= 0) {
      if (!file.isUsed) file.isUsed = true
      return file.fd
    }
    this.#open(file)
    this.#linkNewest(file)
    return file.fd
  }

  close(file: OpenFile): void {
    if (file.fd < 0) return
    const { fd } = file
    this.#unlink(file)
    file.fd = -1
    this.fs.close(fd)
  }

  closeAll(): void {
    while (this.#oldest !== undefined) this.close(this.#oldest)
  }

  #open(file: OpenFile): void {
    this.#closeDownTo(this.#budget - 1)
    try {
      file.fd = this.fs.open(file.path, file.mode)
    } catch (cause) {
      const code = systemErrorCode(cause)
      if ((code !== 'EMFILE' && code !== 'ENFILE') || this.#count === 0) throw cause
      this.#shrinkBudget()
      file.fd = this.fs.open(file.path, file.mode)
    }
  }

  /** The system gives fewer descriptors than the budget says: live with half of what we have. */
  #shrinkBudget(): void {
    this.#budget = Math.max(1, this.#count >>> 1)
    this.#closeDownTo(this.#budget - 1)
  }

  #closeDownTo(count: number): void {
    while (this.#count > count && this.#oldest !== undefined) {
      const oldest = this.#oldest
      if (!oldest.isUsed) {
        this.close(oldest)
        continue
      }
      this.#unlink(oldest)
      this.#linkNewest(oldest)
    }
  }

  #linkNewest(file: OpenFile): void {
    file.isUsed = false
    file.older = this.#newest
    file.newer = undefined
    if (this.#newest !== undefined) this.#newest.newer = file
    this.#newest = file
    this.#oldest ??= file
    this.#count += 1
  }

  #unlink(file: OpenFile): void {
    if (file.newer !== undefined) file.newer.older = file.older
    else this.#newest = file.older
    if (file.older !== undefined) file.older.newer = file.newer
    else this.#oldest = file.newer
    file.newer = undefined
    file.older = undefined
    this.#count -= 1
  }
}
