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
import { limits } from '../limits.ts'
import type { FlushPolicy } from '../log/log-config.ts'
import { moduleSuffix, workerEntry } from '../workers/worker-entry.ts'
import { type BatchPool, makeBatchPool } from './batch-pool.ts'
import { type LimitTask, type LimitWriterMessage, limitWord } from './limit-task.ts'

export interface LimitOptions {
  /** Must exist; everything is made in a fresh directory below it, which is removed. */
  readonly directory: string
  readonly replicas: number
  readonly partitions: number
  /** Upper bound of a batch, its header included. */
  readonly batchBytes: number
  /** Bytes of a record's value; default 1 KiB. */
  readonly recordBytes?: number
  /** Bytes of the batches that each replica writes, rounded up to whole batches. */
  readonly totalBytes: number
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

interface Load extends BatchPool {
  readonly totalBatches: number
}

const recordBytesDefault = 1024

/**
 * Measures once.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT for a number out of range; KAFKA_STORAGE_ERROR when the
 *   directory cannot be written. When `signal` aborts, its reason. Nothing is left behind.
 */
export async function measureLimit(options: LimitOptions): Promise<Limit> {
  checkOptions(options)
  options.signal?.throwIfAborted()
  const { batchBytes, recordBytes = recordBytesDefault, totalBytes } = options
  const pool = makeBatchPool({ batchBytes, recordBytes, totalBytes })
  const load = { ...pool, totalBatches: Math.ceil(totalBytes / pool.batchBytes) }
  const directory = await makeDirectory(options.directory)
  try {
    const elapsedMs = await runWriters(options, load, directory)
    const bytesPerReplica = load.totalBatches * load.payloadBytes
    return {
      bytesPerSec: (bytesPerReplica * 1000) / elapsedMs,
      elapsedMs,
      bytesPerReplica,
      fileBytesPerReplica: load.totalBatches * load.batchBytes,
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Starts all threads at once when all have their files, and returns the time of the slowest. */
async function runWriters(options: LimitOptions, load: Load, directory: string): Promise<number> {
  const words = new Int32Array(new SharedArrayBuffer(limitWord.count * 4))
  const writers: Writer[] = []
  const stop = (): void => release(words, limitWord.stop)
  options.signal?.throwIfAborted()
  options.signal?.addEventListener('abort', stop, { once: true })
  try {
    for (let replica = 1; replica <= options.replicas; replica += 1) {
      writers.push(
        startWriter({
          pool: load.pool,
          words,
          directory: join(directory, `replica-${replica}`),
          partitions: options.partitions,
          batchBytes: load.batchBytes,
          batchStride: load.batchStride,
          poolBatches: load.poolBatches,
          totalBatches: load.totalBatches,
          flush: options.flush,
        }),
      )
    }
    await Promise.all(writers.map((writer) => writer.ready))
    const startMs = systemClock.nowMs()
    release(words, limitWord.start)
    const endsMs = await Promise.all(writers.map((writer) => writer.done))
    options.signal?.throwIfAborted()
    return Math.max(...endsMs) - startMs
  } catch (error) {
    // A writer that was stopped ends without its answer; why it was stopped says more.
    options.signal?.throwIfAborted()
    throw error
  } finally {
    options.signal?.removeEventListener('abort', stop)
    // A writer that failed leaves others waiting or writing; none may outlive the directory.
    release(words, limitWord.stop)
    await Promise.all(writers.map((writer) => writer.exited))
  }
}

interface Writer {
  readonly ready: Promise<true>
  /** Time at which the last byte was written. */
  readonly done: Promise<number>
  readonly exited: Promise<void>
}

function startWriter(task: LimitTask): Writer {
  const worker = new Worker(workerEntry(import.meta.url, `limit-writer${moduleSuffix}`), {
    workerData: task,
  })
  return {
    ready: answer(worker, task, (message) => (message.kind === 'ready' ? true : undefined)),
    done: answer(worker, task, (message) => (message.kind === 'done' ? message.endMs : undefined)),
    exited: new Promise((resolve) => worker.once('exit', () => resolve())),
  }
}

/** The first message that `pick` takes; an error when the thread ends without it. */
function answer<T>(
  worker: Worker,
  task: LimitTask,
  pick: (message: LimitWriterMessage) => T | undefined,
): Promise<T> {
  const answered = new Promise<T>((resolve, reject) => {
    const fail = (cause: unknown): void => {
      const reason = cause instanceof Error ? cause.message : `its thread ended with ${cause}`
      const detail = `${task.directory}: the limit could not be measured: ${reason}`
      reject(new TidemarkError('KAFKA_STORAGE_ERROR', { detail, cause }))
    }
    worker.on('message', (message: LimitWriterMessage) => {
      const picked = pick(message)
      if (picked !== undefined) resolve(picked)
    })
    worker.once('error', fail)
    worker.once('exit', fail)
  })
  // One failure rejects several promises, and only the first is waited for.
  answered.catch(() => {})
  return answered
}

function release(words: Int32Array, word: number): void {
  Atomics.store(words, word, 1)
  Atomics.store(words, limitWord.gate, 1)
  Atomics.notify(words, limitWord.gate)
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
  checkRange('totalBytes', options.totalBytes, Number.MAX_SAFE_INTEGER)
}

function checkRange(name: string, value: number, max: number, min = 1): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return
  throw new TidemarkError('INVALID_ARGUMENT', `${name} ${value}: allowed are ${min} to ${max}`)
}
