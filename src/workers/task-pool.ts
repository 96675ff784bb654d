/**
 * TaskPool: bulk jobs of finite length, apart from the broker threads, which are actors and no
 * tasks. The pool is made when the first job comes and goes when it has been idle.
 */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Piscina } from 'piscina'
import type { TimestampOffset } from '../log/timestamp-lookup.ts'
import type { CleaningOutcome, CleaningTask } from './cleaning-task.ts'
import { measureLogs, planTasks, type RecoveryProgress } from './recovery-plan.ts'
import type { RecoveryTask, RecoveryTaskResult } from './recovery-task.ts'
import type { TimestampTask } from './timestamp-task.ts'
import { moduleSuffix, workerEntry } from './worker-entry.ts'

const progressMs = 100

export class TaskPool {
  #pool: Promise<Piscina> | undefined
  #cleaning: Promise<unknown> = Promise.resolve()

  /**
   * Recovers partition directories, several at a time.
   *
   * @param onProgress told now and then, and once when all are done
   * @throws {TidemarkError} the first failure; the others are not waited for
   */
  async recover(
    logs: RecoveryTask['logs'],
    onProgress: (progress: RecoveryProgress) => void = () => {},
  ): Promise<RecoveryTaskResult[]> {
    const sized = await measureLogs(logs)
    const totalBytes = sized.reduce((sum, { bytes }) => sum + bytes, 0)
    const scannedKiB = new Int32Array(new SharedArrayBuffer(4))
    const total = logs.length
    let done = 0
    const tell = (): void => {
      const doneBytes = Math.min(totalBytes, Atomics.load(scannedKiB, 0) * 1024)
      if (done < total) onProgress({ done, total, doneBytes, totalBytes })
    }
    const timer = setInterval(tell, progressMs)
    try {
      const run = async (task: RecoveryTask): Promise<RecoveryTaskResult[]> => {
        const result: RecoveryTaskResult[] = await (await this.#ensure()).run(task, {
          name: 'recoverSome',
        })
        done += result.length
        tell()
        return result
      }
      const tasks = planTasks(sized).map((some) => run({ logs: some, scannedKiB }))
      const results = (await Promise.all(tasks)).flat()
      onProgress({ done, total, doneBytes: totalBytes, totalBytes })
      return results
    } finally {
      clearInterval(timer)
    }
  }

  /**
   * First record of a log that is not older than a time; undefined: none is.
   *
   * @throws {TidemarkError} CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR
   */
  async findOffset(task: TimestampTask): Promise<TimestampOffset | undefined> {
    const filename = entryOf(`timestamp-task${moduleSuffix}`)
    return await (await this.#ensure()).run(task, { filename, name: 'findOffset' })
  }

  /** Compacts a log. Of all that are asked for at a time one is done at a time. */
  clean(task: CleaningTask): Promise<CleaningOutcome> {
    const filename = entryOf(`cleaning-task${moduleSuffix}`)
    const run = async (): Promise<CleaningOutcome> =>
      await (await this.#ensure()).run(task, { filename, name: 'cleanLog' })
    const mine = this.#cleaning.then(run, run)
    this.#cleaning = mine
    return mine
  }

  async close(): Promise<void> {
    const pool = this.#pool
    this.#pool = undefined
    await (await pool)?.destroy()
  }

  #ensure(): Promise<Piscina> {
    this.#pool ??= newPool()
    return this.#pool
  }
}

/** Its package, too, is loaded only when there is something to do. */
async function newPool(): Promise<Piscina> {
  const { Piscina } = await import('piscina')
  return new Piscina({
    filename: entryOf(`recovery-task${moduleSuffix}`),
    minThreads: 0,
    maxThreads: availableParallelism(),
    idleTimeout: 1_000,
  })
}

function entryOf(name: string): string {
  return fileURLToPath(workerEntry(import.meta.url, name))
}
