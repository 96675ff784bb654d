/** What a seed decides before the first step: shape of the cluster, settings, weather. */
import { type ClusterConfig, clusterConfig } from '../../src/config.ts'
import type { SeededRandom } from '../../src/lab/statistics-random.ts'
import { limits } from '../../src/limits.ts'

export interface TopicScenario {
  readonly name: string
  /** Replicas of each partition, the preferred leader first. */
  readonly assignments: readonly (readonly number[])[]
  readonly configs: Readonly<Record<string, string>>
}

/** Chances are from 0 to 1; durations in simulated milliseconds. */
export interface Scenario {
  readonly brokers: number
  readonly config: ClusterConfig
  readonly topics: readonly TopicScenario[]
  /** Where the rings' positions begin: some are about to wrap. */
  readonly ringStart: number
  /** The controller's log waits for the disk, so it may lose what it had not synced. */
  readonly metadataIsSynced: boolean
  /** Of the controller's log, between two snapshots. */
  readonly snapshotBytes: number
  readonly eligibleLeaderReplicasVersion: 0 | 1
  /** Between two looks of the controller for leaders to move, and for unclean elections. */
  readonly rebalanceIntervalMs: number
  readonly uncleanIntervalMs: number
  /** Steps are this far apart on average. */
  readonly stepMs: number
  /** A broker is scheduled in a step. */
  readonly scheduled: number
  /** A step has a fault. */
  readonly faults: number
  /** A broker's step is interrupted and others go on meanwhile. */
  readonly preemption: number
  readonly latencyMsMax: number
  readonly lossOfHeartbeat: number
  readonly duplication: number
  /** A client sends something in a step. */
  readonly load: number
  readonly bigBatches: number
}

const configs: readonly ClusterConfig[] = [
  configWith({}),
  configWith({ 'isr.expand.criterion': 'high.watermark' }),
  configWith({ 'ring.detach.stuck.ms': 5, 'ring.detach.slow.ms': 5 }),
  configWith({ 'ring.detach.stuck.ms': 15, 'catch.up.policy': 'round-robin' }),
  configWith({ 'ring.detach.stuck.ms': 600, 'ring.detach.slow.ms': 600 }),
]

function configWith(more: Parameters<typeof clusterConfig>[0]): ClusterConfig {
  return clusterConfig({
    'replica.lag.time.max.ms': 40,
    'broker.session.timeout.ms': 100,
    'broker.heartbeat.interval.ms': 15,
    'replica.fetch.wait.max.ms': 5,
    'ring.bytes': limits.ringBytesMin,
    'ring.detach.stuck.ms': 20,
    'ring.detach.slow.ms': 20,
    'catch.up.read.bytes': 8 * 1024,
    'partitions.max': 4,
    ...more,
  })
}

export function scenarioOf(random: SeededRandom): Scenario {
  const brokers = pick([2, 2, 3, 3, 3, 3, 3, 4], random)
  const metadataIsSynced = random.nextBelow(2) === 0
  return {
    brokers,
    config: configs[random.nextBelow(configs.length)],
    topics: topicsOf(random, brokers),
    ringStart: ringStartOf(random),
    metadataIsSynced,
    snapshotBytes: pick([500, 3_000, 20_000_000], random),
    eligibleLeaderReplicasVersion: pick([0, 1] as const, random),
    rebalanceIntervalMs: pick([20, 50, 400], random),
    uncleanIntervalMs: pick([20, 300], random),
    stepMs: 2 + random.nextBelow(8),
    scheduled: 0.4 + random.next() * 0.6,
    faults: pick([0.02, 0.08, 0.2], random),
    preemption: pick([0, 0.05, 0.2], random),
    latencyMsMax: pick([0, 3, 30], random),
    lossOfHeartbeat: pick([0, 0, 0.1, 0.4], random),
    duplication: pick([0, 0.2], random),
    load: pick([0.3, 0.6, 0.9], random),
    bigBatches: pick([0, 0, 0.1, 0.5], random),
  }
}

function topicsOf(random: SeededRandom, brokers: number): TopicScenario[] {
  const topics: TopicScenario[] = []
  const count = pick([1, 1, 1, 2], random)
  for (let number = 0; number < count; number++) {
    const partitions = pick([1, 1, 2], random)
    const drawn = Array.from({ length: partitions }, () => assignmentOf(random, brokers))
    // A topic's partitions have equally many replicas, or it is refused.
    const factor = Math.min(...drawn.map((replicas) => replicas.length))
    const assignments = drawn.map((replicas) => replicas.slice(0, factor))
    topics.push({ name: `topic${number}`, assignments, configs: topicConfigOf(random) })
  }
  return topics
}

function assignmentOf(random: SeededRandom, brokers: number): number[] {
  const all = Array.from({ length: brokers }, (_, row) => row + 1)
  for (let at = all.length - 1; at > 0; at--) {
    const other = random.nextBelow(at + 1)
    const swapped = all[at]
    all[at] = all[other]
    all[other] = swapped
  }
  return all.slice(0, random.nextBelow(5) === 0 ? 2 : 3)
}

function topicConfigOf(random: SeededRandom): Record<string, string> {
  const configs: Record<string, string> = {
    'min.insync.replicas': String(1 + random.nextBelow(2)),
    'segment.bytes': String(pick([16 * 1024, 1024 * 1024], random)),
  }
  if (random.nextBelow(4) === 0) configs['unclean.leader.election.enable'] = 'true'
  if (random.nextBelow(3) === 0) configs['segment.ms'] = '60'
  const flush = random.nextBelow(4)
  if (flush === 0) configs['flush.messages'] = '1'
  if (flush === 1) configs['flush.ms'] = '100'
  return configs
}

/** The beginning, or shortly before the ring, the signed or the unsigned numbers wrap. */
function ringStartOf(random: SeededRandom): number {
  const units = limits.ringBytesMin / 64
  const before = 1 + random.nextBelow(64)
  const wraps = [units, 2 ** 31, 2 ** 32]
  return random.nextBelow(2) === 0 ? 0 : (pick(wraps, random) - before) | 0
}

export function pick<T>(choices: readonly T[], random: SeededRandom): T {
  return choices[random.nextBelow(choices.length)]
}
