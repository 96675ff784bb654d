/**
 * What an administrator may ask of a cluster that runs: more partitions, other settings, other
 * replicas, other leaders. Each call is one request to the controller (Kafka: `Admin`).
 */
import type { ControllerClient } from './client/controller-client.ts'
import { replicasOf } from './cluster-placement.ts'
import { type TopicConfigInput, topicConfigEntries } from './config.ts'
import { TidemarkError } from './errors.ts'
import type { BrokerId } from './ids.ts'
import { listReassignments } from './replication/controller/decide-reassignment.ts'
import type { PartitionResult } from './replication/messages.ts'

export interface NamedPartition {
  readonly topic: string
  readonly partition: number
}

/** What became of a request for one partition. */
export interface PartitionOutcome extends NamedPartition {
  /** Absent: it was done. */
  readonly error?: TidemarkError
}

export interface PartitionMove extends NamedPartition {
  /** Brokers, the preferred leader first; null calls a running move off. */
  readonly replicas: readonly number[] | null
}

export interface PartitionReassignment extends NamedPartition {
  /** While replicas move: the target, followed by those that will go. */
  readonly replicas: readonly BrokerId[]
  readonly addingReplicas: readonly BrokerId[]
  readonly removingReplicas: readonly BrokerId[]
}

/** Settings to change; null: back to the default. */
export type TopicConfigChanges = {
  readonly [K in keyof TopicConfigInput]: TopicConfigInput[K] | null
}

export class ClusterAdmin {
  readonly #client: ControllerClient
  readonly #brokerIds: () => readonly BrokerId[]
  readonly #untilServed: (topic: string, from: number) => Promise<void>

  /** @param untilServed resolves when from that partition on all are led and followed */
  constructor(
    client: ControllerClient,
    brokerIds: () => readonly BrokerId[],
    untilServed: (topic: string, from: number) => Promise<void>,
  ) {
    this.#client = client
    this.#brokerIds = brokerIds
    this.#untilServed = untilServed
  }

  /**
   * Adds partitions at the end of a topic, with as many replicas as it has; resolves when they are
   * served.
   *
   * @param count how many it is to have then, from one more than it has
   * @param assignments brokers of each new partition; default: leaders over all brokers
   * @throws {TidemarkError} UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS,
   *   INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR
   */
  async createPartitions(
    topic: string,
    count: number,
    assignments?: readonly (readonly number[])[],
  ): Promise<void> {
    const client = this.#client
    const { partitions } = this.#topic(topic)
    const present = partitions.size
    const first = client.image.partition(partitions.get(0)!)!
    const brokers = this.#brokerIds()
    const replicationFactor = first.replicas.length
    const placed = (): readonly (readonly number[])[] =>
      count > present
        ? replicasOf({ partitions: count, replicationFactor }, brokers).slice(present)
        : []
    const asked = (assignments ?? placed()) as readonly (readonly BrokerId[])[]
    await client.administer({ type: 'createPartitions', topic, count, assignments: asked })
    await this.#untilServed(topic, present)
  }

  /**
   * Deletes a topic. Brokers end its logs at once and remove the files after
   * `file.delete.delay.ms`.
   *
   * @throws {TidemarkError} UNKNOWN_TOPIC_OR_PARTITION
   */
  async deleteTopic(topic: string): Promise<void> {
    await this.#client.administer({ type: 'deleteTopic', topic })
  }

  /**
   * Changes settings of a topic that exists (Kafka: `incrementalAlterConfigs`). Brokers take them
   * over while they work.
   *
   * @param topic undefined: `min.insync.replicas` and `unclean.leader.election.enable` of all
   *   topics that don't set them
   * @throws {TidemarkError} UNKNOWN_TOPIC_OR_PARTITION, INVALID_CONFIG
   */
  async alterTopicConfig(topic: string | undefined, changes: TopicConfigChanges): Promise<void> {
    const values = Object.entries(changes)
    const set = values.filter(([, value]) => value !== null && value !== undefined)
    const unset = values.filter(([, value]) => value === null)
    await this.#client.administer({
      type: 'alterConfigs',
      topic,
      changes: {
        ...topicConfigEntries(Object.fromEntries(set)),
        ...Object.fromEntries(unset as [string, null][]),
      },
    })
  }

  /**
   * Moves replicas, and changes how many there are (Kafka: `alterPartitionReassignments`). A move
   * is under way when this resolves; it ends when all that are to stay are in sync.
   *
   * Errors of a partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT,
   * INVALID_REPLICATION_FACTOR, NO_REASSIGNMENT_IN_PROGRESS.
   */
  async alterPartitionReassignments(moves: readonly PartitionMove[]): Promise<PartitionOutcome[]> {
    const partitions = moves.map(({ topic, partition, replicas }) => {
      return { topic, partition, replicas: replicas as readonly BrokerId[] | null }
    })
    const client = this.#client
    return (await client.administer({ type: 'alterReassignments', partitions })).map(outcomeOf)
  }

  /** Moves that are under way, as last heard from the controller. */
  listPartitionReassignments(): PartitionReassignment[] {
    return listReassignments(this.#client.image).map((registration) => {
      const { topic, partition, replicas, addingReplicas, removingReplicas } = registration
      return { topic, partition, replicas, addingReplicas, removingReplicas }
    })
  }

  /**
   * Elects leaders (Kafka: `electLeaders`). `preferred`: the first replica, if it is in sync.
   * `unclean`: anybody that is there, for partitions without leader: committed records may be lost.
   *
   * Errors of a partition: UNKNOWN_TOPIC_OR_PARTITION, ELECTION_NOT_NEEDED,
   * PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE.
   *
   * @param partitions default: all that need an election
   * @throws {TidemarkError} INVALID_ARGUMENT
   */
  async electLeaders(
    election: 'preferred' | 'unclean',
    partitions?: readonly NamedPartition[],
  ): Promise<PartitionOutcome[]> {
    if (election !== 'preferred' && election !== 'unclean') {
      const detail = `election '${String(election)}': allowed are preferred, unclean`
      throw new TidemarkError('INVALID_ARGUMENT', detail)
    }
    const client = this.#client
    return (await client.administer({ type: 'electLeaders', election, partitions })).map(outcomeOf)
  }

  #topic(name: string) {
    const topic = this.#client.image.topicNamed(name)
    if (topic !== undefined) return topic
    throw new TidemarkError('UNKNOWN_TOPIC_OR_PARTITION', `no topic '${name}'`)
  }
}

function outcomeOf({ topic, partition, error, detail }: PartitionResult): PartitionOutcome {
  if (error === 'NONE') return { topic, partition }
  return { topic, partition, error: new TidemarkError(error, detail) }
}
