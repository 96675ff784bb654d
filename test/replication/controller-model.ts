/**
 * As much of a controller as a leader can feel: it validates proposals, removes members on its
 * own, and tells everything in one ordered log, which the leader reads when the test lets it.
 */
import type { ErrorCode } from '../../src/errors.ts'
import type { BrokerId, PartitionIndex } from '../../src/ids.ts'
import type {
  AlterPartitionItem,
  AlterPartitionItemResult,
  AlterPartitionRequest,
  AlterPartitionResponse,
} from '../../src/replication/messages.ts'
import { leader, WorldOfBrokers } from './led-fixture.ts'

export interface PartitionFacts {
  readonly isr: readonly BrokerId[]
  readonly leaderEpoch: number
  readonly partitionEpoch: number
}

export type ModelRecord =
  | ({ readonly kind: 'partition'; readonly partition: PartitionIndex } & PartitionFacts)
  | {
      readonly kind: 'broker'
      readonly broker: BrokerId
      readonly epoch: number
      readonly isFenced: boolean
      readonly isShuttingDown: boolean
    }

export class ModelController {
  readonly brokers = new WorldOfBrokers()
  readonly partitions: PartitionFacts[]
  readonly log: ModelRecord[] = []

  constructor(partitions: PartitionFacts[]) {
    this.partitions = partitions
  }

  /** Fences, shuts down, restarts or restores a broker; who may not be a member is removed. */
  setBroker(broker: BrokerId, change: Partial<ReturnType<WorldOfBrokers['of']>>): void {
    Object.assign(this.brokers.of(broker), change)
    this.log.push({ kind: 'broker', broker, ...this.brokers.of(broker) })
    if (this.brokers.isActive(broker)) return
    for (const [partition, { isr }] of this.partitions.entries()) {
      if (!isr.includes(broker)) continue
      this.#change(partition, { isr: isr.filter((member) => member !== broker) })
    }
  }

  /** The same leader in a new epoch. */
  electAgain(partition: number): void {
    this.#change(partition, { leaderEpoch: this.partitions[partition].leaderEpoch + 1 })
  }

  answer(request: AlterPartitionRequest): AlterPartitionResponse {
    return {
      type: 'alterPartitionResponse',
      correlationId: request.correlationId,
      error: 'NONE',
      items: request.items.map((item) => this.#decide(item)),
    }
  }

  #decide(item: AlterPartitionItem): AlterPartitionItemResult {
    const error = this.#refusal(item)
    const isr = item.newInSyncReplicas.map((replica) => replica.brokerId)
    if (error === 'NONE') this.#change(item.partition, { isr })
    const facts = this.partitions[item.partition]
    return {
      partition: item.partition,
      error,
      leader,
      leaderEpoch: facts.leaderEpoch,
      partitionEpoch: facts.partitionEpoch,
      inSyncReplicas: facts.isr,
      leaderRecoveryState: 'recovered',
    }
  }

  #refusal(item: AlterPartitionItem): ErrorCode | 'NONE' {
    const facts = this.partitions[item.partition]
    if (item.leaderEpoch > facts.leaderEpoch) return 'NOT_CONTROLLER'
    if (item.partitionEpoch > facts.partitionEpoch) return 'NOT_CONTROLLER'
    if (item.leaderEpoch < facts.leaderEpoch) return 'FENCED_LEADER_EPOCH'
    if (item.partitionEpoch < facts.partitionEpoch) return 'INVALID_UPDATE_VERSION'
    const isIneligible = item.newInSyncReplicas.some(({ brokerId, brokerEpoch }) => {
      if (!this.brokers.isActive(brokerId)) return true
      return brokerEpoch !== -1 && brokerEpoch !== this.brokers.aliveEpoch(brokerId)
    })
    return isIneligible ? 'INELIGIBLE_REPLICA' : 'NONE'
  }

  #change(partition: number, change: Partial<PartitionFacts>): void {
    const old = this.partitions[partition]
    const facts = { ...old, ...change, partitionEpoch: old.partitionEpoch + 1 }
    this.partitions[partition] = facts
    this.log.push({ kind: 'partition', partition: partition as PartitionIndex, ...facts })
  }
}
