/**
 * How a follower catches up with log ends that keep moving, event by event.
 *
 * One thread does everything in rounds:
 *
 *   read   one partition's next chunk of b = min(lag, readBytesMax) bytes from the leader's files,
 *          check it, write it: setup + b / copy rate. Every log end moves on meanwhile.
 *          A read that took all the partition lagged when it began ends that partition's catch-up:
 *          it has been at the log end (Kafka's definition), and the ring goes on from there.
 *   poll   take from the ring what arrived for partitions that are caught up, bounded a round:
 *          poll + bytes / ring rate.
 *
 * With one partition, this is x' = x - b + λT(b), T(b) = a + b/c: the recursion of a fetching
 * follower, which converges where λ < B/(a + B/c), not where λ < c. With many, each that is done
 * moves its share of the load from the disk path, which pays a setup a read, to the ring, which
 * does not.
 *
 * Left out: ring slots of partitions still behind are skipped, at no cost.
 */
import {
  type LagLines,
  type ReadOrder,
  RoundRobinOrder,
  SmallestLagOrder,
  SortedOrder,
} from './catch-up-model-order.ts'
import { TrajectoryRecorder } from './catch-up-model-trajectory.ts'
import type { CatchUpPolicy, TrajectoryPoint } from './result.ts'

/** What is to be done. Both arrays have one entry a partition. */
export interface CatchUpLoad {
  /** Bytes between the follower's log end and the leader's, at the resume. */
  readonly backlogBytes: Float64Array
  /** At which the leader's log end moves. */
  readonly arrivalBytesPerSec: Float64Array
}

/** What it costs the follower's thread. */
export interface CatchUpCosts {
  readonly setupMsPerRead: number
  readonly copyBytesPerSec: number
  readonly pollMsPerRound: number
  /** Bytes of the ring that the thread appends a second; infinite: at no cost. */
  readonly ringBytesPerSec: number
}

/** How it is done. */
export interface CatchUpRules {
  readonly policy: CatchUpPolicy
  readonly readBytesMax: number
  /** Bytes of the ring taken in one round at most. */
  readonly pollBytesMax: number
  /**
   * A read from this size on that comes to the end leaves the last batch to another one; infinite:
   * none does.
   */
  readonly leavesLastBytesMin: number
  /** Disk reads are paced to this rate, with no burst; infinite: no throttle. */
  readonly throttleBytesPerSec: number
}

export interface CatchUpCourse {
  /**
   * `diverges`: every further read would leave the partition it reads longer than before.
   * `unfinished`: it does not diverge, but there are more than `readsMax` reads; times are
   * extrapolated.
   */
  readonly outcome: 'converges' | 'diverges' | 'unfinished'
  /** Resume to the last partition's log end; infinite where it diverges. */
  readonly catchUpMs: number
  readonly reads: number
  readonly diskBytes: number
  readonly ringBytes: number
  /** As `catchUpMs`, each partition; infinite where it never is, 0 where it had no lag. */
  readonly perPartitionMs: Float64Array
  /** Bytes of all partitions that the follower lacks, from 0 to `catchUpMs`. */
  readonly trajectory: readonly TrajectoryPoint[]
}

/** Simulated reads at most; a run of that many takes the simulation about 0.1 s. */
const readsMax = 3_000_000
const trajectoryPointsMax = 512

export function simulateCatchUp(
  load: CatchUpLoad,
  costs: CatchUpCosts,
  rules: CatchUpRules,
): CatchUpCourse {
  return new Simulation(load, costs, rules).run()
}

class Simulation {
  readonly #costs: CatchUpCosts
  readonly #rules: CatchUpRules
  readonly #lines: LagLines
  readonly #order: ReadOrder
  readonly #perPartitionMs: Float64Array
  /** Lag of each partition when it was last chosen: do its reads gain on the log end? */
  readonly #lagAtChoice: Float64Array
  readonly #trajectory = new TrajectoryRecorder(trajectoryPointsMax)

  #nowMs = 0
  #reads = 0
  #stalledReads = 0
  #diskBytes = 0
  #nextReadAtMs = 0

  /** Sums over partitions still behind, as a straight line in time. */
  #behindBaseBytes = 0
  #behindBytesPerMs = 0
  /** Load that comes through the ring, what lies there, and until when that is counted. */
  #ringBytesPerMs = 0
  #ringBacklogBytes = 0
  #ringCountedMs = 0
  #ringBytes = 0

  constructor(load: CatchUpLoad, costs: CatchUpCosts, rules: CatchUpRules) {
    const { backlogBytes, arrivalBytesPerSec } = load
    this.#costs = costs
    this.#rules = rules
    this.#lines = {
      baseBytes: Float64Array.from(backlogBytes),
      arrivalBytesPerMs: arrivalBytesPerSec.map((rate) => rate / 1000),
    }
    this.#perPartitionMs = new Float64Array(backlogBytes.length).fill(Number.POSITIVE_INFINITY)
    this.#lagAtChoice = new Float64Array(backlogBytes.length).fill(Number.POSITIVE_INFINITY)
    this.#order = this.#orderOf(this.#findBehind())
  }

  run(): CatchUpCourse {
    this.#trajectory.record(0, this.#lagBytes())
    while (this.#order.count > 0) {
      if (this.#reads >= readsMax) return this.#unfinished()
      if (this.#stalledReads > this.#order.stallReadsMax) {
        return this.#course('diverges', Number.POSITIVE_INFINITY)
      }
      this.#waitForThrottle()
      this.#read()
      if (this.#order.count === 0) break
      this.#poll()
      this.#trajectory.record(this.#nowMs, this.#lagBytes())
    }
    return this.#course('converges', this.#nowMs)
  }

  #findBehind(): Int32Array {
    const { baseBytes, arrivalBytesPerMs } = this.#lines
    const members = new Int32Array(baseBytes.length)
    let count = 0
    for (let partition = 0; partition < baseBytes.length; partition++) {
      if (baseBytes[partition]! > 0) {
        members[count++] = partition
        this.#behindBaseBytes += baseBytes[partition]!
        this.#behindBytesPerMs += arrivalBytesPerMs[partition]!
      } else {
        this.#perPartitionMs[partition] = 0
        this.#ringBytesPerMs += arrivalBytesPerMs[partition]!
      }
    }
    return members.slice(0, count)
  }

  #orderOf(members: Int32Array): ReadOrder {
    const rates = this.#lines.arrivalBytesPerMs
    if (this.#rules.policy === 'round-robin') return new RoundRobinOrder(members, rates.length)
    const alike = members.every((member) => rates[member] === rates[members[0]!])
    return alike
      ? new SortedOrder(members, this.#lines)
      : new SmallestLagOrder(members, this.#lines)
  }

  #read(): void {
    const { baseBytes, arrivalBytesPerMs } = this.#lines
    const partition = this.#order.next(this.#nowMs)
    const lagBytes = baseBytes[partition]! + arrivalBytesPerMs[partition]! * this.#nowMs
    const bytes = Math.min(lagBytes, this.#rules.readBytesMax)
    this.#nextReadAtMs = this.#nowMs + (bytes / this.#rules.throttleBytesPerSec) * 1000
    this.#nowMs += this.#costs.setupMsPerRead + (bytes / this.#costs.copyBytesPerSec) * 1000
    this.#reads++
    this.#diskBytes += bytes
    if (bytes < lagBytes) {
      baseBytes[partition]! -= bytes
      this.#behindBaseBytes -= bytes
      this.#stalledReads = lagBytes < this.#lagAtChoice[partition]! ? 0 : this.#stalledReads + 1
      this.#lagAtChoice[partition] = lagBytes
      return
    }
    if (bytes >= this.#rules.leavesLastBytesMin) this.#readLast()
    this.#finish(partition, lagBytes)
  }

  /** One batch more or less: what counts is that it is a read. */
  #readLast(): void {
    this.#nowMs += this.#costs.setupMsPerRead + this.#costs.pollMsPerRound
    this.#reads++
  }

  /** What arrived for the partition during its last read lies in the ring. */
  #finish(partition: number, lagBytes: number): void {
    const { baseBytes, arrivalBytesPerMs } = this.#lines
    const rate = arrivalBytesPerMs[partition]!
    this.#countRing()
    this.#ringBacklogBytes += baseBytes[partition]! - lagBytes + rate * this.#nowMs
    this.#ringBytesPerMs += rate
    this.#behindBaseBytes -= baseBytes[partition]!
    this.#behindBytesPerMs -= rate
    this.#perPartitionMs[partition] = this.#nowMs
    this.#order.removeCurrent()
    this.#stalledReads = 0
  }

  #poll(): void {
    this.#countRing()
    const bytes = Math.min(this.#ringBacklogBytes, this.#rules.pollBytesMax)
    this.#ringBacklogBytes -= bytes
    this.#ringBytes += bytes
    this.#nowMs += this.#costs.pollMsPerRound + (bytes / this.#costs.ringBytesPerSec) * 1000
  }

  /** While the throttle forbids to read, the thread polls the ring again and again. */
  #waitForThrottle(): void {
    const waitMs = this.#nextReadAtMs - this.#nowMs
    if (!(waitMs > 0)) return
    this.#nowMs = this.#nextReadAtMs
    this.#countRing()
    const drainable = Math.min(
      (this.#costs.ringBytesPerSec / 1000) * waitMs,
      this.#ringBacklogBytes,
    )
    this.#ringBacklogBytes -= drainable
    this.#ringBytes += drainable
  }

  #countRing(): void {
    this.#ringBacklogBytes += this.#ringBytesPerMs * (this.#nowMs - this.#ringCountedMs)
    this.#ringCountedMs = this.#nowMs
  }

  #lagBytes(): number {
    const uncounted = this.#ringBytesPerMs * (this.#nowMs - this.#ringCountedMs)
    const behind = this.#behindBaseBytes + this.#behindBytesPerMs * this.#nowMs
    return Math.max(0, behind + this.#ringBacklogBytes + uncounted)
  }

  /** Goes on at the pace of the last quarter: the lag may well have grown before. */
  #unfinished(): CatchUpCourse {
    const points = this.#trajectory.points(this.#nowMs, this.#lagBytes())
    const since = points[Math.floor((points.length * 3) / 4)]!
    const gainedPerMs = (since.lagBytes - this.#lagBytes()) / (this.#nowMs - since.atMs)
    if (!(gainedPerMs > 0)) return this.#course('diverges', Number.POSITIVE_INFINITY)
    const catchUpMs = this.#nowMs + this.#lagBytes() / gainedPerMs
    for (let partition = 0; partition < this.#perPartitionMs.length; partition++) {
      if (this.#perPartitionMs[partition] === Number.POSITIVE_INFINITY) {
        this.#perPartitionMs[partition] = catchUpMs
      }
    }
    return this.#course('unfinished', catchUpMs)
  }

  #course(outcome: CatchUpCourse['outcome'], catchUpMs: number): CatchUpCourse {
    return {
      outcome,
      catchUpMs,
      reads: this.#reads,
      diskBytes: this.#diskBytes,
      ringBytes: this.#ringBytes,
      perPartitionMs: this.#perPartitionMs,
      trajectory: this.#trajectory.points(this.#nowMs, this.#lagBytes()),
    }
  }
}
