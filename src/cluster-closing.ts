/** How a cluster ends: everybody in turn, whoever fails on the way. */
import type { ControllerClient } from './client/controller-client.ts'
import type { LogDirectory } from './log/log-directory.ts'
import type { BrokerHost } from './workers/broker-host.ts'
import type { ControllerHost } from './workers/controller-host.ts'
import type { TaskPool } from './workers/task-pool.ts'

export interface ClosingParts {
  readonly brokers: readonly BrokerHost[]
  /** Absent when it could not be started. */
  readonly controller: ControllerHost | undefined
  readonly client: ControllerClient | undefined
  readonly tasks: TaskPool
  readonly lock: LogDirectory
}

/**
 * Brokers first, then what they need. All of it is done though a part fails; then the first failure
 * is thrown.
 */
export async function closeParts(
  { brokers, controller, client, tasks, lock }: ClosingParts,
  options: { readonly flush: boolean },
): Promise<void> {
  const failures: unknown[] = []
  /** A disk that fails must not keep the rest from ending. */
  const attempt = async (step: () => Promise<unknown> | undefined): Promise<void> => {
    try {
      await step()
    } catch (error) {
      failures.push(error)
    }
  }
  const running = brokers.filter((host) => host.isRunning)
  await Promise.all(running.map((host) => attempt(() => host.stop(options))))
  for (const host of brokers) await attempt(() => host.close())
  client?.close()
  await attempt(() => controller?.stop())
  await attempt(() => tasks.close())
  await attempt(async () => lock.close())
  if (failures.length > 0) throw failures[0]
}
