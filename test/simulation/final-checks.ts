/** At rest: replicas are the same, hold all that was promised, and nothing that was invented. */
import { epochEndOf, readLeaderEpochs } from '../../src/log/leader-epochs.ts'
import type { PartitionRegistration } from '../../src/replication/registration.ts'
import type { HistoryChecks } from './history-checks.ts'
import { imageDifference } from './invariants/image-difference.ts'
import { differentBatch } from './invariants/same-batches.ts'
import { type LogContents, partitionDirectory } from './log-contents.ts'
import type { SimulatedClients } from './simulated-clients.ts'
import type { SimulatedCluster } from './simulated-cluster.ts'

export function checkAtRest(
  cluster: SimulatedCluster,
  clients: SimulatedClients,
  checks: HistoryChecks,
): void {
  for (const registration of checks.registrations) {
    const { index, leader, replicas } = registration
    const ofLeader = checks.contents(leader, registration)
    checks.tell('whole-log', index, ofLeader.fault)
    checks.tell('committed-kept', index, checks.promises.missing(index, 0, ofLeader.crcAt))
    checks.tell('nothing-invented', index, inventedBatch(ofLeader, clients))
    for (const replica of replicas) {
      const contents = checks.contents(replica, registration)
      const its = (detail: string | undefined) => {
        if (detail !== undefined)
          checks.tell('same-batches', index, `replica ${replica}: ${detail}`)
      }
      its(contents.fault)
      its(differentBatch(ofLeader.batches, contents.batches))
      if (contents.batches.length !== ofLeader.batches.length) its('not as many batches')
      checks.tell('epoch-history', index, epochFault(cluster, replica, registration, contents))
    }
  }
  checkImages(cluster, checks)
}

function inventedBatch(contents: LogContents, clients: SimulatedClients): string | undefined {
  const seen = new Set<number>()
  for (const { baseOffset } of contents.batches) {
    const crc = contents.crcAt(baseOffset)!
    if (seen.has(crc)) return `the batch at offset ${baseOffset} is there twice`
    if (!clients.sent.has(crc)) return `nobody sent the batch at offset ${baseOffset}`
    if (clients.refused.has(crc)) return `the batch at offset ${baseOffset} had been refused`
    seen.add(crc)
  }
  return undefined
}

/** The epoch that the history names for a batch is the one that the batch carries. */
function epochFault(
  { disk }: SimulatedCluster,
  replica: number,
  { topic, partition }: PartitionRegistration,
  contents: LogContents,
): string | undefined {
  const history = readLeaderEpochs(partitionDirectory(replica, topic, partition), disk)
  for (const { baseOffset, leaderEpoch } of contents.batches) {
    const entry = history.findLast(({ startOffset }) => startOffset <= baseOffset)
    if (entry?.leaderEpoch === leaderEpoch) continue
    const { endOffset } = epochEndOf(history, leaderEpoch, contents.logEndOffset)
    return `replica ${replica}: offset ${baseOffset} has epoch ${leaderEpoch}, its history says ${entry?.leaderEpoch ?? 'none'}; that epoch ends at ${endOffset}`
  }
  return undefined
}

function checkImages({ controller, brokers }: SimulatedCluster, checks: HistoryChecks): void {
  const { image } = controller
  for (const { id, life } of brokers) {
    const its = life?.node.link.image
    if (its === undefined || its.endOffset !== image.endOffset) continue
    const difference = imageDifference(image, its)
    if (difference !== undefined) checks.tell('image', -1, `broker ${id}: ${difference}`)
  }
  controller.end(undefined)
  controller.start()
  const difference = imageDifference(image, controller.image)
  if (difference !== undefined) checks.tell('image', -1, `after a restart: ${difference}`)
}
