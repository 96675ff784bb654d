/** Verification of a whole run, partitions shared out over worker threads. */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import type { Cluster } from '../cluster.ts'
import type { PartitionIndex } from '../ids.ts'
import { moduleSuffix, workerEntry } from '../workers/worker-entry.ts'
import type { LabCluster } from './lab-cluster.ts'
import type { LoadLedgerBuffers } from './load-ledger.ts'
import {
  mergeVerifications,
  type PartitionToVerify,
  type Verification,
  type VerifyTask,
} from './verify.ts'

const partitionsPerTask = 64

/**
 * @param onProgress told how many partitions are done
 * @throws {TidemarkError} what reading the files throws
 */
export async function verifyRun(
  lab: Pick<LabCluster, 'cluster' | 'partitions'>,
  ledgers: readonly LoadLedgerBuffers[],
  acksAll: boolean,
  onProgress: (done: number) => void = () => {},
): Promise<Verification> {
  const partitions = lab.partitions.map((index) => toVerify(lab.cluster, index))
  const pool = new Piscina({
    filename: fileURLToPath(workerEntry(import.meta.url, `verify${moduleSuffix}`)),
    maxThreads: availableParallelism(),
  })
  try {
    const tasks: VerifyTask[] = []
    for (let at = 0; at < partitions.length; at += partitionsPerTask) {
      tasks.push({ partitions: partitions.slice(at, at + partitionsPerTask), ledgers, acksAll })
    }
    let done = 0
    const parts = await Promise.all(
      tasks.map(async (task) => {
        const part = (await pool.run(task, { name: 'verify' })) as Verification
        done += task.partitions.length
        onProgress(done)
        return part
      }),
    )
    return mergeVerifications(parts)
  } finally {
    await pool.destroy()
  }
}

function toVerify(cluster: Cluster, index: PartitionIndex): PartitionToVerify {
  const { topic, partition, leader, highWatermark, replicas } = cluster.describeIndex(index)
  const ordered = [...replicas].sort(
    (a, b) => Number(b.brokerId === leader) - Number(a.brokerId === leader),
  )
  return {
    index,
    topic,
    partition,
    highWatermark,
    replicas: ordered.map(({ brokerId, logStartOffset, logEndOffset }) => {
      return { directory: cluster.brokerDirectory(brokerId), logStartOffset, logEndOffset }
    }),
  }
}
