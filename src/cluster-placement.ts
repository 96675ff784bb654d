/** Which brokers hold which partition; the first replica is the preferred leader. Pure. */
import { TidemarkError } from './errors.ts'
import type { BrokerId } from './ids.ts'

export type TopicPlacement = 'one' | 'spread'

/**
 * @returns replicas of each partition
 * @throws {TidemarkError} INVALID_ARGUMENT, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR naming
 *   value and what is allowed
 */
export function placeReplicas(options: {
  readonly brokers: readonly BrokerId[]
  readonly partitions: number
  readonly replicationFactor: number
  readonly placement: TopicPlacement
}): BrokerId[][] {
  const { brokers, partitions, replicationFactor, placement } = options
  if (placement !== 'one' && placement !== 'spread') {
    const detail = `leaders = ${String(placement)}: allowed are one, spread`
    throw new TidemarkError('INVALID_ARGUMENT', detail)
  }
  if (!Number.isInteger(partitions) || partitions < 1) {
    throw new TidemarkError(
      'INVALID_PARTITIONS',
      `partitions = ${partitions}: allowed are 1 and more`,
    )
  }
  if (
    !Number.isInteger(replicationFactor) ||
    replicationFactor < 1 ||
    replicationFactor > brokers.length
  ) {
    const detail = `replication factor ${replicationFactor}: allowed are 1 to ${brokers.length}, the brokers`
    throw new TidemarkError('INVALID_REPLICATION_FACTOR', detail)
  }
  return Array.from({ length: partitions }, (_, partition) => {
    const first = placement === 'one' ? 0 : partition % brokers.length
    return Array.from(
      { length: replicationFactor },
      (_, at) => brokers[(first + at) % brokers.length],
    )
  })
}
