/**
 * The physical limit that a throughput is held against: as many threads as replicas, which know
 * nothing of each other, each writing the same pre-encoded batches out of one shared memory into as
 * many files as there are partitions. No protocol, no promise a record, no CRC: only what no broker
 * that stores the bytes can do without.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import { TidemarkError } from '../errors.ts'
import { invariant } from '../invariant.ts'
import { limits } from '../limits.ts'
import type { FlushPolicy } from '../log/log-config.ts'
import { moduleSuffix, workerEntry } from '../workers/worker-entry.ts'
import { type BatchPool, makeBatchPool } from './batch-pool.ts'
import type { LimitCommand, LimitTask, LimitWriterMessage } from './limit-task.ts'

export interface LimitOptions {
  /** Must exist; everything is made in a fresh directory below it, which is removed. */
  readonly directory: string
  readonly replicas: number
  readonly partitions: number
  /** Upper bound of a batch, its header included. */
  readonly batchBytes: number
  /** Bytes of a record's value; default 1 KiB. */
  readonly recordBytes?: number
  /** Bytes of the batches that each replica writes in one round, at most. */
  readonly roundBytesMax: number
  readonly flush: FlushPolicy
  readonly signal?: AbortSignal
}

export interface Limit {
  /** Payload of one replica over the time of the slowest. */
  readonly bytesPerSec: number
  /** From the common start until the slowest thread had written its last byte. */
  readonly elapsedMs: number
  /** Payload: the values of the records. */
  readonly bytesPerReplica: number
  /** With the headers of batches and records. */
  readonly fileBytesPerReplica: number
}

const recordBytesDefault = 1024

/**
 * Writers that stand ready, for several rounds: their code is compiled and their files are there,
 * as those of a cluster that has run for a while.
 */
export class LimitRun {
  readonly #options: LimitOptions
  readonly #directory: string
  readonly #pool: BatchPool
  readonly #stopped = new Int32Array(new SharedArrayBuffer(4))
  readonly #writers: LimitThread[] = []
  readonly #onAbort = (): void => void Atomics.store(this.#stopped, 0, 1)

  private constructor(options: LimitOptions, pool: BatchPool, directory: string) {
    this.#options = options
    this.#pool = pool
    this.#directory = directory
    options.signal?.addEventListener('abort', this.#onAbort, { once: true })
    const { payloadBytes: _, ...batches } = pool
    const { partitions, flush, replicas } = options
    for (let replica = 1; replica <= replicas; replica += 1) {
      const own = join(directory, `replica-${replica}`)
      const task = { ...batches, stopped: this.#stopped, directory: own, partitions, flush }
      this.#writers.push(new LimitThread(task))
    }
  }

  /**
   * @throws {TidemarkError} INVALID_ARGUMENT for a number out of range; KAFKA_STORAGE_ERROR when
   *   the directory cannot be written. When `signal` aborts, its reason. Nothing is left behind.
   */
  static async open(options: LimitOptions): Promise<LimitRun> {
    checkOptions(options)
    options.signal?.throwIfAborted()
    const { batchBytes, recordBytes = recordBytesDefault, roundBytesMax } = options
    const pool = makeBatchPool({ batchBytes, recordBytes, totalBytes: roundBytesMax })
    const run = new LimitRun(options, pool, await makeDirectory(options.directory))
    try {
      await run.#all('ready')
      options.signal?.throwIfAborted()
      return run
    } catch (error) {
      await run.close()
      throw error
    }
  }

  /**
   * Writes `totalBytes` of batches in each replica, rounded up to whole batches; then the files are
   * emptied.
   *
   * @throws {TidemarkError} as `open`
   */
  async round(totalBytes: number): Promise<Limit> {
    checkRange('totalBytes', totalBytes, this.#options.roundBytesMax)
    this.#options.signal?.throwIfAborted()
    const { batchBytes, payloadBytes } = this.#pool
    const totalBatches = Math.ceil(totalBytes / batchBytes)
    const startMs = systemClock.nowMs()
    for (const writer of this.#writers) writer.tell({ kind: 'write', totalBatches })
    const done = await this.#all('done')
    const elapsedMs = Math.max(...done.map(({ endMs }) => endMs)) - startMs
    await this.#all('ready')
    this.#options.signal?.throwIfAborted()
    const bytesPerReplica = totalBatches * payloadBytes
    return {
      bytesPerSec: (bytesPerReplica * 1000) / elapsedMs,
      elapsedMs,
      bytesPerReplica,
      fileBytesPerReplica: totalBatches * batchBytes,
    }
  }

  /** Ends the threads and removes all files. */
  async close(): Promise<void> {
    this.#options.signal?.removeEventListener('abort', this.#onAbort)
    // Whoever still writes need not finish: none may outlive the directory.
    Atomics.store(this.#stopped, 0, 1)
    for (const writer of this.#writers) writer.tell({ kind: 'close' })
    await Promise.all(this.#writers.map((writer) => writer.exited))
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #all<Kind extends LimitWriterMessage['kind']>(kind: Kind) {
    return await Promise.all(this.#writers.map((writer) => writer.next(kind)))
  }
}

/** A writer's thread, and what it says, in order. */
class LimitThread {
  readonly exited: Promise<void>
  readonly #worker: Worker
  readonly #failed: Promise<never>
  readonly #said: LimitWriterMessage[] = []
  #onMessage: () => void = () => {}

  constructor(task: LimitTask) {
    this.#worker = new Worker(workerEntry(import.meta.url, `limit-writer${moduleSuffix}`), {
      workerData: task,
    })
    this.exited = new Promise((resolve) => this.#worker.once('exit', () => resolve()))
    this.#failed = new Promise((_, reject) => {
      const fail = (cause: unknown): void => {
        const reason = cause instanceof Error ? cause.message : `its thread ended with ${cause}`
        const detail = `${task.directory}: the limit could not be measured: ${reason}`
        reject(new TidemarkError('KAFKA_STORAGE_ERROR', { detail, cause }))
      }
      this.#worker.once('error', fail)
      this.#worker.once('exit', fail)
    })
    // It also ends when it is told to.
    this.#failed.catch(() => {})
    this.#worker.on('message', (message: LimitWriterMessage) => {
      this.#said.push(message)
      this.#onMessage()
    })
  }

  tell(command: LimitCommand): void {
    this.#worker.postMessage(command)
  }

  async next<Kind extends LimitWriterMessage['kind']>(
    kind: Kind,
  ): Promise<Extract<LimitWriterMessage, { kind: Kind }>> {
    if (this.#said.length === 0) {
      const said = new Promise<void>((resolve) => {
        this.#onMessage = resolve
      })
      await Promise.race([said, this.#failed])
    }
    const message = this.#said.shift()
    invariant(message?.kind === kind, () => `the writer says ${kind}, not ${message?.kind}`)
    return message as Extract<LimitWriterMessage, { kind: Kind }>
  }
}

async function makeDirectory(parent: string): Promise<string> {
  try {
    return await mkdtemp(join(parent, 'limit-'))
  } catch (error) {
    const detail = `${parent}: no directory can be made in it: ${(error as Error).message}`
    throw new TidemarkError('KAFKA_STORAGE_ERROR', { detail, cause: error })
  }
}

function checkOptions(options: LimitOptions): void {
  checkRange('replicas', options.replicas, limits.replicationFactorMax)
  checkRange('partitions', options.partitions, Number.MAX_SAFE_INTEGER)
  checkRange('batchBytes', options.batchBytes, limits.batchBytesMax, 128)
  checkRange('roundBytesMax', options.roundBytesMax, Number.MAX_SAFE_INTEGER)
}

function checkRange(name: string, value: number, max: number, min = 1): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return
  throw new TidemarkError('INVALID_ARGUMENT', `${name} ${value}: allowed are ${min} to ${max}`)
}
