/**
 * The supervisor's side of compaction: takes a broker's jobs to the task pool, one at a time, and
 * brings back what became of them.
 */
import type { MessagePort } from 'node:worker_threads'
import type { CleanerJob } from '../log/compaction/cleaner-job.ts'
import type { CleaningOutcome, CleaningTask } from './cleaning-task.ts'

/** Runs a task; the pool's `clean`. */
export type RunCleaning = (task: CleaningTask) => Promise<CleaningOutcome>

export class CleaningService {
  readonly #run: RunCleaning
  readonly #bytesPerSec: number
  readonly #wake: () => void
  readonly #cancel = new Int32Array(new SharedArrayBuffer(4))
  #running: Promise<void> = Promise.resolve()

  /** @param wake called when an outcome is there for the broker's thread */
  constructor(run: RunCleaning, bytesPerSec: number, wake: () => void) {
    this.#run = run
    this.#bytesPerSec = bytesPerSec
    this.#wake = wake
  }

  /** Serves a thread until its port closes; the life before must have been `end`ed. */
  serve(port: MessagePort): void {
    Atomics.store(this.#cancel, 0, 0)
    port.on('message', (job: CleanerJob) => {
      this.#running = this.#clean(job, port)
    })
  }

  /**
   * Resolves when nothing works on the broker's files any more: they are about to be recovered, and
   * what is under work must not be taken for what a crash left.
   */
  async end(): Promise<void> {
    Atomics.store(this.#cancel, 0, 1)
    Atomics.notify(this.#cancel, 0)
    await this.#running
  }

  async #clean(job: CleanerJob, port: MessagePort): Promise<void> {
    const task = { job, bytesPerSec: this.#bytesPerSec, cancel: this.#cancel }
    const outcome = await this.#run(task).catch(
      (error: unknown): CleaningOutcome => ({ failure: { code: '', message: String(error) } }),
    )
    port.postMessage(outcome)
    this.#wake()
  }
}
