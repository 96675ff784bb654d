/** What a cluster and its topics are asked for, and the checks that need no cluster. */
import type { ClusterEventListener } from './cluster-events.ts'
import type { TopicPlacement } from './cluster-placement.ts'
import type { ClusterConfigInput, TopicConfigInput } from './config.ts'
import { TidemarkError } from './errors.ts'
import { limits } from './limits.ts'

export interface ClusterOptions {
  /** Made when absent; held against other processes while the cluster is open. */
  readonly directory: string
  /** How many brokers, 1 to `limits.brokersMax`. Default 3. */
  readonly brokers?: number
  /** Settings under Kafka's names; see `clusterConfig`. */
  readonly config?: ClusterConfigInput
  readonly onEvent?: ClusterEventListener
  /**
   * Looks at the invariants of replication all the while, at little cost; what is found broken is
   * an event `invariantViolated`. Default false.
   */
  readonly checkInvariants?: boolean
}

export interface CreateTopicOptions {
  /** Default 1. */
  readonly partitions?: number
  /** Default: the smaller of 3 and the number of brokers. */
  readonly replicationFactor?: number
  /** `one`: broker 1 leads every partition; `spread` (default): leaders over all brokers. */
  readonly leaders?: TopicPlacement
  /** Instead of these three: brokers of each partition by id, the preferred leader first. */
  readonly assignments?: readonly (readonly number[])[]
  readonly config?: TopicConfigInput
}

/** @throws {TidemarkError} INVALID_ARGUMENT */
export function checkedBrokers(brokers = 3): number {
  if (Number.isInteger(brokers) && brokers >= 1 && brokers <= limits.brokersMax) return brokers
  const detail = `brokers = ${brokers}: allowed are 1 to ${limits.brokersMax}`
  throw new TidemarkError('INVALID_ARGUMENT', detail)
}

/** @throws {TidemarkError} INVALID_CONFIG */
export function checkMinInSyncReplicas(config: TopicConfigInput, replicationFactor: number): void {
  const minInSync = config['min.insync.replicas']
  if (minInSync === undefined || minInSync <= replicationFactor) return
  const detail = `min.insync.replicas = ${minInSync}: at most the replication factor ${replicationFactor}`
  throw new TidemarkError('INVALID_CONFIG', detail)
}

/**
 * Bytes a second, 0: no limit.
 *
 * @throws {TidemarkError} INVALID_ARGUMENT
 */
export function checkedRate(bytesPerSec: number): number {
  if (Number.isSafeInteger(bytesPerSec) && bytesPerSec >= 0) return bytesPerSec
  const detail = `${bytesPerSec} bytes a second: allowed are whole numbers from 0, which is no limit`
  throw new TidemarkError('INVALID_ARGUMENT', detail)
}
