/**
 * What a loss of power leaves. Everything synced is there. Of the rest, by the luck of the crash:
 *
 * - `all`: everything, as after the death of a process
 * - `none`: nothing
 * - `ordered`: what was done before a moment, the operation of that moment torn at any byte
 * - `mixed`: each file and each directory by a luck of its own: files keep a beginning of their
 *   operations with the last one torn, or blocks here and there, with zeros where a block is
 *   missing; directories keep a beginning of their entries' changes, or some of them.
 *
 * Cutting a file short is kept in order with that file's other operations, since file systems free
 * the blocks beyond; it has no order with other files.
 */
import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import {
  applyToBytes,
  applyToEntries,
  type FileOperation,
  type GrowableBytes,
  MemoryDirectory,
  MemoryFile,
} from './memory-file-system-nodes.ts'

export type CrashKind = 'all' | 'none' | 'ordered' | 'mixed'

const crashKinds: readonly CrashKind[] = ['all', 'none', 'ordered', 'mixed', 'mixed', 'mixed']
const fileLucks = ['all', 'none', 'beginning', 'blocks', 'blocks'] as const
const directoryLucks = ['all', 'none', 'beginning', 'some'] as const
/** A sector of 512 bytes in proportion to segments of a KiB or so. */
const blockBytesChoices = [16, 64, 256] as const

/** Turns what is seen below `root` into what is there after a crash; all of it durable then. */
export function crashBelow(
  root: MemoryDirectory,
  random: SeededRandom,
  sequence: number,
  kind: CrashKind = pick(crashKinds, random),
): void {
  const crash = new Crash(random, kind, kind === 'ordered' ? momentOf(root, random, sequence) : 0)
  crash.directory(root)
}

class Crash {
  readonly #random: SeededRandom
  readonly #kind: CrashKind
  /** Sequence of the operation that is torn in an `ordered` crash. */
  readonly #moment: number

  constructor(random: SeededRandom, kind: CrashKind, moment: number) {
    this.#random = random
    this.#kind = kind
    this.#moment = moment
  }

  directory(directory: MemoryDirectory): void {
    const kept = this.#keptEntries(directory)
    for (const operation of kept) applyToEntries(directory.durable, operation)
    directory.pending = []
    directory.seen.clear()
    for (const [name, node] of directory.durable) {
      directory.seen.set(name, node)
      if (node instanceof MemoryDirectory) this.directory(node)
      else this.#file(node)
    }
  }

  #keptEntries({ pending }: MemoryDirectory) {
    if (this.#kind === 'ordered') return pending.filter((each) => each.sequence < this.#moment)
    const luck = this.#kind === 'mixed' ? pick(directoryLucks, this.#random) : this.#kind
    if (luck === 'all') return pending
    if (luck === 'none') return []
    if (luck === 'some') return pending.filter(() => this.#random.nextBelow(2) === 0)
    return pending.slice(0, this.#random.nextBelow(pending.length + 1))
  }

  #file(file: MemoryFile): void {
    const { pending, durable } = file
    if (this.#kind === 'ordered') {
      this.#keepBeginning(
        durable,
        pending.filter((each) => each.sequence <= this.#moment),
        pending.some((each) => each.sequence === this.#moment),
      )
    } else {
      const luck = this.#kind === 'mixed' ? pick(fileLucks, this.#random) : this.#kind
      const count = this.#random.nextBelow(pending.length + 1)
      if (luck === 'all') for (const each of pending) applyToBytes(durable, each)
      else if (luck === 'beginning') this.#keepBeginning(durable, pending.slice(0, count), true)
      else if (luck === 'blocks') this.#keepBlocks(durable, pending.slice(0, count))
    }
    file.pending = []
    file.lockedBy = -1
    file.seen.resize(0)
    file.seen.write(0, durable.view())
  }

  #keepBeginning(target: GrowableBytes, kept: readonly FileOperation[], torn: boolean): void {
    for (const [index, operation] of kept.entries()) {
      const isTorn = torn && index === kept.length - 1 && operation.kind === 'write'
      if (!isTorn) {
        applyToBytes(target, operation)
        continue
      }
      const length = this.#random.nextBelow(operation.bytes.length + 1)
      target.write(operation.position, operation.bytes.subarray(0, length))
    }
  }

  #keepBlocks(target: GrowableBytes, operations: readonly FileOperation[]): void {
    const blockBytes = pick(blockBytesChoices, this.#random)
    const keepOneOf = pick([2, 10], this.#random)
    const keepsSize = this.#random.nextBelow(2) === 0
    for (const operation of operations) {
      if (operation.kind === 'resize') {
        applyToBytes(target, operation)
        continue
      }
      const { position, bytes } = operation
      let at = 0
      while (at < bytes.length) {
        const end = Math.min(bytes.length, at + blockBytes - ((position + at) % blockBytes))
        const lost = this.#random.nextBelow(keepOneOf) === 0
        if (!lost) target.write(position + at, bytes.subarray(at, end))
        at = end
      }
      if (keepsSize && target.size < position + bytes.length) target.resize(position + bytes.length)
    }
  }
}

/** A moment among the operations that are still pending somewhere. */
function momentOf(root: MemoryDirectory, random: SeededRandom, sequence: number): number {
  const first = firstPending(root, sequence)
  return first + random.nextBelow(sequence - first + 1)
}

function firstPending(directory: MemoryDirectory, sequence: number): number {
  let first = Math.min(sequence, directory.pending[0]?.sequence ?? sequence)
  for (const node of directory.seen.values()) {
    const inner =
      node instanceof MemoryFile
        ? (node.pending[0]?.sequence ?? sequence)
        : firstPending(node, sequence)
    first = Math.min(first, inner)
  }
  return first
}

function pick<T>(choices: readonly T[], random: SeededRandom): T {
  return choices[random.nextBelow(choices.length)]!
}
