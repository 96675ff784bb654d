/**
 * CatchUpSampler: looks at the shared words of all partitions at short intervals, sums them up for
 * the charts, and checks on the way what must always hold. It reads words that others write at that
 * moment, so each check uses only comparisons that stay true whatever moves in between.
 */
import type { Cluster } from '../cluster.ts'
import type { BrokerId, PartitionIndex } from '../ids.ts'
import type { Phase } from './result.ts'

/** Between two samples. */
export const sampleMs = 25

/** What the charts need of one moment; offsets are sums over partitions. */
export interface Sample {
  readonly atMs: number
  readonly phase: Phase
  readonly logEndOffset: number
  readonly highWatermark: number
  readonly followerLogEndOffset: number
  readonly lagRecords: number
  readonly lagTimeMs: number
  readonly laggingPartitions: number
  readonly inSyncReplicasMin: number
  readonly inSyncReplicasMean: number
  readonly partitionsBelowFull: number
  readonly diskReadBytes: number
  readonly ringBytes: number
}

/** What a partition was at the sample before. */
interface Memory {
  leader: BrokerId
  leaderEpoch: number
  partitionEpoch: number
  highWatermark: number
  logEndOffset: number
  /**
   * Last sample at which the follower had all that the leader had at the sample before, or has now.
   */
  caughtUpAtMs: number
}

export class CatchUpSampler {
  readonly samples: Sample[] = []
  checked = 0
  readonly violations: string[] = []
  wentBack = 0
  /** Longest time in which no high watermark moved though some log end did. */
  stalledMs = 0
  readonly #cluster: Cluster
  readonly #partitions: readonly PartitionIndex[]
  readonly #follower: BrokerId
  readonly #memory = new Map<PartitionIndex, Memory>()
  readonly #now: () => number
  #advancedAtMs = 0

  constructor(
    cluster: Cluster,
    partitions: readonly PartitionIndex[],
    follower: BrokerId,
    now: () => number,
  ) {
    this.#cluster = cluster
    this.#partitions = partitions
    this.#follower = follower
    this.#now = now
  }

  /** Takes one sample. */
  take(phase: Phase): Sample {
    const { board } = this.#cluster
    const atMs = this.#now()
    const sum = {
      logEndOffset: 0,
      highWatermark: 0,
      followerLogEndOffset: 0,
      lagRecords: 0,
      lagTimeMs: 0,
      laggingPartitions: 0,
      inSync: 0,
      inSyncReplicasMin: Number.POSITIVE_INFINITY,
      partitionsBelowFull: 0,
    }
    for (const index of this.#partitions) {
      const registration = this.#cluster.registration(index)
      if (registration === undefined) continue
      const { inSyncReplicas, replicas, leader } = registration
      sum.inSync += inSyncReplicas.length
      sum.inSyncReplicasMin = Math.min(sum.inSyncReplicasMin, inSyncReplicas.length)
      if (inSyncReplicas.length < replicas.length) sum.partitionsBelowFull++
      if (leader < 1) continue
      // In this order: the high watermark never passes the log end, whenever each is looked at.
      const highWatermark = board.highWatermark(leader, index)
      const followerEnd = board.logEndOffset(this.#follower, index)
      const logEndOffset = board.logEndOffset(leader, index)
      const memory = this.#remember(registration, highWatermark, logEndOffset, followerEnd, atMs)
      sum.logEndOffset += logEndOffset
      sum.highWatermark += highWatermark
      if (leader === this.#follower) {
        sum.followerLogEndOffset += logEndOffset
        continue
      }
      sum.followerLogEndOffset += followerEnd
      const lag = Math.max(0, logEndOffset - followerEnd)
      sum.lagRecords += lag
      if (lag > 0) sum.laggingPartitions++
      sum.lagTimeMs = Math.max(sum.lagTimeMs, atMs - memory.caughtUpAtMs)
    }
    const sample = {
      atMs,
      phase,
      logEndOffset: sum.logEndOffset,
      highWatermark: sum.highWatermark,
      followerLogEndOffset: sum.followerLogEndOffset,
      lagRecords: sum.lagRecords,
      lagTimeMs: sum.lagTimeMs,
      laggingPartitions: sum.laggingPartitions,
      inSyncReplicasMin: Math.min(sum.inSyncReplicasMin, 1e9),
      inSyncReplicasMean: sum.inSync / Math.max(1, this.#partitions.length),
      partitionsBelowFull: sum.partitionsBelowFull,
      diskReadBytes: board.counter(this.#follower, 'diskReadBytes'),
      ringBytes: board.counter(this.#follower, 'ringBytes'),
    }
    this.#noteStall(sample)
    this.samples.push(sample)
    return sample
  }

  /** How long ago the follower was last seen caught up in a partition, at the last sample. */
  lagTimeMs(index: PartitionIndex): number {
    const caughtUpAtMs = this.#memory.get(index)?.caughtUpAtMs ?? 0
    return (this.samples.at(-1)?.atMs ?? 0) - caughtUpAtMs
  }

  #noteStall(sample: Sample): void {
    const before = this.samples.at(-1)
    if (before === undefined || sample.highWatermark !== before.highWatermark) {
      this.#advancedAtMs = sample.atMs
      return
    }
    if (sample.highWatermark === sample.logEndOffset) this.#advancedAtMs = sample.atMs
    this.stalledMs = Math.max(this.stalledMs, sample.atMs - this.#advancedAtMs)
  }

  #remember(
    registration: NonNullable<ReturnType<Cluster['registration']>>,
    highWatermark: number,
    logEndOffset: number,
    followerEnd: number,
    atMs: number,
  ): Memory {
    const { index, leader, leaderEpoch, partitionEpoch, inSyncReplicas, replicas } = registration
    let memory = this.#memory.get(index)
    if (memory === undefined) {
      memory = {
        leader,
        leaderEpoch,
        partitionEpoch,
        highWatermark,
        logEndOffset,
        caughtUpAtMs: atMs,
      }
      this.#memory.set(index, memory)
    }
    const name = () => `partition #${index}`
    this.#check(highWatermark <= logEndOffset, () => `${name()}: high watermark above the log end`)
    this.#check(
      partitionEpoch >= memory.partitionEpoch,
      () => `${name()}: partition epoch went back`,
    )
    this.#check(leaderEpoch >= memory.leaderEpoch, () => `${name()}: leader epoch went back`)
    this.#check(
      inSyncReplicas.length > 0 && inSyncReplicas.every((id) => replicas.includes(id)),
      () => `${name()}: in-sync replicas ${inSyncReplicas.join()} of ${replicas.join()}`,
    )
    if (leader === memory.leader && leaderEpoch === memory.leaderEpoch) {
      const isBack = highWatermark < memory.highWatermark
      if (isBack) this.wentBack++
      this.#check(!isBack, () => `${name()}: high watermark went back to ${highWatermark}`)
    }
    // Kafka's rule: all that the leader had now, or at the look before.
    if (followerEnd >= logEndOffset || followerEnd >= memory.logEndOffset)
      memory.caughtUpAtMs = atMs
    memory.leader = leader
    memory.leaderEpoch = leaderEpoch
    memory.partitionEpoch = partitionEpoch
    memory.highWatermark = highWatermark
    memory.logEndOffset = logEndOffset
    return memory
  }

  #check(holds: boolean, what: () => string): void {
    this.checked++
    if (!holds && this.violations.length < 100) this.violations.push(what())
  }
}
