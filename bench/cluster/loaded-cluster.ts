/**
 * A cluster of three brokers with a topic and threads that produce to it, for trials: rounds of
 * load, and at the end everything that was acknowledged is read back.
 */
import type { PartitionIndex } from '../../src/ids.ts'
import type { InputRecords } from '../../src/lab/input.ts'
import { LabCluster } from '../../src/lab/lab-cluster.ts'
import { type LoadRound, runLoadRound } from '../../src/lab/load-round.ts'
import { LoadRun } from '../../src/lab/load-run.ts'
import type { LeaderPlacement } from '../../src/lab/result.ts'
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

export const replicas = 3
/** A full ledger ends the load: room for more batches than any round here sends. */
const batchesMax = 4_000_000

export async function openTrialCluster(
  directory: string,
  { partitions, leaders = 'one' }: { partitions: number; leaders?: LeaderPlacement },
): Promise<LabCluster> {
  const flush = { kind: 'os' } as const
  return await LabCluster.open({
    load: { brokers: 3, replicationFactor: replicas, partitions, leaders, flush, dir: null },
    base: directory,
    config: { 'partitions.max': Math.max(1_024, 2 * partitions) },
    minInsync: 1,
    keep: false,
  })
}

/** Produces with acks=all. */
export class TrialLoadRun {
  readonly load: LoadRun
  readonly #lab: LabCluster

  private constructor(lab: LabCluster, load: LoadRun) {
    this.#lab = lab
    this.load = load
  }

  static async open(
    lab: LabCluster,
    { input, bytesPerSec, ...sizes }: TrialLoad,
    partitions: readonly PartitionIndex[] = lab.partitions,
  ): Promise<TrialLoadRun> {
    const load = await LoadRun.open({
      memory: lab.cluster.memory,
      partitions,
      generators: 1,
      input,
      batchesMax,
      workload: workloadOf({ ...sizes, compression: 'none', acks: 'all', seed: 1 }, input, {
        bytesPerSec,
        roundBytesMax: Number.POSITIVE_INFINITY,
        generators: 1,
      }),
    })
    return new TrialLoadRun(lab, load)
  }

  /** @throws when nothing was answered, or the cluster failed */
  async round(ms: number, bytesMax = Number.POSITIVE_INFINITY): Promise<LoadRound> {
    const failure = (): Error | undefined => this.#lab.failure
    const round = await runLoadRound(this.load, { acks: 'all', ms, bytesMax, failure })
    if (round === undefined) throw new Error('nothing was acknowledged')
    return round
  }

  /** @throws when something acknowledged is not in the log of each replica, once */
  async verify(): Promise<void> {
    const found = await verifyRun(this.#lab, this.load.ledgerBuffers, true)
    const { acknowledgedRecords, verifiedRecords, lostRecords, faults } = found
    if (faults.length === 0 && lostRecords === 0 && verifiedRecords === acknowledgedRecords) return
    throw new Error(`${verifiedRecords} of ${acknowledgedRecords} records read back: ${faults[0]}`)
  }

  async close(): Promise<void> {
    await this.load.close()
  }
}
