/**
 * Index file of a sealed segment, read by pages on demand instead of as a whole at each lookup.
 *
 * The file has no checksum. What is read here leads somewhere or nowhere; callers hold every answer
 * against the data.
 */
import { type IndexPage, indexPageBytes, type PageOwner } from './index-pages.ts'
import { isExactInt64, readInt64 } from './int64.ts'
import { OpenFile, type OpenFiles } from './open-files.ts'
import { systemErrorCode } from './storage-error.ts'

/** Entries of a fixed size; all but the first hold more than zeros. */
export class IndexFile implements PageOwner {
  readonly #files: OpenFiles
  readonly #file: OpenFile
  readonly #entryBytes: number
  readonly #perPage: number
  /** -1: not counted yet. */
  #count = -1
  #pages: (IndexPage | undefined)[] = []

  constructor(files: OpenFiles, path: string, entryBytes: number) {
    this.#files = files
    this.#file = new OpenFile(path, 'read')
    this.#entryBytes = entryBytes
    this.#perPage = Math.floor(indexPageBytes / entryBytes)
  }

  /** Whole entries, without the zeros that a preallocated file ends with; 0 without a file. */
  get count(): number {
    if (this.#count < 0) this.#count = this.#countEntries()
    return this.#count
  }

  /** An i32 at `byte` of an entry; -1 when the file ends before. */
  int32At(index: number, byte: number): number {
    const page = this.#pageOf(index)
    const at = index % this.#perPage
    if (page === undefined || at >= page.entries) return -1
    return page.view.getInt32(at * this.#entryBytes + byte)
  }

  /** An i64 at the start of an entry; NaN when the file ends before or no number holds it. */
  int64At(index: number): number {
    const page = this.#pageOf(index)
    const at = index % this.#perPage
    if (page === undefined || at >= page.entries) return Number.NaN
    const position = at * this.#entryBytes
    return isExactInt64(page.view, position) ? readInt64(page.view, position) : Number.NaN
  }

  forget(number: number): void {
    this.#pages[number] = undefined
  }

  /** Drops all it knows; the file was written, or is about to go. */
  close(): void {
    this.#files.close(this.#file)
    for (const page of this.#pages) {
      if (page === undefined) continue
      page.owner = undefined
      page.isUsed = false
    }
    this.#pages = []
    this.#count = -1
  }

  /** Zeros only end a file, so the first of them is found like anything else that is in order. */
  #countEntries(): number {
    const sizeBytes = this.#files.fs.sizeOf(this.#file.path) ?? 0
    let low = 1
    let high = Math.floor(sizeBytes / this.#entryBytes)
    if (high <= 1 || !this.#isZero(high - 1)) return high
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#isZero(middle)) high = middle
      else low = middle + 1
    }
    return low
  }

  #isZero(index: number): boolean {
    for (let byte = 0; byte < this.#entryBytes; byte += 4) {
      if (this.int32At(index, byte) !== 0) return false
    }
    return true
  }

  #pageOf(index: number): IndexPage | undefined {
    const number = Math.floor(index / this.#perPage)
    const known = this.#pages[number]
    if (known === undefined) return this.#read(number)
    known.isUsed = true
    return known
  }

  #read(number: number): IndexPage | undefined {
    const fd = this.#descriptor()
    if (fd < 0) return undefined
    const page = this.#files.indexPages.take(this, number)
    const length = this.#perPage * this.#entryBytes
    const read = this.#files.fs.read(fd, page.bytes, 0, length, number * length)
    page.entries = Math.floor(read / this.#entryBytes)
    this.#pages[number] = page
    return page
  }

  #descriptor(): number {
    try {
      return this.#files.descriptor(this.#file)
    } catch (cause) {
      if (systemErrorCode(cause) === 'ENOENT') return -1
      throw cause
    }
  }
}
