/**
 * Whether a replica may be in the ISR at all, by the leader's own and possibly old view of the
 * brokers (Kafka: `Partition.isReplicaIsrEligible`, KIP-841, KIP-903). The controller asks again,
 * with authority.
 */
import type { BrokerEpoch, BrokerId } from '../ids.ts'
import { brokerEpochNone } from './follower-progress.ts'
import type { BrokerView } from './registration.ts'

const brokerEpochNotStated = -1

/**
 * @param replicaEpoch epoch that the replica stated in its latest fetch; -1 "don't know" is
 *   believed, `brokerEpochNone` (it has not fetched) is not.
 */
export function isEligibleReplica(
  brokers: BrokerView,
  broker: BrokerId,
  replicaEpoch: BrokerEpoch,
): boolean {
  if (replicaEpoch === brokerEpochNone) return false
  if (!brokers.isActive(broker)) return false
  const aliveEpoch = brokers.aliveEpoch(broker)
  if (aliveEpoch === undefined) return false
  return replicaEpoch === brokerEpochNotStated || replicaEpoch === aliveEpoch
}

/**
 * Whether a fetch comes from an earlier life of a broker than the one known to be alive (Kafka:
 * `Replica.updateFetchStateOrThrow`, KIP-903). A fenced broker has no alive epoch, so its fetches
 * are not refused here; eligibility keeps it out of the ISR.
 */
export function isStaleIncarnation(
  brokers: BrokerView,
  broker: BrokerId,
  statedEpoch: BrokerEpoch,
): boolean {
  if (statedEpoch === brokerEpochNotStated) return false
  const aliveEpoch = brokers.aliveEpoch(broker)
  return aliveEpoch !== undefined && aliveEpoch > statedEpoch
}
