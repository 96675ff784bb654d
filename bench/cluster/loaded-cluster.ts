/**
 * A cluster of three brokers with a topic and threads that produce to it, for trials: rounds of
 * load, and at the end everything that was acknowledged is read back.
 */
import type { ClusterConfigInput } from '../../src/config.ts'
import type { PartitionIndex } from '../../src/ids.ts'
import type { InputRecords } from '../../src/lab/input.ts'
import { LabCluster } from '../../src/lab/lab-cluster.ts'
import { type LoadRound, runLoadRound } from '../../src/lab/load-round.ts'
import { LoadRun } from '../../src/lab/load-run.ts'
import { verifyRun } from '../../src/lab/verify-run.ts'
import { workloadOf } from '../../src/lab/workload.ts'

export interface TrialLoad {
  readonly partitions: number
  readonly recordBytes: number
  readonly batchBytes: number
  /** Payload; absent: as fast as it is answered. */
  readonly bytesPerSec?: number
  readonly input?: InputRecords
}

/** Default: the partitions of the cluster's own topic, and the first place among the clients. */
export interface TrialLoadPlace {
  readonly partitions?: readonly PartitionIndex[]
  /** Of loads at the same time each needs another. */
  readonly firstSlot?: number
}

export const replicas = 3
/** A full ledger ends the load: room for more batches than any round here sends. */
const batchesMax = 4_000_000

export async function openTrialCluster(
  directory: string,
  { partitions, config }: { partitions: number; config?: ClusterConfigInput },
): Promise<LabCluster> {
  const flush = { kind: 'os' } as const
  return await LabCluster.open({
    load: { brokers: 3, replicationFactor: replicas, partitions, leaders: 'one', flush, dir: null },
    base: directory,
    config: { 'partitions.max': Math.max(1_024, 2 * partitions), ...config },
    minInsync: 1,
    keep: false,
  })
}

/** Produces with acks=all. */
export class TrialLoadRun {
  readonly load: LoadRun
  readonly #lab: LabCluster
  readonly #partitions: readonly PartitionIndex[]

  private constructor(lab: LabCluster, load: LoadRun, partitions: readonly PartitionIndex[]) {
    this.#lab = lab
    this.load = load
    this.#partitions = partitions
  }

  static async open(
    lab: LabCluster,
    { input, bytesPerSec, ...sizes }: TrialLoad,
    { partitions = lab.partitions, firstSlot = 1 }: TrialLoadPlace = {},
  ): Promise<TrialLoadRun> {
    const load = await LoadRun.open({
      memory: lab.cluster.memory,
      partitions,
      generators: 1,
      firstSlot,
      input,
      batchesMax,
      workload: workloadOf({ ...sizes, compression: 'none', acks: 'all', seed: 1 }, input, {
        bytesPerSec,
        roundBytesMax: Number.POSITIVE_INFINITY,
        generators: 1,
      }),
    })
    return new TrialLoadRun(lab, load, partitions)
  }

  /** @throws when nothing was answered, or the cluster failed */
  async round(ms: number, bytesMax = Number.POSITIVE_INFINITY): Promise<LoadRound> {
    const failure = (): Error | undefined => this.#lab.failure
    const round = await runLoadRound(this.load, { acks: 'all', ms, bytesMax, failure })
    if (round === undefined) throw new Error('nothing was acknowledged')
    return round
  }

  /**
   * @param others that produced to the same partitions
   * @throws when something acknowledged is not in the log of each replica, once
   */
  async verify(...others: readonly TrialLoadRun[]): Promise<void> {
    const where = { cluster: this.#lab.cluster, partitions: this.#partitions }
    const ledgers = [this, ...others].flatMap(({ load }) => load.ledgerBuffers)
    const found = await verifyRun(where, ledgers, true)
    const { acknowledgedRecords, verifiedRecords, expiredRecords, faults } = found
    const thereRecords = verifiedRecords + expiredRecords
    if (faults.length === 0 && thereRecords === acknowledgedRecords) return
    throw new Error(`${thereRecords} of ${acknowledgedRecords} records read back: ${faults[0]}`)
  }

  async close(): Promise<void> {
    await this.load.close()
  }
}
