/**
 * A follower of a thousand partitions freezes under load and comes back: how long until it has left
 * the in-sync replicas of all, how long from the leader's log end until it is one of them again,
 * and what producers notice when the leader detaches it from the ring.
 */
import { tmpdir } from 'node:os'
import { foregroundWindow } from '../../src/lab/foreground.ts'
import type { LabCluster } from '../../src/lab/lab-cluster.ts'
import { quantilesOf } from '../../src/lab/statistics.ts'
import { type Finding, findingOf, ratioOf, type TrialOptions } from '../trial.ts'
import { openTrialCluster, TrialLoadRun } from './loaded-cluster.ts'
import { leader, now, OutageStage, pause, until } from './outage-stage.ts'

const partitions = 1_000
/** Half of what a disk takes that syncs some 280 MB/s, which three replicas share. */
const load = { partitions, recordBytes: 1024, batchBytes: 16 * 1024, bytesPerSec: 45e6 }
const lagTimeMaxMs = 1_000
const warmUpMs = 2_000
const calmMs = 1_000
const config = { 'broker.session.timeout.ms': 60_000 }

/** Of one freeze and return. */
interface Round {
  readonly leftFirstMs: number
  readonly leftLastMs: number
  readonly leftRequests: number
  readonly admittedP50Ms: number
  readonly admittedP99Ms: number
  readonly admittedRequests: number
}

export async function admissionTrial({ full }: TrialOptions): Promise<Finding[]> {
  const lab = await openTrialCluster(tmpdir(), {
    partitions,
    config: { ...config, 'replica.lag.time.max.ms': lagTimeMaxMs },
  })
  try {
    return await loaded(lab, async () => {
      const stage = new OutageStage(lab.cluster, lab.partitions)
      const rounds: Round[] = []
      for (let round = 0; round < (full ? 15 : 3); round += 1) rounds.push(await outage(stage))
      return findingsOf(rounds)
    })
  } finally {
    await lab.close()
  }
}

async function outage(stage: OutageStage): Promise<Round> {
  const { frozenAtMs, leftAtMs, requests: leftRequests } = await stage.freeze()
  const left = Array.from(leftAtMs.values(), (atMs) => atMs - frozenAtMs)
  await pause(calmMs)
  const { reachedAtMs, admittedAtMs, requests } = await stage.resume()
  const took = Array.from(admittedAtMs, ([partition, atMs]) => atMs - reachedAtMs.get(partition)!)
  const [admittedP50Ms, admittedP99Ms] = quantilesOf(took, [0.5, 0.99])
  await pause(calmMs)
  return {
    leftFirstMs: Math.min(...left),
    leftLastMs: Math.max(...left),
    leftRequests,
    admittedP50Ms: admittedP50Ms!,
    admittedP99Ms: admittedP99Ms!,
    admittedRequests: requests,
  }
}

function findingsOf(rounds: readonly Round[]): Finding[] {
  const requests = (counts: readonly number[]): string => {
    return `${Math.min(...counts)} to ${Math.max(...counts)} AlterPartition requests`
  }
  const of = (key: keyof Round): number[] => rounds.map((round) => round[key])
  const inAll = `of ${partitions.toLocaleString('en')} partitions`
  return [
    findingOf(`out of sync, the first ${inAll}`, 'ms', of('leftFirstMs')),
    findingOf(
      `out of sync, the last ${inAll}`,
      'ms',
      of('leftLastMs'),
      requests(of('leftRequests')),
    ),
    findingOf('from the log end to in sync, p50', 'ms', of('admittedP50Ms')),
    findingOf(
      'from the log end to in sync, p99',
      'ms',
      of('admittedP99Ms'),
      requests(of('admittedRequests')),
    ),
  ]
}

/**
 * Whoever waits for all in-sync replicas waits for the frozen one until it has left them. So here
 * it has left before the leader detaches it.
 */
export async function detachTrial({ full }: TrialOptions): Promise<Finding[]> {
  const lab = await openTrialCluster(tmpdir(), {
    partitions,
    config: { ...config, 'replica.lag.time.max.ms': 300, 'ring.detach.stuck.ms': 1_000 },
  })
  try {
    return await loaded(lab, async (run) => {
      const stage = new OutageStage(lab.cluster, lab.partitions)
      const [before, second]: [number[], number[]] = [[], []]
      const grown: number[] = []
      for (let round = 0; round < (full ? 15 : 3); round += 1) {
        const calmAtMs = now()
        await pause(calmMs)
        const detaches = (): number => lab.cluster.board.counter(leader, 'detaches')
        const earlier = detaches()
        const residentBytes = process.memoryUsage.rss()
        const { frozenAtMs } = await stage.freeze()
        await until(() => detaches() > earlier, 'was detached')
        const detachedAtMs = now()
        await pause(calmMs)
        grown.push((process.memoryUsage.rss() - residentBytes) / 1e6)
        before.push(p99(run, calmAtMs, frozenAtMs - 50))
        second.push(p99(run, detachedAtMs - calmMs / 4, detachedAtMs + (calmMs * 3) / 4))
        await stage.resume()
        await pause(calmMs)
      }
      const name = 'acknowledged p99, the second before'
      return [
        findingOf(name, 'ms', before),
        {
          ...findingOf('acknowledged p99, the second of the detach', 'ms', second),
          ratio: ratioOf(name, second, before),
        },
        findingOf('resident memory, more after the detach', 'MB', grown),
      ]
    })
  } finally {
    await lab.close()
  }
}

function p99(run: TrialLoadRun, fromMs: number, toMs: number): number {
  const window = foregroundWindow(run.load.ledgers, fromMs, toMs)
  if (window === null) throw new Error('nothing was acknowledged')
  return window.ackMs.p99
}

/** Under load from the warm-up on; everything that was acknowledged is read back. */
async function loaded<T>(lab: LabCluster, measure: (run: TrialLoadRun) => Promise<T>): Promise<T> {
  const run = await TrialLoadRun.open(lab, load)
  try {
    run.load.begin()
    await pause(warmUpMs)
    const result = await measure(run)
    await run.load.hold()
    await run.verify()
    return result
  } finally {
    await run.close()
  }
}
