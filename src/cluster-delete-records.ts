/**
 * Deletes the beginning of a partition on request (Kafka: `DeleteRecords`): the leader raises its
 * log start, and it is done when every living replica has followed.
 */
import { TidemarkError } from './errors.ts'
import type { BrokerId, PartitionIndex } from './ids.ts'
import type { MetadataImage } from './replication/controller/metadata-image.ts'
import type { BrokerHost } from './workers/broker-host.ts'
import type { ProgressBoard } from './workers/progress-board.ts'

const lookMs = 5
export const deleteRecordsTimeoutDefaultMs = 30_000

export interface DeleteRecordsParts {
  readonly image: MetadataImage
  readonly board: ProgressBoard
  readonly host: (id: BrokerId) => BrokerHost
  readonly closed: AbortSignal
}

/**
 * @returns the low watermark: where the log starts on the living replica that starts first
 * @throws {TidemarkError} INVALID_ARGUMENT, OFFSET_OUT_OF_RANGE, POLICY_VIOLATION,
 *   NOT_LEADER_OR_FOLLOWER, BROKER_NOT_AVAILABLE, KAFKA_STORAGE_ERROR, BROKER_CLOSED, and
 *   REQUEST_TIMED_OUT: the leader has done it, but not every replica
 */
export async function deleteRecords(
  parts: DeleteRecordsParts,
  index: PartitionIndex,
  offset: number,
  timeoutMs: number,
): Promise<number> {
  const { image, host, closed } = parts
  checkArguments(offset, timeoutMs)
  const { leader, topic, partition } = image.partition(index)!
  if (leader < 1) throw notLed(topic, partition)
  const target = await host(leader).deleteRecords(index, offset)
  const endMs = performance.now() + timeoutMs
  for (;;) {
    const registration = image.partition(index)
    if (registration === undefined || registration.leader !== leader) throw notLed(topic, partition)
    const lowWatermark = lowWatermarkOf(parts, index)
    if (lowWatermark >= target) return lowWatermark
    if (closed.aborted) throw new TidemarkError('BROKER_CLOSED', 'the cluster is closed')
    if (performance.now() > endMs) {
      const detail = `${topic}-${partition}: after ${timeoutMs} ms a replica still starts at ${lowWatermark}, not at ${target}`
      throw new TidemarkError('REQUEST_TIMED_OUT', detail)
    }
    await new Promise((resolve) => setTimeout(resolve, lookMs))
  }
}

/** Kafka: `Partition.lowWatermarkIfLeader`: of the replicas that are alive. */
function lowWatermarkOf({ image, board }: DeleteRecordsParts, index: PartitionIndex): number {
  const { replicas, leader } = image.partition(index)!
  let low = board.logStartOffset(leader, index)
  for (const id of replicas) {
    if (image.isActive(id)) low = Math.min(low, board.logStartOffset(id, index))
  }
  return low
}

function checkArguments(offset: number, timeoutMs: number): void {
  if (!Number.isSafeInteger(offset)) {
    const detail = `offset ${offset}: allowed are whole numbers, and -1 for the high watermark`
    throw new TidemarkError('INVALID_ARGUMENT', detail)
  }
  if (Number.isFinite(timeoutMs) && timeoutMs >= 0) return
  throw new TidemarkError('INVALID_ARGUMENT', `timeoutMs = ${timeoutMs}: allowed are 0 and more`)
}

function notLed(topic: string, partition: number): TidemarkError {
  return new TidemarkError('NOT_LEADER_OR_FOLLOWER', `${topic}-${partition} has another leader now`)
}
