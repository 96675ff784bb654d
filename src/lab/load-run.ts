/** LoadRun: generator threads seen from the outside: start, drain, stop, and their ledgers. */
import { Worker } from 'node:worker_threads'
import { TidemarkError } from '../errors.ts'
import type { PartitionIndex } from '../ids.ts'
import type { ClusterMemory } from '../workers/cluster-memory.ts'
import { repairRings } from '../workers/ring-repair.ts'
import { moduleSuffix, workerEntry } from '../workers/worker-entry.ts'
import type { InputRecords } from './input.ts'
import { allocateLoadLedger, LoadLedger, type LoadLedgerBuffers } from './load-ledger.ts'
import { type LoadThreadData, loadControl, loadState, type Workload } from './load-thread-data.ts'

export interface LoadRunOptions {
  readonly memory: ClusterMemory
  readonly partitions: readonly PartitionIndex[]
  readonly generators: number
  /**
   * Number of the first generator among the clients, default 1; runs at the same time need others.
   */
  readonly firstSlot?: number
  /** Of one generator. */
  readonly workload: Workload
  readonly input: InputRecords | undefined
  /** Batches a generator may send at most; its ledger has room for them. */
  readonly batchesMax: number
}

interface Generator {
  readonly worker: Worker
  readonly control: Int32Array
  readonly exited: Promise<void>
}

const pollMs = 5

export class LoadRun {
  readonly ledgers: LoadLedger[]
  readonly ledgerBuffers: LoadLedgerBuffers[]
  readonly #generators: Generator[] = []
  #failure: unknown

  private constructor(options: LoadRunOptions) {
    const { generators, batchesMax } = options
    this.ledgerBuffers = Array.from({ length: generators }, () => allocateLoadLedger(batchesMax))
    this.ledgers = this.ledgerBuffers.map((buffers) => new LoadLedger(buffers))
    for (let generator = 0; generator < generators; generator++) {
      this.#generators.push(this.#launch(options, generator))
    }
  }

  /** Resolves when all generators stand ready; nothing is sent before `begin`. */
  static async open(options: LoadRunOptions): Promise<LoadRun> {
    const run = new LoadRun(options)
    try {
      await run.#until(() => run.#isAll(loadState.ready))
    } catch (error) {
      await run.close()
      throw error
    }
    return run
  }

  /** A generator ended by an error: its thread's, or what a leader answered. */
  get failure(): unknown {
    return this.#failure
  }

  get isFinished(): boolean {
    return this.#isAll(loadState.finished)
  }

  /** Begins a round, the first or another one after `hold`. */
  begin(): void {
    // Told here and not by the threads, so that nobody takes a round that has not begun for one
    // that is over.
    for (const { control } of this.#generators) Atomics.store(control, 1, loadState.running)
    this.#command(loadControl.run)
  }

  /** Resolves when the round has sent all it may and everything is answered, or `signal` aborts. */
  async roundOver(signal: AbortSignal): Promise<void> {
    await this.#until(() => this.#isAll(loadState.spent) || signal.aborted)
  }

  /** Ends the round; resolves when everything sent is answered. */
  async hold(): Promise<void> {
    this.#command(loadControl.hold)
    await this.#until(() => this.#isAll(loadState.ready))
  }

  /**
   * Stops sending and waits for what is unanswered, at most `timeoutMs`.
   *
   * @returns whether everything was answered
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#command(loadControl.drain)
    const untilMs = performance.now() + timeoutMs
    await this.#until(() => this.isFinished || performance.now() > untilMs)
    return this.isFinished
  }

  async close(): Promise<void> {
    this.#command(loadControl.abandon)
    await Promise.all(this.#generators.map(({ exited }) => exited))
  }

  #launch(options: LoadRunOptions, generator: number): Generator {
    const buffer = new SharedArrayBuffer(64)
    const data: LoadThreadData = {
      memory: options.memory,
      slot: (options.firstSlot ?? 1) + generator,
      generator,
      partitions: options.partitions,
      ledger: this.ledgerBuffers[generator],
      control: buffer,
      workload: options.workload,
      input: options.input,
    }
    const worker = new Worker(workerEntry(import.meta.url, `load-thread${moduleSuffix}`), {
      workerData: data,
      name: `tidemark-load-${generator}`,
    })
    worker.on('error', (error) => {
      this.#failure = error
    })
    worker.on('message', (message: { failure: string | undefined }) => {
      if (message.failure === undefined) return
      this.#failure = new TidemarkError(
        'KAFKA_STORAGE_ERROR',
        'a leader could not write: is the disk full?',
      )
    })
    const exited = new Promise<void>((resolve) => {
      worker.once('exit', () => resolve(repairRings(options.memory, data.slot)))
    })
    return { worker, control: new Int32Array(buffer), exited }
  }

  #isAll(state: number): boolean {
    return this.#generators.every(({ control }) => Atomics.load(control, 1) === state)
  }

  #command(command: number): void {
    for (const { control } of this.#generators) {
      Atomics.store(control, 0, command)
      Atomics.notify(control, 0)
    }
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.#failure !== undefined) throw this.#failure
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }
}
