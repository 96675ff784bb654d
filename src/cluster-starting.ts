/** How the parts of a cluster are made: the controller's thread, and a host for each broker. */
import path from 'node:path'
import { asError, type ClusterEvent, eventsOf } from './cluster-events.ts'
import type { ClusterConfig } from './config.ts'
import { brokerId } from './ids.ts'
import { BrokerHost } from './workers/broker-host.ts'
import type { ClusterMemory } from './workers/cluster-memory.ts'
import { ControllerHost } from './workers/controller-host.ts'
import type { TaskPool } from './workers/task-pool.ts'

export interface StartingParts {
  readonly memory: ClusterMemory
  readonly config: ClusterConfig
  readonly clusterId: string
  /** The cluster's. */
  readonly directory: string
  readonly tasks: TaskPool
  readonly emit: (event: ClusterEvent) => void
}

/** Makes the controller's thread, and doesn't wait for it. */
export function launchController(
  { memory, config, clusterId, directory, emit }: StartingParts,
  onReplaced: () => void,
): ControllerHost {
  return ControllerHost.launch({
    memory,
    directory: path.join(directory, 'controller'),
    clusterId,
    config,
    onReplaced,
    onEvent: (event) => emit({ type: 'controller', event }),
    onFailed: (error) =>
      emit({ type: 'failed', brokerId: 0, cause: 'error', error: asError(error) }),
  })
}

/**
 * Locks a broker's directory; its thread isn't made yet.
 *
 * @param directories of all brokers; that of broker `id` at `id - 1`
 * @throws {TidemarkError} what `LogDirectory.open` throws
 */
export function openBroker(
  { memory, config, clusterId, tasks, emit }: StartingParts,
  controller: ControllerHost,
  directories: readonly string[],
  at: number,
): BrokerHost {
  return BrokerHost.open({
    brokerId: brokerId(at + 1),
    clusterId,
    memory,
    config,
    directories,
    controller,
    tasks,
    onNews: (id, news) => {
      for (const event of eventsOf(id, news)) emit(event)
    },
    onFailed: (id, cause, error) =>
      emit({ type: 'failed', brokerId: id, cause, error: asError(error) }),
    onRecovery: (id, progress) => emit({ type: 'recovery', brokerId: id, ...progress }),
  })
}
