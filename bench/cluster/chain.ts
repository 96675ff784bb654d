/**
 * What a replicated append cannot do without, measured beside a cluster's latency: threads that
 * sleep and wake each other in turn (producer, leader, followers, leader, producer), and one write
 * a replica on the way. By the same clock, at the same schedule, from the intended time.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { makeBatchPool } from '../../src/lab/batch-pool.ts'
import { ringDoorbell } from '../../src/workers/doorbell.ts'
import { bellWord, type ChainMessage, type ChainTask, chainWord } from './chain-task.ts'

export interface ChainOptions {
  /** Files are made in a fresh directory below it, which is removed. */
  readonly directory: string
  readonly replicas: number
  readonly partitions: number
  readonly recordBytes: number
  readonly batchBytes: number
  /** Payload of all batches. */
  readonly bytesPerSec: number
  readonly roundMs: number
}

export class Chain {
  readonly #directory: string
  readonly #words: Int32Array
  readonly #latenciesMs: Float64Array
  readonly #workers: Worker[] = []
  readonly #exits: Promise<void>[] = []
  readonly #failed: Promise<never>
  #round = 0

  private constructor(options: ChainOptions) {
    this.#directory = mkdtempSync(join(options.directory, 'chain-'))
    this.#words = new Int32Array(new SharedArrayBuffer(chainWord.count * 4))
    const { batchBytes, recordBytes, bytesPerSec, roundMs, replicas, partitions } = options
    const pool = makeBatchPool({ batchBytes, recordBytes, totalBytes: Number.MAX_SAFE_INTEGER })
    const batchesPerSec = bytesPerSec / pool.payloadBytes
    const batches = Math.max(1, Math.floor((batchesPerSec * roundMs) / 1000))
    this.#latenciesMs = new Float64Array(new SharedArrayBuffer(batches * 8))
    for (let thread = 0; thread <= replicas; thread += 1) {
      this.#launch({
        ...pool,
        thread,
        followers: replicas - 1,
        words: this.#words,
        directory: join(this.#directory, `thread-${thread}`),
        partitions,
        batchesPerSec,
        latenciesMs: this.#latenciesMs,
      })
    }
    this.#failed = new Promise((_, reject) => {
      for (const worker of this.#workers) worker.once('error', reject)
    })
    this.#failed.catch(() => {})
  }

  static async open(options: ChainOptions): Promise<Chain> {
    const chain = new Chain(options)
    try {
      await Promise.all(chain.#workers.map((worker) => chain.#answer(worker, 'ready')))
    } catch (error) {
      await chain.close()
      throw error
    }
    return chain
  }

  /** @returns of each batch, from the time it was meant to be sent to its answer */
  async round(): Promise<number[]> {
    this.#latenciesMs.fill(-1)
    const over = this.#answer(this.#workers[0]!, 'roundOver')
    this.#round += 1
    Atomics.store(this.#words, chainWord.round, this.#round)
    ringDoorbell(this.#words, bellWord(0))
    await over
    if (this.#latenciesMs.includes(-1)) throw new Error('a batch of the chain was not answered')
    return Array.from(this.#latenciesMs)
  }

  async close(): Promise<void> {
    Atomics.store(this.#words, chainWord.stop, 1)
    for (let thread = 0; thread < this.#workers.length; thread += 1) {
      ringDoorbell(this.#words, bellWord(thread))
    }
    await Promise.all(this.#exits)
    rmSync(this.#directory, { recursive: true })
  }

  #launch(task: ChainTask): void {
    const worker = new Worker(new URL('./chain-thread.js', import.meta.url), { workerData: task })
    this.#workers.push(worker)
    this.#exits.push(new Promise((resolve) => worker.once('exit', () => resolve())))
  }

  async #answer(worker: Worker, kind: ChainMessage['kind']): Promise<void> {
    const answered = new Promise<void>((resolve) => {
      const onMessage = (message: ChainMessage): void => {
        if (message.kind !== kind) return
        worker.off('message', onMessage)
        resolve()
      }
      worker.on('message', onMessage)
    })
    await Promise.race([answered, this.#failed])
  }
}
