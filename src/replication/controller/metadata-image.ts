/**
 * The state that the metadata log's records replay to: brokers, topics, partitions, configs. The
 * controller decides on its image; every broker keeps one too, a little behind. `replay` is the
 * only way it changes, live and at restart.
 */
import { TidemarkError } from '../../errors.ts'
import { type BrokerEpoch, type BrokerId, type PartitionIndex, partitionIndex } from '../../ids.ts'
import { invariant } from '../../invariant.ts'
import type { BrokerRegistration, BrokerView, PartitionRegistration } from '../registration.ts'
import { mergePartitionChange, recoveryStateOf } from './merge-partition-change.ts'
import type {
  BrokerRegistrationChangeRecord,
  ConfigRecord,
  MetadataRecord,
  PartitionChangeRecord,
  PartitionRecord,
  RegisterBrokerRecord,
  TopicRecord,
} from './metadata-records.ts'
import {
  configResources,
  controlledShutdownChanges,
  fencingChanges,
  leaderRecoveryStates,
} from './metadata-records.ts'

export interface TopicImage {
  readonly topicId: string
  readonly name: string
  /** Number of the partition → its index in the cluster. */
  readonly partitions: ReadonlyMap<number, PartitionIndex>
}

interface MutableTopic extends TopicImage {
  readonly partitions: Map<number, PartitionIndex>
}

interface BrokerEntry {
  readonly registration: BrokerRegistration
  /** Offset of its latest RegisterBrokerRecord: a broker that has applied it may be unfenced. */
  readonly registrationOffset: number
}

const emptyConfig: ReadonlyMap<string, string> = new Map()

export class MetadataImage implements BrokerView {
  readonly #brokers = new Map<BrokerId, BrokerEntry>()
  readonly #topics = new Map<string, MutableTopic>()
  readonly #topicByName = new Map<string, MutableTopic>()
  /** By index; undefined where the topic is gone. */
  readonly #partitions: (PartitionRegistration | undefined)[] = []
  readonly #configs = new Map<string, Map<string, string>>()
  readonly #features = new Map<string, number>()
  #endOffset = 0

  /** Exclusive end of the metadata log as replayed. */
  get endOffset(): number {
    return this.#endOffset
  }

  /** Number of indexes given out, removed partitions included: every index is below it. */
  get partitionIndexesEnd(): number {
    return this.#partitions.length
  }

  partition(index: PartitionIndex): PartitionRegistration | undefined {
    return this.#partitions[index]
  }

  partitionOf(topicId: string, partition: number): PartitionRegistration | undefined {
    const index = this.#topics.get(topicId)?.partitions.get(partition)
    return index === undefined ? undefined : this.#partitions[index]
  }

  topic(topicId: string): TopicImage | undefined {
    return this.#topics.get(topicId)
  }

  topicNamed(name: string): TopicImage | undefined {
    return this.#topicByName.get(name)
  }

  topics(): IterableIterator<TopicImage> {
    return this.#topics.values()
  }

  /** Visits the partitions that exist, in order of their index. */
  forEachPartition(visit: (registration: PartitionRegistration) => void): void {
    for (const registration of this.#partitions) if (registration !== undefined) visit(registration)
  }

  broker(broker: BrokerId): BrokerRegistration | undefined {
    return this.#brokers.get(broker)?.registration
  }

  brokers(): BrokerRegistration[] {
    return Array.from(this.#brokers.values(), ({ registration }) => registration)
  }

  /** Ids of the brokers that may lead and join in-sync replicas, ascending. */
  activeBrokers(): BrokerId[] {
    const ids = [...this.#brokers.keys()].filter((broker) => this.isActive(broker))
    return ids.sort((a, b) => a - b)
  }

  isActive(broker: BrokerId): boolean {
    const registration = this.#brokers.get(broker)?.registration
    return registration !== undefined && !registration.fenced && !registration.inControlledShutdown
  }

  aliveEpoch(broker: BrokerId): BrokerEpoch | undefined {
    const registration = this.#brokers.get(broker)?.registration
    return registration === undefined || registration.fenced ? undefined : registration.brokerEpoch
  }

  /** Offset of the broker's latest registration record; undefined when it isn't registered. */
  registrationOffset(broker: BrokerId): number | undefined {
    return this.#brokers.get(broker)?.registrationOffset
  }

  /** Settings of a resource (`configResources`); of all brokers together with name ''. */
  config(resourceType: number, resourceName: string): ReadonlyMap<string, string> {
    return this.#configs.get(configKey(resourceType, resourceName)) ?? emptyConfig
  }

  /** The topic's own setting, else the cluster's default; undefined: neither is set. */
  topicConfig(topic: string, name: string): string | undefined {
    return (
      this.config(configResources.topic, topic).get(name) ??
      this.config(configResources.broker, '').get(name)
    )
  }

  featureLevel(name: string): number | undefined {
    return this.#features.get(name)
  }

  /**
   * Replays records that follow each other from `baseOffset`, without gap.
   *
   * @returns the partitions that they created or changed, each once.
   */
  replayAll(baseOffset: number, records: readonly MetadataRecord[]): Set<PartitionIndex> {
    invariant(
      baseOffset === this.#endOffset,
      () => `metadata from offset ${baseOffset}, expected ${this.#endOffset}`,
    )
    const changed = new Set<PartitionIndex>()
    for (const record of records) {
      const index = this.replay(record, this.#endOffset)
      if (index !== undefined) changed.add(index)
    }
    return changed
  }

  /**
   * Applies one record.
   *
   * @param offset its offset: at or above `endOffset` (control batches of Kafka leave gaps).
   * @returns index of the partition that it created or changed.
   * @throws {TidemarkError} CORRUPT_MESSAGE when it speaks of something unknown; then nothing
   *   changed.
   */
  replay(record: MetadataRecord, offset: number): PartitionIndex | undefined {
    invariant(offset >= this.#endOffset, () => `offset ${offset} below ${this.#endOffset}`)
    const index = this.#apply(record, offset)
    this.#endOffset = offset + 1
    return index
  }

  #apply(record: MetadataRecord, offset: number): PartitionIndex | undefined {
    switch (record.type) {
      case 'partitionChange':
        return this.#changePartition(record, offset)
      case 'partition':
        return this.#putPartition(record, offset)
      case 'topic':
        this.#addTopic(record, offset)
        break
      case 'removeTopic':
        this.#removeTopic(record.topicId, offset)
        break
      case 'config':
        this.#setConfig(record)
        break
      case 'registerBroker':
        this.#register(record, offset)
        break
      case 'unregisterBroker':
        this.#brokerOrThrow(record.brokerId, record.brokerEpoch, offset)
        this.#brokers.delete(record.brokerId)
        break
      case 'brokerRegistrationChange':
        this.#changeBroker(record, offset)
        break
      case 'fenceBroker':
        this.#setBroker(record.id, record.epoch, offset, { fenced: true })
        break
      case 'unfenceBroker':
        this.#setBroker(record.id, record.epoch, offset, { fenced: false })
        break
      case 'featureLevel':
        this.#features.set(record.name, record.featureLevel)
        break
      case 'noOp':
      case 'opaque':
      case 'beginTransaction':
      case 'endTransaction':
      case 'abortTransaction':
        break
      default:
        invariant(false, () => `metadata record of type ${String(record satisfies never)}`)
    }
    return undefined
  }

  #changePartition(record: PartitionChangeRecord, offset: number): PartitionIndex {
    const before = this.partitionOf(record.topicId, record.partitionId)
    if (before === undefined) {
      throw unknown(offset, `partition ${record.partitionId} of topic id ${record.topicId}`)
    }
    this.#partitions[before.index] = mergePartitionChange(before, record)
    return before.index
  }

  #putPartition(record: PartitionRecord, offset: number): PartitionIndex {
    const topic = this.#topics.get(record.topicId)
    if (topic === undefined) throw unknown(offset, `topic id ${record.topicId}`)
    const index =
      topic.partitions.get(record.partitionId) ?? partitionIndex(this.#partitions.length)
    const registration: PartitionRegistration = {
      index,
      topicId: topic.topicId,
      topic: topic.name,
      partition: record.partitionId,
      replicas: record.replicas,
      inSyncReplicas: record.isr,
      addingReplicas: record.addingReplicas,
      removingReplicas: record.removingReplicas,
      leader: record.leader,
      leaderRecoveryState: recoveryStateOf(
        record.leaderRecoveryState ?? leaderRecoveryStates.recovered,
      ),
      leaderEpoch: record.leaderEpoch,
      partitionEpoch: record.partitionEpoch,
      eligibleLeaderReplicas: record.eligibleLeaderReplicas ?? [],
      lastKnownLeader: record.lastKnownElr ?? [],
    }
    topic.partitions.set(record.partitionId, index)
    this.#partitions[index] = registration
    return index
  }

  #addTopic(record: TopicRecord, offset: number): void {
    if (this.#topics.has(record.topicId) || this.#topicByName.has(record.name)) {
      throw new TidemarkError(
        'CORRUPT_MESSAGE',
        `metadata at offset ${offset}: topic ${record.name} (${record.topicId}) exists already`,
      )
    }
    const topic = { topicId: record.topicId, name: record.name, partitions: new Map() }
    this.#topics.set(topic.topicId, topic)
    this.#topicByName.set(topic.name, topic)
  }

  #removeTopic(topicId: string, offset: number): void {
    const topic = this.#topics.get(topicId)
    if (topic === undefined) throw unknown(offset, `topic id ${topicId}`)
    for (const index of topic.partitions.values()) this.#partitions[index] = undefined
    this.#topics.delete(topicId)
    this.#topicByName.delete(topic.name)
    this.#configs.delete(configKey(configResources.topic, topic.name))
  }

  #setConfig(record: ConfigRecord): void {
    const key = configKey(record.resourceType, record.resourceName)
    const config = this.#configs.get(key) ?? new Map<string, string>()
    if (record.value === null) config.delete(record.name)
    else config.set(record.name, record.value)
    if (config.size === 0) this.#configs.delete(key)
    else this.#configs.set(key, config)
  }

  #register(record: RegisterBrokerRecord, offset: number): void {
    const registration: BrokerRegistration = {
      brokerId: record.brokerId,
      brokerEpoch: record.brokerEpoch,
      incarnationId: record.incarnationId,
      fenced: record.fenced,
      inControlledShutdown: record.inControlledShutdown ?? false,
    }
    this.#brokers.set(record.brokerId, { registration, registrationOffset: offset })
  }

  #changeBroker(record: BrokerRegistrationChangeRecord, offset: number): void {
    const { brokerId, brokerEpoch, fenced, inControlledShutdown } = record
    this.#setBroker(brokerId, brokerEpoch, offset, {
      ...(fenced === undefined ? {} : { fenced: fenced === fencingChanges.fence }),
      ...(inControlledShutdown === controlledShutdownChanges.begin
        ? { inControlledShutdown: true }
        : {}),
    })
  }

  #setBroker(
    broker: BrokerId,
    epoch: BrokerEpoch,
    offset: number,
    change: Partial<Pick<BrokerRegistration, 'fenced' | 'inControlledShutdown'>>,
  ): void {
    const { registration, registrationOffset } = this.#brokerOrThrow(broker, epoch, offset)
    this.#brokers.set(broker, { registration: { ...registration, ...change }, registrationOffset })
  }

  #brokerOrThrow(broker: BrokerId, epoch: BrokerEpoch, offset: number): BrokerEntry {
    const entry = this.#brokers.get(broker)
    if (entry?.registration.brokerEpoch === epoch) return entry
    throw unknown(offset, `broker ${broker} with epoch ${epoch}`)
  }
}

function configKey(resourceType: number, resourceName: string): string {
  return `${resourceType}:${resourceName}`
}

function unknown(offset: number, what: string): TidemarkError {
  return new TidemarkError('CORRUPT_MESSAGE', `metadata at offset ${offset}: ${what} is unknown`)
}
