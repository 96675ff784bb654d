/**
 * DeferredSyncs: many syncs become one. A broker that closes thousands of logs would wait for each
 * file and directory in turn; the system can make all that was written durable at once. While it is
 * deferred, a sync returns at once and vouches for nothing: nobody may be told of it before that
 * one sync has ended well.
 */
import type { FileSystem } from '../log/file-system.ts'

/** Makes everything in the file system of a directory durable; false: it isn't for certain. */
export type SyncFileSystem = (directory: string) => boolean

/** Called when one is needed; undefined: there is none here. */
export type FindSync = () => SyncFileSystem | undefined

export class DeferredSyncs {
  /** The same files, whose syncs can be put off. */
  readonly fs: FileSystem
  #isDeferring = false
  #deferred = 0

  /** @param fs an object of functions that don't need `this` */
  constructor(fs: FileSystem) {
    const isPutOff = (): boolean => {
      if (this.#isDeferring) this.#deferred += 1
      return this.#isDeferring
    }
    this.fs = {
      ...fs,
      dataSync(fd) {
        if (!isPutOff()) fs.dataSync(fd)
      },
      syncDirectory(path) {
        if (!isPutOff()) fs.syncDirectory(path)
      },
    }
  }

  begin(): void {
    this.#isDeferring = true
  }

  /** @returns how many were put off, and are the caller's to make up for */
  end(): number {
    const deferred = this.#deferred
    this.#isDeferring = false
    this.#deferred = 0
    return deferred
  }
}
