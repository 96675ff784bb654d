/**
 * LagReporter: answers a question about followers' lags, on the leader's thread, which alone knows
 * when a follower was last caught up. One pass over the partitions it leads, when asked.
 */
import type { BrokerId } from '../ids.ts'
import type { MetadataImage } from '../replication/controller/metadata-image.ts'
import type { FollowerSight } from '../replication/lagging-replicas.ts'
import type { PartitionLeaders } from '../replication/partition-leaders.ts'
import {
  type FollowerLagTotal,
  type LagReport,
  type LagTable,
  lagRowsMax,
  type ReplicaLag,
} from './lag-table.ts'

export interface LagReporterParts {
  readonly brokerId: BrokerId
  readonly table: LagTable
  readonly image: MetadataImage
  readonly leaders: PartitionLeaders
  readonly sight: FollowerSight
}

type Total = { -readonly [Key in keyof FollowerLagTotal]: FollowerLagTotal[Key] }

export class LagReporter {
  readonly #parts: LagReporterParts

  constructor(parts: LagReporterParts) {
    this.#parts = parts
  }

  /** @returns whether there was a question */
  maybeServe(nowMs: number): boolean {
    const { table } = this.#parts
    const request = table.openRequest
    if (request === undefined) return false
    table.serve(request, this.#report(nowMs))
    return true
  }

  #report(nowMs: number): LagReport {
    const { brokerId, image, leaders, sight } = this.#parts
    const totals = new Map<BrokerId, Total>()
    const behind: ReplicaLag[] = []
    image.forEachPartition(({ index, leader, replicas }) => {
      if (leader !== brokerId || !leaders.isLeader(index)) return
      for (const follower of replicas) {
        const lag = leaders.lag(index, follower, nowMs)
        if (lag === undefined) continue
        const total = totalOf(totals, follower)
        total.partitions += 1
        const { records, timeMs: lagMs, logEndOffset } = lag
        if (records === 0) continue
        const bytes = sight.bytesAfter(index, Math.max(0, logEndOffset))
        total.behind += 1
        total.records += records
        total.bytes += bytes
        total.recordsMax = Math.max(total.recordsMax, records)
        total.lagMsMax = Math.max(total.lagMsMax, lagMs)
        behind.push({ partition: index, follower, records, bytes, lagMs })
      }
    })
    behind.sort((a, b) => b.lagMs - a.lagMs || b.records - a.records)
    return { totals: [...totals.values()], worst: behind.slice(0, lagRowsMax) }
  }
}

function totalOf(totals: Map<BrokerId, Total>, follower: BrokerId): Total {
  let total = totals.get(follower)
  if (total === undefined) {
    const none = { partitions: 0, behind: 0, records: 0, recordsMax: 0, bytes: 0, lagMsMax: 0 }
    total = { follower, ...none }
    totals.set(follower, total)
  }
  return total
}
