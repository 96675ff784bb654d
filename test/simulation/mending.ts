/** The end of a history: whatever was wrong is put right, and the cluster must come to rest. */
import { partitionIndex } from '../../src/ids.ts'
import type { HistoryChecks } from './history-checks.ts'
import type { SimulatedClients } from './simulated-clients.ts'
import type { SimulatedCluster } from './simulated-cluster.ts'

const roundMs = 5
const attemptsMax = 5
/** More than any wait of the rules: a lost registration is sent again after a second. */
const restMsMax = 6_000

export function comeToRest(
  cluster: SimulatedCluster,
  clients: SimulatedClients,
  checks: HistoryChecks,
): void {
  mend(cluster)
  if (!runUntilAtRest(cluster, clients, checks)) return
  // A leader may just be moved: what is refused then is sent again.
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const taken = sendToAll(cluster, clients, checks)
    if (taken === undefined || taken === cluster.partitions) return
  }
  checks.tell('comes-to-rest', -1, 'batches are refused at rest')
}

/** @returns how many partitions took a batch; undefined: a violation is known already */
function sendToAll(
  cluster: SimulatedCluster,
  clients: SimulatedClients,
  checks: HistoryChecks,
): number | undefined {
  const before = cluster.coverage.of('acks=-1 NONE')
  for (let partition = 0; partition < cluster.partitions; partition++) {
    const batch = { count: 1, valueBytes: 0, acks: -1, timeoutMs: 1_000 }
    clients.send(0, partitionIndex(partition), batch)
  }
  if (!runUntilAtRest(cluster, clients, checks)) return undefined
  return cluster.coverage.of('acks=-1 NONE') - before
}

function mend(cluster: SimulatedCluster): void {
  Object.assign(cluster.weather, { latencyMsMax: 0, lossOfHeartbeat: 0, duplication: 0 })
  for (const broker of cluster.brokers) {
    broker.isFrozen = false
    broker.diskMs = 0
    broker.machine.clearFaults()
    broker.machine.shortWriteOneOf = 0
    if (broker.life === undefined) continue
    broker.life.disk.badReads = 0
    broker.life.link.toBroker.isCut = false
    broker.life.link.toController.isCut = false
  }
  cluster.startController()
}

function runUntilAtRest(
  cluster: SimulatedCluster,
  clients: SimulatedClients,
  checks: HistoryChecks,
): boolean {
  const endMs = cluster.clock.nowMs() + restMsMax
  while (cluster.clock.nowMs() < endMs) {
    cluster.clock.advance(roundMs)
    cluster.stepController()
    for (const broker of cluster.brokers) {
      cluster.start(broker.id)
      cluster.step(broker.id)
      clients.poll()
    }
    checks.afterStep()
    if (checks.violation !== undefined) return false
    if (clients.outstanding === 0 && whyRestless(cluster, checks) === undefined) return true
  }
  checks.tell('comes-to-rest', -1, whyRestless(cluster, checks) ?? 'a batch got no answer')
  return false
}

/** All replicas in sync and equally long, everything committed; else why not. */
function whyRestless({ board }: SimulatedCluster, checks: HistoryChecks): string | undefined {
  for (const registration of checks.registrations) {
    const { index, leader, leaderEpoch, replicas, inSyncReplicas } = registration
    const of = `partition #${index}, leader ${leader} of epoch ${leaderEpoch}`
    if (leader < 1 || board.ledEpoch(leader, index) !== leaderEpoch) return `${of}: no leader`
    if (inSyncReplicas.length !== replicas.length) return `${of}: in sync ${inSyncReplicas}`
    const end = board.logEndOffset(leader, index)
    const highWatermark = board.highWatermark(leader, index)
    if (highWatermark !== end) return `${of}: high watermark ${highWatermark} of ${end}`
    for (const replica of replicas) {
      const epoch = board.followedEpoch(replica, index)
      if (replica !== leader && epoch !== leaderEpoch) return `${of}: ${replica} follows ${epoch}`
      const its = board.logEndOffset(replica, index)
      if (its !== end) return `${of} ends at ${end}, ${replica} at ${its}`
    }
  }
  return undefined
}
