/** Which brokers hold which partition; the first replica is the preferred leader. Pure. */
import { TidemarkError } from './errors.ts'
import { type BrokerId, brokerId } from './ids.ts'

export type TopicPlacement = 'one' | 'spread'

const replicationFactorDefault = 3

export interface PlacementOptions {
  readonly partitions?: number
  readonly replicationFactor?: number
  readonly leaders?: TopicPlacement
  readonly assignments?: readonly (readonly number[])[]
}

/**
 * Replicas of each partition: those that are given, or a regular placement.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR,
 *   INVALID_REPLICA_ASSIGNMENT naming value and what is allowed
 */
export function replicasOf(options: PlacementOptions, brokers: readonly BrokerId[]): BrokerId[][] {
  const { assignments, partitions, replicationFactor, leaders } = options
  if (assignments === undefined) {
    return placeReplicas({
      brokers,
      partitions: partitions ?? 1,
      replicationFactor: replicationFactor ?? Math.min(replicationFactorDefault, brokers.length),
      placement: leaders ?? 'spread',
    })
  }
  const more = Object.entries({ partitions, replicationFactor, leaders })
  for (const [name, value] of more) {
    if (value === undefined) continue
    const detail = `${name} = ${value}: not together with assignments, which say it`
    throw new TidemarkError('INVALID_ARGUMENT', detail)
  }
  if (assignments.length === 0) {
    throw new TidemarkError('INVALID_PARTITIONS', 'assignments = []: allowed are 1 and more')
  }
  return assignments.map((replicas) => checkedReplicas(replicas, assignments[0].length, brokers))
}

/** Kafka: `ReplicationControlManager.validateManualPartitionAssignment`. */
function checkedReplicas(
  replicas: readonly number[],
  replicationFactor: number,
  brokers: readonly BrokerId[],
): BrokerId[] {
  const isKnown = replicas.every((replica) => (brokers as readonly number[]).includes(replica))
  const isDistinct = new Set(replicas).size === replicas.length
  const isRegular = replicas.length === replicationFactor && replicas.length > 0
  if (isKnown && isDistinct && isRegular) return replicas.map(brokerId)
  throw new TidemarkError(
    'INVALID_REPLICA_ASSIGNMENT',
    `replicas [${replicas}]: allowed are different ones of [${brokers}], ` +
      'as many for each partition as for the first',
  )
}

/**
 * @returns replicas of each partition
 * @throws {TidemarkError} INVALID_ARGUMENT, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR naming
 *   value and what is allowed
 */
function placeReplicas(options: {
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
