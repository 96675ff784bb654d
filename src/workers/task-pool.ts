/**
 * TaskPool: bulk jobs of finite length, apart from the broker threads, which are actors and no
 * tasks. The pool is made when the first job comes and goes when it has been idle.
 */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import type { TimestampOffset } from '../log/timestamp-lookup.ts'
import type { RecoveryTask, RecoveryTaskResult } from './recovery-task.ts'
import type { TimestampTask } from './timestamp-task.ts'
import { moduleSuffix, workerEntry } from './worker-entry.ts'

const logsPerTask = 16

export class TaskPool {
  #pool: Piscina | undefined

  /**
   * Recovers partition directories, several at a time.
   *
   * @param onProgress told how many are done
   * @throws {TidemarkError} the first failure; the others are not waited for
   */
  async recover(
    logs: RecoveryTask['logs'],
    onProgress: (done: number) => void = () => {},
  ): Promise<RecoveryTaskResult[]> {
    const tasks: RecoveryTask[] = []
    for (let at = 0; at < logs.length; at += logsPerTask) {
      tasks.push({ logs: logs.slice(at, at + logsPerTask) })
    }
    let done = 0
    const results = await Promise.all(
      tasks.map(async (task) => {
        const result = (await this.#ensure().run(task, {
          name: 'recoverSome',
        })) as RecoveryTaskResult[]
        done += result.length
        onProgress(done)
        return result
      }),
    )
    return results.flat()
  }

  /**
   * First record of a log that is not older than a time; undefined: none is.
   *
   * @throws {TidemarkError} CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR
   */
  async findOffset(task: TimestampTask): Promise<TimestampOffset | undefined> {
    const filename = entryOf(`timestamp-task${moduleSuffix}`)
    return await this.#ensure().run(task, { filename, name: 'findOffset' })
  }

  async close(): Promise<void> {
    const pool = this.#pool
    this.#pool = undefined
    await pool?.destroy()
  }

  #ensure(): Piscina {
    this.#pool ??= new Piscina({
      filename: entryOf(`recovery-task${moduleSuffix}`),
      minThreads: 0,
      maxThreads: availableParallelism(),
      idleTimeout: 1_000,
    })
    return this.#pool
  }
}

function entryOf(name: string): string {
  return fileURLToPath(workerEntry(import.meta.url, name))
}
