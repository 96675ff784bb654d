/**
 * Invariant: a proposal of a stale leader changes nothing: of one that was deposed, of one whose
 * view is older than the registration, of a former life of a broker (KIP-497, KIP-903).
 */
import type { BrokerEpoch, BrokerId } from '../../../src/ids.ts'
import type { AlterPartitionItem } from '../../../src/replication/messages.ts'
import type { PartitionRegistration } from '../../../src/replication/registration.ts'

export interface HandledProposal {
  readonly sender: BrokerId
  readonly senderEpoch: BrokerEpoch
  /** Of the sender's latest registration; undefined: it has none. */
  readonly registeredEpoch: BrokerEpoch | undefined
  readonly item: AlterPartitionItem
  readonly before: PartitionRegistration
  readonly after: PartitionRegistration
}

/** @returns what is broken; undefined: nothing */
export function staleProposalThatCounted(handled: HandledProposal): string | undefined {
  const { before, after, item, sender } = handled
  if (after.partitionEpoch === before.partitionEpoch) return undefined
  const staleness = stalenessOf(handled)
  if (staleness === undefined) return undefined
  const members = item.newInSyncReplicas.map(({ brokerId }) => brokerId)
  return `broker ${sender} (${staleness}) proposed ${members}: in sync ${before.inSyncReplicas} became ${after.inSyncReplicas}`
}

function stalenessOf(handled: HandledProposal): string | undefined {
  const { before, item, sender, senderEpoch, registeredEpoch } = handled
  if (sender !== before.leader) return `not the leader, that is ${before.leader}`
  if (senderEpoch !== registeredEpoch) {
    return `broker epoch ${senderEpoch}, registered is ${registeredEpoch ?? 'none'}`
  }
  if (item.leaderEpoch !== before.leaderEpoch) {
    return `leader epoch ${item.leaderEpoch}, registered is ${before.leaderEpoch}`
  }
  if (item.partitionEpoch === before.partitionEpoch) return undefined
  return `partition epoch ${item.partitionEpoch}, registered is ${before.partitionEpoch}`
}
