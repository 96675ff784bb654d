/**
 * LaggingReplicas: a replica that fell behind, in numbers, with the cause that they tell of. Rates
 * count from the last check of the in-sync replicas, which notes where everybody is; nothing is
 * done a batch.
 */
import type { BrokerId, PartitionIndex } from '../ids.ts'
import type { FollowerProgress } from './follower-progress.ts'
import { causeOfLag, type FollowerSigns, type LagSigns } from './isr-cause.ts'
import { type LedPartitions, replicaStride } from './led-partitions.ts'
import type { BrokerView } from './registration.ts'
import type { LaggingReplica } from './replication-event.ts'

/** What a leader sees of its followers beside their fetches. */
export interface FollowerSight {
  /** Rates count from here on. */
  note(nowMs: number): void
  look(follower: BrokerId, nowMs: number): FollowerSigns
  /** Bytes from that offset to the log's end, estimated. */
  bytesAfter(partition: PartitionIndex, offset: number): number
}

export interface LaggingReplicasParts {
  readonly table: LedPartitions
  readonly progress: FollowerProgress
  readonly brokers: BrokerView
  readonly replicaLagTimeMaxMs: number
  readonly sight: FollowerSight | undefined
}

const nothingSeen: FollowerSigns = {
  isThreadEnded: false,
  isLogFailed: false,
  throttleBytesPerSec: 0,
  isReadingFiles: false,
  fileReadsPerSec: 0,
  writingShare: 0,
  msPerWrite: 0,
}

export class LaggingReplicas {
  readonly #parts: LaggingReplicasParts
  readonly #leaderEnd: Float64Array
  readonly #followerEnd: Float64Array
  /** Per partition: 0 before the first check. */
  readonly #notedAtMs: Float64Array

  constructor(parts: LaggingReplicasParts) {
    const { partitionsMax } = parts.table
    this.#parts = parts
    this.#leaderEnd = new Float64Array(partitionsMax)
    this.#followerEnd = new Float64Array(partitionsMax * replicaStride)
    this.#notedAtMs = new Float64Array(partitionsMax)
  }

  /** Where all replicas of all led partitions are, after their check. */
  note(nowMs: number): void {
    const { table, progress, sight } = this.#parts
    for (let place = 0; place < table.count; place += 1) {
      const partition = table.partitionAt(place)
      const first = partition * replicaStride
      this.#notedAtMs[partition] = nowMs
      this.#leaderEnd[partition] = table.logEndOffset[partition]
      for (let slot = 0; slot < table.followerCount[partition]; slot += 1) {
        this.#followerEnd[first + slot] = progress.logEndOffset[first + slot]
      }
    }
    sight?.note(nowMs)
  }

  describe(partition: PartitionIndex, brokerId: BrokerId, nowMs: number): LaggingReplica {
    const { table, progress, sight, replicaLagTimeMaxMs } = this.#parts
    const slot = table.slotOf(partition, brokerId)
    const index = partition * replicaStride + slot
    const logEndOffset = slot < 0 ? -1 : progress.logEndOffset[index]
    const caughtUpTimeMs = slot < 0 ? 0 : progress.caughtUpTimeMs(partition, index)
    const signs = this.#signs(partition, brokerId, { slot, caughtUpTimeMs, nowMs })
    const from = Math.max(0, logEndOffset)
    return {
      brokerId,
      logEndOffset,
      lagRecords: table.logEndOffset[partition] - from,
      lagBytes: sight === undefined ? -1 : sight.bytesAfter(partition, from),
      lagMs: nowMs - caughtUpTimeMs,
      caughtUpTimeMs,
      cause: causeOfLag(signs, replicaLagTimeMaxMs),
      signs,
    }
  }

  #signs(
    partition: PartitionIndex,
    brokerId: BrokerId,
    at: { readonly slot: number; readonly caughtUpTimeMs: number; readonly nowMs: number },
  ): LagSigns {
    const { table, progress, brokers, sight } = this.#parts
    const { slot, caughtUpTimeMs, nowMs } = at
    const index = partition * replicaStride + slot
    const seconds = (nowMs - this.#notedAtMs[partition]) / 1_000
    const isNoted = this.#notedAtMs[partition] > 0 && seconds > 0
    const perSec = (records: number) => (isNoted ? Math.max(0, records) / seconds : 0)
    const moved = slot < 0 ? 0 : progress.logEndOffset[index] - this.#followerEnd[index]
    return {
      ...(sight?.look(brokerId, nowMs) ?? nothingSeen),
      session: sessionOf(brokers, brokerId),
      isReplica: slot >= 0,
      // A tenure begins with everybody's word that they were there.
      silentMs: Math.max(0, nowMs - Math.max(progress.lastPollTimeMs(brokerId), caughtUpTimeMs)),
      leaderRecordsPerSec: perSec(table.logEndOffset[partition] - this.#leaderEnd[partition]),
      followerRecordsPerSec: perSec(moved),
    }
  }
}

function sessionOf(brokers: BrokerView, broker: BrokerId): LagSigns['session'] {
  if (brokers.isActive(broker)) return 'active'
  return brokers.aliveEpoch(broker) === undefined ? 'fenced' : 'shuttingDown'
}
