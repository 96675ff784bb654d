/**
 * Worker entry: one replica of the limit. Batch number n goes to partition n modulo partitions; a
 * round is as many bytes as a follower takes in one step, written with one call a partition.
 */
import { closeSync, fdatasyncSync, mkdirSync, openSync, writeSync, writevSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import { invariant } from '../invariant.ts'
import { limits } from '../limits.ts'
import { type LimitTask, type LimitWriterMessage, limitWord } from './limit-task.ts'

class LimitWriter {
  readonly #task: LimitTask
  readonly #bytes: Uint8Array
  readonly #batches: readonly Uint8Array[]
  readonly #paths: readonly string[]
  /** -1: closed for the time being. */
  readonly #files: Int32Array
  readonly #sizes: Float64Array
  readonly #dirty: Uint8Array
  readonly #roundBatches: number
  #openFiles = 0
  #oldestOpen = 0
  #flushedMs = 0

  constructor(task: LimitTask) {
    this.#task = task
    this.#bytes = new Uint8Array(task.pool)
    this.#batches = Array.from({ length: task.poolBatches }, (_, index) => {
      return new Uint8Array(task.pool, index * task.batchStride, task.batchBytes)
    })
    this.#paths = Array.from({ length: task.partitions }, (_, partition) => {
      return join(task.directory, `limit-${partition}`, '00000000000000000000.log')
    })
    this.#files = new Int32Array(task.partitions).fill(-1)
    this.#sizes = new Float64Array(task.partitions)
    this.#dirty = new Uint8Array(task.partitions)
    this.#roundBatches = Math.max(1, Math.floor(limits.followerRoundBytesMax / task.batchBytes))
  }

  makeFiles(): void {
    for (let partition = 0; partition < this.#task.partitions; partition += 1) {
      mkdirSync(join(this.#task.directory, `limit-${partition}`), { recursive: true })
      this.#file(partition)
    }
  }

  /** Writes everything, unless told to stop. */
  run(): void {
    const { totalBatches, words } = this.#task
    this.#flushedMs = systemClock.nowMs()
    for (let next = 0; next < totalBatches; next += this.#roundBatches) {
      if (Atomics.load(words, limitWord.stop) === 1) return
      this.#writeRound(next, Math.min(totalBatches, next + this.#roundBatches))
      this.#flushIfDue()
    }
  }

  close(): void {
    for (const file of this.#files) if (file !== -1) closeSync(file)
  }

  /** Every partition that has batches from `first` to before `end` gets them in one call. */
  #writeRound(first: number, end: number): void {
    const { partitions, flush } = this.#task
    const touched = Math.min(partitions, end - first)
    for (let index = 0; index < touched; index += 1) {
      const partition = (first + index) % partitions
      const file = this.#file(partition)
      const written = this.#writeBatches(file, this.#sizes[partition], first + index, end)
      this.#sizes[partition] += written
      this.#dirty[partition] = 1
      if (flush.kind === 'batch') fdatasyncSync(file)
    }
  }

  #writeBatches(file: number, position: number, first: number, end: number): number {
    const { partitions, poolBatches, batchStride, batchBytes } = this.#task
    if (first + partitions >= end) {
      const at = (first % poolBatches) * batchStride
      const written = writeSync(file, this.#bytes, at, batchBytes, position)
      invariant(written === batchBytes, 'a batch is written whole')
      return written
    }
    const run: Uint8Array[] = []
    for (let batch = first; batch < end; batch += partitions) {
      run.push(this.#batches[batch % poolBatches])
    }
    const written = writevSync(file, run, position)
    invariant(written === run.length * batchBytes, 'batches are written whole')
    return written
  }

  /** Partitions take turns, so the file opened first is the one unused for longest. */
  #file(partition: number): number {
    const open = this.#files[partition]
    if (open !== -1) return open
    if (this.#openFiles === limits.openFilesPerBrokerMax) {
      closeSync(this.#files[this.#oldestOpen])
      this.#files[this.#oldestOpen] = -1
      this.#oldestOpen = (this.#oldestOpen + 1) % this.#task.partitions
      this.#openFiles -= 1
    }
    const file = openSync(this.#paths[partition], this.#sizes[partition] === 0 ? 'w' : 'r+')
    this.#files[partition] = file
    this.#openFiles += 1
    return file
  }

  #flushIfDue(): void {
    const { flush, partitions } = this.#task
    if (flush.kind !== 'interval' || systemClock.nowMs() - this.#flushedMs < flush.ms) return
    for (let partition = 0; partition < partitions; partition += 1) {
      if (this.#dirty[partition] === 0) continue
      this.#dirty[partition] = 0
      fdatasyncSync(this.#file(partition))
    }
    this.#flushedMs = systemClock.nowMs()
  }
}

function main(): void {
  const task = workerData as LimitTask
  const say = (message: LimitWriterMessage): void => parentPort?.postMessage(message)
  const writer = new LimitWriter(task)
  try {
    writer.makeFiles()
    say({ kind: 'ready' })
    Atomics.wait(task.words, limitWord.gate, 0)
    if (Atomics.load(task.words, limitWord.start) === 1) {
      writer.run()
      say({ kind: 'done', endMs: systemClock.nowMs() })
    }
  } finally {
    writer.close()
  }
}

main()
