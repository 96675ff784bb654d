/**
 * PoolFiles: batches of a pool written into as many files as there are partitions, with as few
 * calls as can be. Batch number n goes to partition n modulo partitions.
 */
import {
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  writeSync,
  writevSync,
} from 'node:fs'
import { join } from 'node:path'
import { invariant } from '../invariant.ts'
import { limits } from '../limits.ts'
import type { BatchPool } from './batch-pool.ts'

export interface PoolFilesOptions extends Omit<BatchPool, 'payloadBytes'> {
  /** The files are made in it. */
  readonly directory: string
  readonly partitions: number
}

export class PoolFiles {
  readonly #options: PoolFilesOptions
  readonly #bytes: Uint8Array
  readonly #batches: readonly Uint8Array[]
  readonly #paths: readonly string[]
  /** -1: closed for the time being. */
  readonly #files: Int32Array
  readonly #sizes: Float64Array
  readonly #dirty: Uint8Array
  #openFiles = 0
  #oldestOpen = 0

  /** Makes the files. */
  constructor(options: PoolFilesOptions) {
    this.#options = options
    this.#bytes = new Uint8Array(options.pool)
    this.#batches = Array.from({ length: options.poolBatches }, (_, index) => {
      return new Uint8Array(options.pool, index * options.batchStride, options.batchBytes)
    })
    this.#paths = Array.from({ length: options.partitions }, (_, partition) => {
      return join(options.directory, `limit-${partition}`, '00000000000000000000.log')
    })
    this.#files = new Int32Array(options.partitions).fill(-1)
    this.#sizes = new Float64Array(options.partitions)
    this.#dirty = new Uint8Array(options.partitions)
    for (let partition = 0; partition < options.partitions; partition += 1) {
      mkdirSync(join(options.directory, `limit-${partition}`), { recursive: true })
      this.#file(partition)
    }
  }

  /** Batches of one round, as many bytes as a follower takes in one step. */
  get roundBatches(): number {
    return Math.max(1, Math.floor(limits.followerRoundBytesMax / this.#options.batchBytes))
  }

  /**
   * Every partition that has batches from `first` to before `end` gets them in one call.
   *
   * @param sync whether each call is followed by an fdatasync
   */
  write(first: number, end: number, sync: boolean): void {
    const { partitions } = this.#options
    const touched = Math.min(partitions, end - first)
    for (let index = 0; index < touched; index += 1) {
      const partition = (first + index) % partitions
      const file = this.#file(partition)
      const written = this.#writeBatches(file, this.#sizes[partition], first + index, end)
      this.#sizes[partition] += written
      this.#dirty[partition] = 1
      if (sync) fdatasyncSync(file)
    }
  }

  /** Every file written since the last time. */
  sync(): void {
    for (let partition = 0; partition < this.#options.partitions; partition += 1) {
      if (this.#dirty[partition] === 0) continue
      this.#dirty[partition] = 0
      fdatasyncSync(this.#file(partition))
    }
  }

  /** Drops all that was written, and with it what the system has still to write. */
  empty(): void {
    for (let partition = 0; partition < this.#options.partitions; partition += 1) {
      if (this.#sizes[partition] === 0) continue
      ftruncateSync(this.#file(partition))
      this.#sizes[partition] = 0
      this.#dirty[partition] = 0
    }
  }

  close(): void {
    for (const file of this.#files) if (file !== -1) closeSync(file)
  }

  #writeBatches(file: number, position: number, first: number, end: number): number {
    const { partitions, poolBatches, batchStride, batchBytes } = this.#options
    if (first + partitions >= end) {
      const at = (first % poolBatches) * batchStride
      const written = writeSync(file, this.#bytes, at, batchBytes, position)
      invariant(written === batchBytes, 'a batch is written whole')
      return written
    }
    const runMax = Math.max(1, Math.floor(limits.writeBytesMax / batchBytes))
    let run: Uint8Array[] = []
    let written = 0
    for (let batch = first; batch < end; batch += partitions) {
      run.push(this.#batches[batch % poolBatches])
      if (run.length < runMax && batch + partitions < end) continue
      const bytes = writevSync(file, run, position + written)
      invariant(bytes === run.length * batchBytes, 'batches are written whole')
      written += bytes
      run = []
    }
    return written
  }

  /** Partitions take turns, so the file opened first is the one unused for longest. */
  #file(partition: number): number {
    const open = this.#files[partition]
    if (open !== -1) return open
    if (this.#openFiles === limits.openFilesPerBrokerMax) {
      closeSync(this.#files[this.#oldestOpen])
      this.#files[this.#oldestOpen] = -1
      this.#oldestOpen = (this.#oldestOpen + 1) % this.#options.partitions
      this.#openFiles -= 1
    }
    const file = openSync(this.#paths[partition], this.#sizes[partition] === 0 ? 'w' : 'r+')
    this.#files[partition] = file
    this.#openFiles += 1
    return file
  }
}
