/** Waiting until brokers and controller have done something, or one of them has failed. */
import type { ClusterEventListener } from './cluster-events.ts'
import { TidemarkError } from './errors.ts'

const readyPollMs = 2

/**
 * @param listeners of the cluster: a failure that is told meanwhile ends the waiting
 * @param assertOpen throws when the cluster is closed
 */
export async function waitUntil(
  condition: () => boolean,
  listeners: Set<ClusterEventListener>,
  assertOpen: () => void,
): Promise<void> {
  let failure: unknown
  const onFailed: ClusterEventListener = (event) => {
    if (event.type === 'failed') failure = event.error
    // What waits for a partition to be served would wait for ever.
    if (event.type !== 'partitionFailed') return
    const detail = `broker ${event.brokerId}: ${event.message}`
    failure = new TidemarkError('KAFKA_STORAGE_ERROR', detail)
  }
  listeners.add(onFailed)
  try {
    while (!condition()) {
      if (failure !== undefined) throw failure
      assertOpen()
      await new Promise((resolve) => setTimeout(resolve, readyPollMs))
    }
  } finally {
    listeners.delete(onFailed)
  }
}
