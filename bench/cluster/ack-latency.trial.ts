/**
 * Acknowledgement latency with acks=all, open loop, counted from the time a batch was meant to be
 * sent; beside it, in alternation, a chain of sleeping threads that only write the same bytes and
 * wake each other.
 */
import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { settleDisk } from '../../src/lab/disk-settle.ts'
import { quantilesOf } from '../../src/lab/statistics.ts'
import { type Finding, findingOf, ratioOf, type Trial } from '../trial.ts'
import { Chain } from './chain.ts'
import { openTrialCluster, replicas, TrialLoadRun } from './loaded-cluster.ts'

interface LatencyCase {
  readonly what: string
  readonly partitions: number
  readonly batchBytes: number
  readonly bytesPerSec: number
  readonly directory: string
  /** Full, short. */
  readonly roundsMs: readonly [full: number, short: number]
}

const recordBytes = 1024
const memoryDirectory = '/dev/shm'
/** Cluster and chain leave three replicas each of all rounds. */
const spareBytes = 1e9
const trickleBytesPerSec = 2e6
const [fullRounds, shortRounds] = [7, 3]

/** One record a batch, one after the other. */
export function slowLatencyTrial(partitions: number): Trial {
  return latencyTrial({
    what: `1,000 records/s over ${partitions.toLocaleString('en')}`,
    partitions,
    // Room for one record of 1 KiB, not for two.
    batchBytes: 1_280,
    bytesPerSec: 1_000 * recordBytes,
    directory: tmpdir(),
    roundsMs: [3_000, 800],
  })
}

export function busyLatencyTrial(megabytesPerSec: number, where: 'disk' | 'memory'): Trial {
  const place = where === 'disk' ? '' : ', tmpfs'
  return latencyTrial({
    what: `${megabytesPerSec} MB/s over 100${place}`,
    partitions: 100,
    batchBytes: 16 * 1024,
    bytesPerSec: megabytesPerSec * 1e6,
    directory: where === 'disk' ? tmpdir() : memoryDirectory,
    roundsMs: [1_500, 800],
  })
}

function latencyTrial(sizes: LatencyCase): Trial {
  return async ({ full }) => {
    const rounds = full ? fullRounds : shortRounds
    const roundMs = sizes.roundsMs[full ? 0 : 1]
    const bytes = (2 * replicas * (rounds + 1) * sizes.bytesPerSec * roundMs) / 1000
    if (freeBytes(sizes.directory) < bytes + spareBytes) {
      process.stdout.write(`  left out: ${sizes.directory} has not ${bytes} bytes free\n`)
      return []
    }
    const { cluster, chain } = await measure(sizes, rounds, roundMs)
    return [0.5, 0.99].flatMap((quantile) => findings(sizes, quantile, cluster, chain))
  }
}

/** Latencies of each round. */
interface Measured {
  readonly cluster: readonly (readonly number[])[]
  readonly chain: readonly (readonly number[])[]
}

async function measure(sizes: LatencyCase, rounds: number, roundMs: number): Promise<Measured> {
  const { directory, partitions } = sizes
  // Of a trickle there is nothing to wait for, and it would take long: it is in many files.
  const settle = async (): Promise<void> => {
    if (sizes.bytesPerSec > trickleBytesPerSec) await settleDisk(directory)
  }
  const lab = await openTrialCluster(directory, { partitions })
  try {
    const load = await TrialLoadRun.open(lab, { ...sizes, recordBytes })
    const chain = await Chain.open({ ...sizes, recordBytes, replicas, roundMs })
    try {
      const measured = { cluster: [] as number[][], chain: [] as number[][] }
      for (let round = -1; round < rounds; round += 1) {
        await settle()
        const { latenciesMs } = await load.round(roundMs)
        await settle()
        const beside = await chain.round()
        // The first round warms up.
        if (round < 0) continue
        measured.cluster.push([...latenciesMs])
        measured.chain.push(beside)
      }
      await load.verify()
      return measured
    } finally {
      await chain.close()
      await load.close()
    }
  } finally {
    await lab.close()
  }
}

function findings(
  { what }: LatencyCase,
  quantile: number,
  cluster: readonly (readonly number[])[],
  chain: readonly (readonly number[])[],
): Finding[] {
  const name = `p${quantile * 100}, ${what}`
  const limit = `${name}, chain`
  const ours = cluster.map((latencies) => quantilesOf(latencies, [quantile])[0]!)
  const beside = chain.map((latencies) => quantilesOf(latencies, [quantile])[0]!)
  return [
    findingOf(limit, 'ms', beside),
    { ...findingOf(name, 'ms', ours), ratio: ratioOf(limit, ours, beside) },
  ]
}

function freeBytes(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize
  } catch {
    return 0
  }
}
