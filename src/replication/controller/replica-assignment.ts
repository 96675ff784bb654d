/** What a list of replicas may be (Kafka: validateManualPartitionAssignment). Pure. */
import type { ErrorCode } from '../../errors.ts'
import type { BrokerId } from '../../ids.ts'
import { limits } from '../../limits.ts'
import type { MetadataImage } from './metadata-image.ts'

export interface Refusal {
  readonly error: ErrorCode
  readonly detail: string
}

/** @param what names the partition in the refusal. */
export function refuseReplicas(
  image: MetadataImage,
  what: string,
  replicas: readonly BrokerId[],
): Refusal | undefined {
  const invalid = (why: string): Refusal => ({
    error: 'INVALID_REPLICA_ASSIGNMENT',
    detail: `${what}, replicas [${replicas}]: ${why}`,
  })
  if (replicas.length === 0) return invalid('there is no replica')
  if (replicas.length > limits.replicationFactorMax) {
    const detail = `${what}: replication factor ${replicas.length}; at most ${limits.replicationFactorMax}`
    return { error: 'INVALID_REPLICATION_FACTOR', detail }
  }
  if (new Set(replicas).size !== replicas.length) return invalid('a broker stands twice')
  const stranger = replicas.find((broker) => image.broker(broker) === undefined)
  if (stranger !== undefined) return invalid(`broker ${stranger} is not registered`)
  return undefined
}

/** Of partitions that are to be made: each has the same number, and somebody to lead it. */
export function refuseAssignments(
  image: MetadataImage,
  assignments: readonly (readonly BrokerId[])[],
  factor = assignments[0].length,
  firstPartition = 0,
): Refusal | undefined {
  for (const [at, replicas] of assignments.entries()) {
    const what = `partition ${firstPartition + at}`
    const refusal = refuseReplicas(image, what, replicas)
    if (refusal !== undefined) return refusal
    const invalid = (why: string): Refusal => ({
      error: 'INVALID_REPLICA_ASSIGNMENT',
      detail: `${what}, replicas [${replicas}]: ${why}`,
    })
    if (replicas.length !== factor) return invalid(`other partitions have ${factor} replicas`)
    if (!replicas.some((broker) => image.isActive(broker))) return invalid('no broker is active')
  }
  return undefined
}
