/**
 * Files that belong to no log any more and wait to be removed: whoever is reading them gets
 * `file.delete.delay.ms` to finish. Knows names and times only; its owner takes what is due and
 * removes it, or has it removed by another thread, since freeing a large file takes a while.
 * What still waits when the process ends is removed when the log is opened again.
 */
import { deletedSuffix, segmentPath, segmentSuffixes } from '../file-names.ts'
import type { FileSystem } from '../file-system.ts'

interface DoomedFile {
  readonly path: string
  readonly dueMs: number
}

export class DoomedFiles {
  /** Delays differ from log to log, so the order is that of arrival. */
  #files: DoomedFile[] = []
  #nextDueMs = Number.POSITIVE_INFINITY

  get count(): number {
    return this.#files.length
  }

  /** When the first is due; infinity: none waits. */
  get nextDueMs(): number {
    return this.#nextDueMs
  }

  add(path: string, dueMs: number): void {
    this.#files.push({ path, dueMs })
    this.#nextDueMs = Math.min(this.#nextDueMs, dueMs)
  }

  /** Takes out the paths whose time has come. */
  takeDue(nowMs: number): string[] {
    if (nowMs < this.#nextDueMs) return []
    const due: string[] = []
    const waiting: DoomedFile[] = []
    this.#nextDueMs = Number.POSITIVE_INFINITY
    for (const file of this.#files) {
      if (file.dueMs <= nowMs) {
        due.push(file.path)
        continue
      }
      waiting.push(file)
      this.#nextDueMs = Math.min(this.#nextDueMs, file.dueMs)
    }
    this.#files = waiting
    return due
  }
}

/**
 * Gives a segment's files the suffix of dropped ones, the data last, and tells where they are.
 * Whoever has one open reads on.
 */
export function doomSegment(
  fs: FileSystem,
  directory: string,
  baseOffset: number,
  tell: (path: string) => void,
): void {
  for (const suffix of segmentSuffixes) {
    const path = segmentPath(directory, baseOffset, suffix)
    if (fs.sizeOf(path) === undefined) continue
    fs.rename(path, path + deletedSuffix)
    tell(path + deletedSuffix)
  }
}

/** Removes the files that are there. Throws what the file system throws. */
export function removeFiles(fs: FileSystem, paths: readonly string[]): void {
  for (const path of paths) fs.remove(path)
}
