/**
 * What `MemoryFileSystem` is made of. A file and a directory each have two faces: what a process
 * sees now, and what lies on the disk for certain; between them stand the operations that no sync
 * has covered yet, in order.
 */

/** Bytes that grow when written beyond their end, with zeros between. */
export class GrowableBytes {
  #bytes = new Uint8Array(0)
  #size = 0

  get size(): number {
    return this.#size
  }

  write(position: number, source: Uint8Array): void {
    const end = position + source.length
    if (end > this.#bytes.length) {
      const bytes = new Uint8Array(Math.max(end, this.#bytes.length * 2))
      bytes.set(this.#bytes.subarray(0, this.#size))
      this.#bytes = bytes
    }
    this.#bytes.set(source, position)
    this.#size = Math.max(this.#size, end)
  }

  resize(size: number): void {
    if (size > this.#size) this.write(size, new Uint8Array(0))
    else this.#bytes.fill(0, size, this.#size)
    this.#size = size
  }

  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#size)
  }

  copyOf(): GrowableBytes {
    const copy = new GrowableBytes()
    copy.write(0, this.view())
    return copy
  }
}

/** `sequence` counts all operations of the disk, so that those of several files can be ordered. */
export type FileOperation =
  | {
      readonly kind: 'write'
      readonly sequence: number
      readonly position: number
      readonly bytes: Uint8Array
    }
  | { readonly kind: 'resize'; readonly sequence: number; readonly size: number }

export class MemoryFile {
  /** What a reader gets. */
  readonly seen = new GrowableBytes()
  /** What the disk has for certain. */
  durable = new GrowableBytes()
  pending: FileOperation[] = []
  /** Descriptor that holds the advisory lock; -1: none. */
  lockedBy = -1

  apply(operation: FileOperation): void {
    applyToBytes(this.seen, operation)
    this.pending.push(operation)
  }

  sync(): void {
    for (const operation of this.pending) applyToBytes(this.durable, operation)
    this.pending = []
  }
}

export function applyToBytes(target: GrowableBytes, operation: FileOperation): void {
  if (operation.kind === 'write') target.write(operation.position, operation.bytes)
  else target.resize(operation.size)
}

export type MemoryNode = MemoryFile | MemoryDirectory

export type DirectoryOperation =
  | {
      readonly kind: 'link'
      readonly sequence: number
      readonly name: string
      readonly node: MemoryNode
    }
  | { readonly kind: 'unlink'; readonly sequence: number; readonly name: string }
  | {
      readonly kind: 'rename'
      readonly sequence: number
      readonly from: string
      readonly to: string
      readonly node: MemoryNode
    }

export class MemoryDirectory {
  readonly seen = new Map<string, MemoryNode>()
  durable = new Map<string, MemoryNode>()
  pending: DirectoryOperation[] = []

  apply(operation: DirectoryOperation): void {
    applyToEntries(this.seen, operation)
    this.pending.push(operation)
  }

  sync(): void {
    for (const operation of this.pending) applyToEntries(this.durable, operation)
    this.pending = []
  }
}

export function applyToEntries(
  entries: Map<string, MemoryNode>,
  operation: DirectoryOperation,
): void {
  if (operation.kind === 'link') entries.set(operation.name, operation.node)
  else if (operation.kind === 'unlink') entries.delete(operation.name)
  else {
    entries.delete(operation.from)
    entries.set(operation.to, operation.node)
  }
}
