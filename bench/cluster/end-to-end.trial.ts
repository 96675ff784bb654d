/**
 * From the time a batch was meant to be sent until a consumer in the application's thread has its
 * last record in hand, beside its acknowledgement. Open loop, acks=all.
 */
import { tmpdir } from 'node:os'
import { settleDisk } from '../../src/lab/disk-settle.ts'
import { EndToEndWatch } from '../../src/lab/end-to-end.ts'
import type { LabCluster } from '../../src/lab/lab-cluster.ts'
import { quantilesOf } from '../../src/lab/statistics.ts'
import { type Finding, findingOf, ratioOf, type Trial } from '../trial.ts'
import { openTrialCluster, TrialLoadRun } from './loaded-cluster.ts'

interface EndToEndCase {
  readonly what: string
  readonly partitions: number
  readonly batchBytes: number
  readonly bytesPerSec: number
}

export const endToEndCases: Readonly<Record<string, EndToEndCase>> = {
  slow: {
    what: '1,000 records/s over 1',
    partitions: 1,
    // Room for one record of 1 KiB, not for two.
    batchBytes: 1_280,
    bytesPerSec: 1_000 * 1024,
  },
  busy: {
    what: '100 MB/s over 100',
    partitions: 100,
    batchBytes: 16 * 1024,
    bytesPerSec: 100e6,
  },
}

interface RoundLatencies {
  readonly endToEndMs: readonly number[]
  readonly ackMs: readonly number[]
}

export function endToEndTrial(sizes: EndToEndCase): Trial {
  return async ({ full }) => {
    const [rounds, roundMs] = full ? [7, 3_000] : [3, 700]
    const lab = await openTrialCluster(tmpdir(), sizes)
    try {
      const load = await TrialLoadRun.open(lab, { ...sizes, recordBytes: 1024 })
      try {
        const found: RoundLatencies[] = []
        for (let round = -1; round < rounds; round += 1) {
          await settleDisk(tmpdir())
          const latencies = await runRound(lab, load, roundMs)
          // The first round warms up.
          if (round >= 0) found.push(latencies)
        }
        await load.verify()
        return [0.5, 0.99].flatMap((quantile) => findings(sizes, quantile, found))
      } finally {
        await load.close()
      }
    } finally {
      await lab.close()
    }
  }
}

async function runRound(lab: LabCluster, load: TrialLoadRun, ms: number): Promise<RoundLatencies> {
  const { ledgers } = load.load
  const firstRows = ledgers.map(({ count }) => count)
  const watch = new EndToEndWatch(lab.cluster, lab.partitions)
  try {
    const { latenciesMs } = await load.round(ms)
    const endToEndMs = await watch.latenciesMs(ledgers, firstRows, AbortSignal.timeout(30_000))
    return { endToEndMs, ackMs: latenciesMs }
  } finally {
    await watch.close()
  }
}

function findings(
  { what }: EndToEndCase,
  quantile: number,
  rounds: readonly RoundLatencies[],
): Finding[] {
  const acked = `acknowledged p${quantile * 100}, ${what}`
  const seen = rounds.map(({ endToEndMs }) => quantilesOf(endToEndMs, [quantile])[0]!)
  const acks = rounds.map(({ ackMs }) => quantilesOf(ackMs, [quantile])[0]!)
  const name = `end to end p${quantile * 100}, ${what}`
  return [
    findingOf(acked, 'ms', acks),
    { ...findingOf(name, 'ms', seen), ratio: ratioOf(acked, seen, acks) },
  ]
}
