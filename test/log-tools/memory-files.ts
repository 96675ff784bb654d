/** A directory held in memory, to be damaged bit by bit and read again and again. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type FileSystem, realFileSystem } from '../../src/log/file-system.ts'

export class MemoryFiles {
  readonly #files = new Map<string, Uint8Array>()
  readonly #names = new Map<string, string[]>()
  readonly #open: Uint8Array[] = []
  readonly fs: FileSystem

  /** A copy of the directory with all in it, under the same paths. */
  constructor(directory: string) {
    this.#load(directory)
    this.fs = {
      ...realFileSystem,
      open: (file) => this.#open.push(this.bytes(file)) - 1,
      close: () => {},
      read: (fd, target, targetPosition, length, filePosition) => {
        const part = this.#open[fd]!.subarray(filePosition, filePosition + length)
        target.set(part, targetPosition)
        return part.length
      },
      sizeOf: (file) => this.#files.get(file)?.length ?? (this.#names.has(file) ? 0 : undefined),
      readFile: (file) => this.#files.get(file),
      list: (folder) => this.#names.get(folder),
      isDirectory: (folder) => this.#names.has(folder),
    }
  }

  get paths(): string[] {
    return [...this.#files.keys()]
  }

  bytes(file: string): Uint8Array {
    const bytes = this.#files.get(file)
    if (bytes === undefined) throw new Error(`no file ${file}`)
    return bytes
  }

  replace(file: string, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) this.#files.delete(file)
    else this.#files.set(file, bytes)
    const names = this.#names.get(path.dirname(file))!
    const name = path.basename(file)
    if (bytes === undefined) names.splice(names.indexOf(name), 1)
    else if (!names.includes(name)) names.push(name)
  }

  /** Flips it; a second time puts it right again. */
  flip(file: string, bit: number): void {
    this.bytes(file)[bit >> 3] ^= 1 << (bit & 7)
  }

  #load(directory: string): void {
    const entries = readdirSync(directory, { withFileTypes: true })
    this.#names.set(
      directory,
      entries.map(({ name }) => name),
    )
    for (const entry of entries) {
      const file = path.join(directory, entry.name)
      if (entry.isDirectory()) this.#load(file)
      else this.#files.set(file, Uint8Array.from(readFileSync(file)))
    }
  }
}
