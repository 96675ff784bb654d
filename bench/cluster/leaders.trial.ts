/** Leaders spread over three brokers against one leader of everything, in alternation. */
import { tmpdir } from 'node:os'
import { settleDisk } from '../../src/lab/disk-settle.ts'
import { type Finding, findingOf, ratioOf, type TrialOptions } from '../trial.ts'
import { openTrialCluster, replicas, TrialLoadRun } from './loaded-cluster.ts'

const partitions = 100
const sizes = { partitions, recordBytes: 1024, batchBytes: 16 * 1024 }
const spreadTopic = 'spread'

export async function leadersTrial({ full }: TrialOptions): Promise<Finding[]> {
  const [rounds, roundMs, bytesMax] = full ? [9, 1_500, 500e6] : [3, 500, 150e6]
  const directory = tmpdir()
  const lab = await openTrialCluster(directory, { partitions })
  const loads: TrialLoadRun[] = []
  try {
    await lab.cluster.createTopic(spreadTopic, {
      ...{ partitions, replicationFactor: replicas, leaders: 'spread' },
      config: { 'min.insync.replicas': 1 },
    })
    const spread = lab.cluster.partitionsOf(spreadTopic)!
    loads.push(await TrialLoadRun.open(lab, sizes))
    loads.push(await TrialLoadRun.open(lab, sizes, { partitions: spread, firstSlot: 2 }))
    const rates = loads.map((): number[] => [])
    for (let round = -1; round < rounds; round += 1) {
      for (let turn = 0; turn < loads.length; turn += 1) {
        const at = (turn + round + 1) % loads.length
        await settleDisk(directory)
        const { payloadBytes, elapsedMs } = await loads[at]!.round(roundMs, bytesMax)
        // The first round warms up.
        if (round >= 0) rates[at]!.push(payloadBytes / elapsedMs / 1e3)
      }
    }
    for (const load of loads) await load.verify()
    const [one, spreadOut] = rates as [number[], number[]]
    return [
      findingOf('one leader', 'MB/s', one),
      {
        ...findingOf('leaders spread', 'MB/s', spreadOut),
        ratio: ratioOf('one leader', spreadOut, one),
      },
    ]
  } finally {
    for (const load of loads) await load.close()
    await lab.close()
  }
}
