/** What of a cluster's events ends a run of the laboratory. */
import type { ClusterEvent } from '../cluster-events.ts'
import { TidemarkError } from '../errors.ts'

/**
 * A thread that ended by itself, a log that failed, a broken promise of ours; undefined for
 * everything that is no failure.
 */
export function failureIn(event: ClusterEvent): Error | undefined {
  if (event.type === 'failed') return event.error
  if (event.type === 'invariantViolated') {
    const detail = `invariant ${event.invariant}, partition #${event.partition}: ${event.detail}`
    return new TidemarkError('UNKNOWN_SERVER_ERROR', detail)
  }
  if (event.type !== 'partitionFailed') return undefined
  return new TidemarkError('KAFKA_STORAGE_ERROR', `broker ${event.brokerId}: ${event.message}`)
}
