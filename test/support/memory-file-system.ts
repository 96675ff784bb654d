/**
 * A file system in memory that forgets at a crash what nobody synced: bytes of files, and the
 * entries of directories (makings, renamings, removals). Paths are absolute. As strict as POSIX
 * allows: a sync of a file says nothing of its entry in the directory, and a sync of a directory
 * nothing of that directory's own entry in its parent.
 */
import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import type { FileSystem, OpenMode } from '../../src/log/file-system.ts'
import { type CrashKind, crashBelow } from './memory-file-system-crash.ts'
import { MemoryDirectory, MemoryFile, type MemoryNode } from './memory-file-system-nodes.ts'

export class MemoryFileSystem implements FileSystem {
  readonly #root = new MemoryDirectory()
  #open = new Map<number, MemoryFile>()
  #nextFd = 3
  #sequence = 0

  /** Files that are open; a crash closes all. */
  get openCount(): number {
    return this.#open.size
  }

  /** The power goes and comes back. Descriptors and locks of before are worth nothing now. */
  crash(random: SeededRandom, kind?: CrashKind): void {
    this.#open = new Map()
    crashBelow(this.#root, random, this.#sequence, kind)
  }

  /**
   * The machine that has this directory loses its power; the descriptors that others have of its
   * files stay open, and show what is left.
   */
  crashDirectory(path: string, random: SeededRandom, kind?: CrashKind): void {
    const node = this.#find(path)
    if (node instanceof MemoryDirectory) crashBelow(node, random, this.#sequence, kind)
  }

  /** The process ends; what it wrote is all there. */
  closeAll(): void {
    for (const fd of [...this.#open.keys()]) this.close(fd)
  }

  /**
   * What the system does when it cannot write a file's bytes: it reports that once, goes on showing
   * them to readers, and forgets that they were ever to be written.
   */
  dropUnsynced(fd: number): void {
    this.#file(fd).pending = []
  }

  open(path: string, mode: OpenMode): number {
    const { directory, name } = this.#parent(path)
    let file = directory.seen.get(name)
    if (file instanceof MemoryDirectory) throw systemError('EISDIR', path)
    if (file === undefined) {
      if (mode !== 'create') throw systemError('ENOENT', path)
      file = new MemoryFile()
      directory.apply({ kind: 'link', sequence: this.#next(), name, node: file })
    } else if (mode === 'create') {
      file.apply({ kind: 'resize', sequence: this.#next(), size: 0 })
    }
    const fd = this.#nextFd
    this.#nextFd += 1
    this.#open.set(fd, file)
    return fd
  }

  close(fd: number): void {
    const file = this.#file(fd)
    if (file.lockedBy === fd) file.lockedBy = -1
    this.#open.delete(fd)
  }

  read(
    fd: number,
    target: Uint8Array,
    targetPosition: number,
    length: number,
    filePosition: number,
  ): number {
    const bytes = this.#file(fd)
      .seen.view()
      .subarray(filePosition, filePosition + length)
    if (targetPosition + length > target.length) throw systemError('ERR_OUT_OF_RANGE', 'read')
    target.set(bytes, targetPosition)
    return bytes.length
  }

  write(
    fd: number,
    source: Uint8Array,
    sourcePosition: number,
    length: number,
    filePosition: number,
  ): number {
    if (sourcePosition + length > source.length) throw systemError('ERR_OUT_OF_RANGE', 'write')
    const bytes = source.slice(sourcePosition, sourcePosition + length)
    const sequence = this.#next()
    this.#file(fd).apply({ kind: 'write', sequence, position: filePosition, bytes })
    return length
  }

  writev(fd: number, views: readonly Uint8Array[], filePosition: number): number {
    const bytes = Buffer.concat(views)
    return this.write(fd, bytes, 0, bytes.length, filePosition)
  }

  truncate(fd: number, sizeBytes: number): void {
    this.#file(fd).apply({ kind: 'resize', sequence: this.#next(), size: sizeBytes })
  }

  dataSync(fd: number): void {
    this.#file(fd).sync()
  }

  sizeOf(path: string): number | undefined {
    const node = this.#find(path)
    return node instanceof MemoryFile ? node.seen.size : undefined
  }

  /** There is no clock here. */
  modifiedMs(_path: string): number | undefined {
    return undefined
  }

  syncDirectory(path: string): void {
    const node = this.#find(path)
    if (!(node instanceof MemoryDirectory)) throw systemError('ENOENT', path)
    node.sync()
  }

  readFile(path: string): Uint8Array | undefined {
    const node = this.#find(path)
    return node instanceof MemoryFile ? node.seen.view().slice() : undefined
  }

  rename(from: string, to: string): void {
    const source = this.#parent(from)
    const target = this.#parent(to)
    const node = source.directory.seen.get(source.name)
    if (node === undefined) throw systemError('ENOENT', from)
    if (source.directory !== target.directory) throw systemError('EXDEV', to)
    const sequence = this.#next()
    source.directory.apply({
      kind: 'rename',
      sequence,
      from: source.name,
      to: target.name,
      node,
    })
  }

  remove(path: string): void {
    if (this.#find(path) === undefined) return
    const { directory, name } = this.#parent(path)
    directory.apply({ kind: 'unlink', sequence: this.#next(), name })
  }

  makeDirectory(path: string): void {
    let directory = this.#root
    for (const name of namesOf(path)) {
      let node = directory.seen.get(name)
      if (node === undefined) {
        node = new MemoryDirectory()
        directory.apply({ kind: 'link', sequence: this.#next(), name, node })
      }
      if (node instanceof MemoryFile) throw systemError('ENOTDIR', path)
      directory = node
    }
  }

  removeDirectory(path: string): void {
    this.remove(path)
  }

  list(path: string): string[] | undefined {
    const node = this.#find(path)
    return node instanceof MemoryDirectory ? [...node.seen.keys()] : undefined
  }

  isDirectory(path: string): boolean {
    return this.#find(path) instanceof MemoryDirectory
  }

  tryLock(fd: number): boolean {
    const file = this.#file(fd)
    if (file.lockedBy >= 0 && file.lockedBy !== fd) return false
    file.lockedBy = fd
    return true
  }

  #next(): number {
    this.#sequence += 1
    return this.#sequence
  }

  #file(fd: number): MemoryFile {
    const file = this.#open.get(fd)
    if (file === undefined) throw systemError('EBADF', String(fd))
    return file
  }

  #find(path: string): MemoryNode | undefined {
    let node: MemoryNode | undefined = this.#root
    for (const name of namesOf(path)) {
      node = node instanceof MemoryDirectory ? node.seen.get(name) : undefined
    }
    return node
  }

  #parent(path: string): { directory: MemoryDirectory; name: string } {
    const names = namesOf(path)
    let directory: MemoryNode | undefined = this.#root
    for (let at = 0; at < names.length - 1; at++) {
      directory = directory instanceof MemoryDirectory ? directory.seen.get(names[at]!) : undefined
    }
    if (!(directory instanceof MemoryDirectory)) throw systemError('ENOENT', path)
    return { directory, name: names.at(-1) ?? '' }
  }
}

export function systemError(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code })
}

/** The same few paths are asked for again and again. */
const namesByPath = new Map<string, readonly string[]>()
const pathsKeptMax = 10_000

function namesOf(path: string): readonly string[] {
  let names = namesByPath.get(path)
  if (names === undefined) {
    if (namesByPath.size >= pathsKeptMax) namesByPath.clear()
    names = path.split('/').filter((name) => name !== '')
    namesByPath.set(path, names)
  }
  return names
}
