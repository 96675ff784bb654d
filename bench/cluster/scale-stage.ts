/**
 * A process of its own for one cluster with many partitions, from its creation to a failover, so
 * that memory and processor time are those of the cluster and of nothing else.
 *   node scale-stage.js DIRECTORY PARTITIONS IDLE_MS     answers with one line of JSON
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from '../../src/cluster.ts'
import type { BrokerId, PartitionIndex } from '../../src/ids.ts'
import { expectEqual } from '../bench.ts'
import { measureScaleLimits, type ScaleLimits } from './scale-limit.ts'

export interface ScaleFigures {
  readonly createMs: number
  /** One record to each partition from this process, acknowledged by all replicas. */
  readonly firstRecordsMs: number
  /** Processor time of the whole process with nothing to do, over time. */
  readonly idleShare: number
  readonly idleSwitchesPerSec: number
  readonly residentBytes: number
  readonly stopMs: number
  readonly openMs: number
  /** From the end of the dead leader's session until others lead and follow in all it had led. */
  readonly failoverMs: number
  readonly limits: ScaleLimits
}

const topic = 'scale'
const brokers = 3
const sessionTimeoutMs = 2_000
const heartbeatMs = 500
/** For what creation left behind: checkpoints, caught-up followers, garbage. */
const settleMs = 3_000

async function live(directory: string, partitions: number, idleMs: number): Promise<ScaleFigures> {
  const limits = await measureScaleLimits(directory, { brokers, partitions })
  const own = join(directory, 'cluster')
  const cluster = await Cluster.open({ directory: own, brokers })
  const createMs = await timed(() => cluster.createTopic(topic, { partitions, leaders: 'one' }))
  const firstRecordsMs = await timed(() => sendToAll(cluster, partitions))
  await sleep(settleMs)
  globalThis.gc?.()
  const idle = await idleCost(idleMs)
  const residentBytes = process.memoryUsage.rss()
  const stopMs = await timed(() => cluster.close())
  let again!: Cluster
  const config = {
    'broker.session.timeout.ms': sessionTimeoutMs,
    'broker.heartbeat.interval.ms': heartbeatMs,
  }
  const openMs = await timed(async () => {
    again = await Cluster.open({ directory: own, brokers, config })
  })
  const failoverMs = await failover(again, partitions)
  await sendToAll(again, partitions)
  await again.close({ flush: false })
  const lives = { createMs, firstRecordsMs, ...idle, residentBytes, stopMs, openMs, failoverMs }
  return { ...lives, limits }
}

async function sendToAll(cluster: Cluster, partitions: number): Promise<void> {
  const producer = cluster.producer()
  const value = Buffer.alloc(100)
  const sent = Array.from({ length: partitions }, (_, partition) =>
    producer.send({ topic, partition, value }),
  )
  const answered = new Set((await Promise.all(sent)).map(({ partition }) => partition))
  expectEqual('partitions that answered', answered.size, partitions)
  await producer.close()
}

type IdleFigures = Pick<ScaleFigures, 'idleShare' | 'idleSwitchesPerSec'>

async function idleCost(idleMs: number): Promise<IdleFigures> {
  const before = process.resourceUsage()
  const startedMs = performance.now()
  await sleep(idleMs)
  const elapsedMs = performance.now() - startedMs
  const after = process.resourceUsage()
  const busyUs = after.userCPUTime + after.systemCPUTime - before.userCPUTime - before.systemCPUTime
  const switches = after.voluntaryContextSwitches - before.voluntaryContextSwitches
  return {
    idleShare: busyUs / 1_000 / elapsedMs,
    idleSwitchesPerSec: (switches / elapsedMs) * 1_000,
  }
}

/** Kills whoever leads most. */
async function failover(cluster: Cluster, partitions: number): Promise<number> {
  const indexes = cluster.partitionsOf(topic)!
  expectEqual('partitions after opening', indexes.length, partitions)
  const leaderOf = (index: PartitionIndex): BrokerId => cluster.registration(index)!.leader
  const killed = mostOf(indexes.map(leaderOf))
  const led = indexes.filter((index) => leaderOf(index) === killed)
  const isWhole = (index: PartitionIndex): boolean =>
    cluster.registration(index)!.inSyncReplicas.length === brokers
  while (!indexes.every(isWhole)) await sleep(20)
  const startedMs = performance.now()
  await cluster.kill(killed)
  for (let at = 0; at < led.length; ) {
    if (isMoved(cluster, led[at]!, killed)) at += 1
    else await sleep(5)
  }
  return performance.now() - startedMs - sessionTimeoutMs
}

function isMoved(cluster: Cluster, index: PartitionIndex, killed: BrokerId): boolean {
  const { leader, leaderEpoch, replicas } = cluster.registration(index)!
  if (leader === killed || leader < 1) return false
  const others = replicas.filter((id) => id !== killed && id !== leader)
  const follow = others.every((id) => cluster.board.followedEpoch(id, index) === leaderEpoch)
  return follow && cluster.board.ledEpoch(leader, index) === leaderEpoch
}

function mostOf(ids: readonly BrokerId[]): BrokerId {
  const counts = new Map<BrokerId, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return [...counts].sort(([, one], [, other]) => other - one)[0]![0]
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await action()
  return performance.now() - startedMs
}

const [directory, partitions, idleMs] = process.argv.slice(2)
const figures = await live(directory!, Number(partitions), Number(idleMs))
process.stdout.write(`${JSON.stringify(figures)}\n`)
