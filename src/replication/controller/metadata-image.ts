/**
 * The state that the metadata log's records replay to: brokers, topics, partitions, configs. The
 * controller decides on its image; every broker keeps one too, a little behind. `replay` and
 * `load` are the only ways it changes, live and at restart.
 */
import { TidemarkError } from '../../errors.ts'
import { type BrokerEpoch, type BrokerId, type PartitionIndex, partitionIndex } from '../../ids.ts'
import { invariant } from '../../invariant.ts'
import type { BrokerRegistration, BrokerView, PartitionRegistration } from '../registration.ts'
import { BrokerTable } from './broker-table.ts'
import { ConfigTable } from './config-table.ts'
import { mergePartitionChange } from './merge-partition-change.ts'
import {
  type ClearElrRecord,
  type ConfigRecord,
  configResources,
  type MetadataRecord,
  type PartitionChangeRecord,
  type PartitionRecord,
  type TopicRecord,
} from './metadata-records.ts'
import { partitionRecordOf, registrationOf } from './partition-record.ts'

export interface TopicImage {
  readonly topicId: string
  readonly name: string
  /** Number of the partition → its index in the cluster. */
  readonly partitions: ReadonlyMap<number, PartitionIndex>
}

interface MutableTopic extends TopicImage {
  readonly partitions: Map<number, PartitionIndex>
}

/** What records touched. */
export interface MetadataChanges {
  /** Partitions created, changed or removed. */
  readonly partitions: Set<PartitionIndex>
  /** Names of the topics whose settings, or the defaults behind them, changed. */
  readonly topics: Set<string>
}

export class MetadataImage implements BrokerView {
  readonly #brokers = new BrokerTable()
  readonly #topics = new Map<string, MutableTopic>()
  readonly #topicByName = new Map<string, MutableTopic>()
  /** By index; undefined where the topic is gone. */
  #partitions: (PartitionRegistration | undefined)[] = []
  readonly #configs = new ConfigTable()
  readonly #features = new Map<string, number>()
  #nextProducerId = 0
  #changes = noChanges()
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
    return this.#brokers.get(broker)
  }

  brokers(): BrokerRegistration[] {
    return this.#brokers.all()
  }

  /** Ids of the brokers that may lead and join in-sync replicas, ascending. */
  activeBrokers(): BrokerId[] {
    const ids = this.brokers().map(({ brokerId }) => brokerId)
    return ids.filter((broker) => this.isActive(broker)).sort((a, b) => a - b)
  }

  isActive(broker: BrokerId): boolean {
    const registration = this.#brokers.get(broker)
    return registration !== undefined && !registration.fenced && !registration.inControlledShutdown
  }

  aliveEpoch(broker: BrokerId): BrokerEpoch | undefined {
    const registration = this.#brokers.get(broker)
    return registration === undefined || registration.fenced ? undefined : registration.brokerEpoch
  }

  /** Settings of a resource (`configResources`); of all brokers together with name ''. */
  config(resourceType: number, resourceName: string): ReadonlyMap<string, string> {
    return this.#configs.of(resourceType, resourceName)
  }

  /** The topic's own setting, else the default of all; undefined: neither is set. */
  topicConfig(topic: string, name: string): string | undefined {
    return this.config(configResources.topic, topic).get(name) ?? this.#configs.defaults.get(name)
  }

  /** All that is set for a topic, defaults of all topics included. */
  topicConfigs(topic: string): ReadonlyMap<string, string> {
    const own = this.config(configResources.topic, topic)
    const { defaults } = this.#configs
    return defaults.size === 0 ? own : new Map([...defaults, ...own])
  }

  /** First of the block of producer ids that is given out next. */
  get nextProducerId(): number {
    return this.#nextProducerId
  }

  featureLevel(name: string): number | undefined {
    return this.#features.get(name)
  }

  /** Replays records that follow each other from `baseOffset`, without gap. */
  replayAll(baseOffset: number, records: readonly MetadataRecord[]): MetadataChanges {
    invariant(
      baseOffset === this.#endOffset,
      () => `metadata from offset ${baseOffset}, expected ${this.#endOffset}`,
    )
    for (const record of records) this.replay(record, this.#endOffset)
    return this.#takeChanges()
  }

  /**
   * Replaces everything by what `snapshotRecords` made of an image that ended at `endOffset`.
   *
   * @throws {TidemarkError} CORRUPT_MESSAGE; then the image is of no use.
   */
  load(records: Iterable<MetadataRecord>, endOffset: number): MetadataChanges {
    for (const { index } of this.#existing()) this.#changes.partitions.add(index)
    for (const name of this.#topicByName.keys()) this.#changes.topics.add(name)
    this.#brokers.clear()
    this.#topics.clear()
    this.#topicByName.clear()
    this.#partitions = []
    this.#configs.clear()
    this.#features.clear()
    this.#nextProducerId = 0
    for (const record of records) this.#apply(record, endOffset)
    this.#endOffset = endOffset
    return this.#takeChanges()
  }

  /** Records from which `load` makes the same image (Kafka: MetadataImage.write). */
  *snapshotRecords(): Generator<MetadataRecord> {
    for (const [name, featureLevel] of this.#features) {
      yield { type: 'featureLevel', name, featureLevel }
    }
    yield* this.#brokers.records()
    for (const { name, topicId, partitions } of this.#topics.values()) {
      yield { type: 'topic', name, topicId }
      for (const index of partitions.values()) yield partitionRecordOf(this.#partitions[index]!)
    }
    yield* this.#configs.records()
    const nextProducerId = this.#nextProducerId
    const nobody = { brokerId: -1, brokerEpoch: -1 } as const
    if (nextProducerId > 0) yield { type: 'producerIds', ...nobody, nextProducerId }
    yield { type: 'noOp', partitionIndexesEnd: this.#partitions.length }
  }

  /**
   * Applies one record.
   *
   * @param offset its offset: at or above `endOffset` (control batches of Kafka leave gaps).
   * @throws {TidemarkError} CORRUPT_MESSAGE when it speaks of something unknown; then nothing
   *   changed.
   */
  replay(record: MetadataRecord, offset: number): void {
    invariant(offset >= this.#endOffset, () => `offset ${offset} below ${this.#endOffset}`)
    this.#apply(record, offset)
    this.#endOffset = offset + 1
  }

  #apply(record: MetadataRecord, offset: number): void {
    switch (record.type) {
      case 'partitionChange':
        this.#changePartition(record, offset)
        break
      case 'partition':
        this.#putPartition(record, offset)
        break
      case 'topic':
        this.#addTopic(record, offset)
        break
      case 'removeTopic':
        this.#removeTopic(record.topicId, offset)
        break
      case 'clearElr':
        this.#clearEligible(record, offset)
        break
      case 'config':
        this.#setConfig(record)
        break
      case 'registerBroker':
      case 'unregisterBroker':
      case 'brokerRegistrationChange':
      case 'fenceBroker':
      case 'unfenceBroker':
        this.#brokers.apply(record, offset)
        break
      case 'featureLevel':
        this.#features.set(record.name, record.featureLevel)
        break
      case 'producerIds':
        this.#setNextProducerId(record.nextProducerId, offset)
        break
      case 'noOp':
        this.#reserveIndexes(record.partitionIndexesEnd ?? 0, offset)
        break
      case 'opaque':
      case 'beginTransaction':
      case 'endTransaction':
      case 'abortTransaction':
        break
      default:
        invariant(false, () => `metadata record of type ${String(record satisfies never)}`)
    }
  }

  #changePartition(record: PartitionChangeRecord, offset: number): void {
    const before = this.partitionOf(record.topicId, record.partitionId)
    if (before === undefined) {
      throw unknown(offset, `partition ${record.partitionId} of topic id ${record.topicId}`)
    }
    this.#setPartition(mergePartitionChange(before, record))
  }

  #setPartition(registration: PartitionRegistration): void {
    this.#partitions[registration.index] = registration
    this.#changes.partitions.add(registration.index)
  }

  #putPartition(record: PartitionRecord, offset: number): void {
    const topic = this.#topics.get(record.topicId)
    if (topic === undefined) throw unknown(offset, `topic id ${record.topicId}`)
    const index = topic.partitions.get(record.partitionId) ?? this.#nextIndex(record, offset)
    const registration = registrationOf(record, topic.name, index)
    topic.partitions.set(record.partitionId, index)
    this.#setPartition(registration)
  }

  /** A snapshot says which it is; else it is the next one. */
  #nextIndex({ partitionIndex: index }: PartitionRecord, offset: number): PartitionIndex {
    if (index === undefined) return partitionIndex(this.#partitions.length)
    if (this.#partitions[index] !== undefined) {
      throw new TidemarkError(
        'CORRUPT_MESSAGE',
        `metadata at offset ${offset}: index ${index} twice`,
      )
    }
    this.#reserveIndexes(index + 1, offset)
    return partitionIndex(index)
  }

  #reserveIndexes(end: number, offset: number): void {
    if (end < 0 || end > partitionIndexesMax) {
      throw new TidemarkError('CORRUPT_MESSAGE', `metadata at offset ${offset}: ${end} partitions`)
    }
    while (this.#partitions.length < end) this.#partitions.push(undefined)
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
    for (const index of topic.partitions.values()) {
      this.#partitions[index] = undefined
      this.#changes.partitions.add(index)
    }
    this.#topics.delete(topicId)
    this.#topicByName.delete(topic.name)
    this.#configs.removeTopic(topic.name)
  }

  /** Only Kafka writes it: here each partition gets a change of its own. */
  #clearEligible({ topicName }: ClearElrRecord, offset: number): void {
    if (topicName !== '' && !this.#topicByName.has(topicName)) {
      throw unknown(offset, `topic ${topicName}`)
    }
    for (const registration of this.#existing()) {
      const { topic, topicId, partition, eligibleLeaderReplicas, lastKnownLeader } = registration
      if (topicName !== '' && topic !== topicName) continue
      if (eligibleLeaderReplicas.length + lastKnownLeader.length === 0) continue
      const place = { type: 'partitionChange', topicId, partitionId: partition } as const
      const change = { ...place, eligibleLeaderReplicas: [], lastKnownElr: [] }
      this.#setPartition(mergePartitionChange(registration, change))
    }
  }

  #setNextProducerId(next: number, offset: number): void {
    // Kafka replays a snapshot's as well; one that goes back would give ids out twice.
    if (next < this.#nextProducerId || !Number.isSafeInteger(next)) {
      const detail = `metadata at offset ${offset}: producer ids go on at ${next}`
      throw new TidemarkError('CORRUPT_MESSAGE', `${detail}, expected ${this.#nextProducerId}`)
    }
    this.#nextProducerId = next
  }

  #setConfig(record: ConfigRecord): void {
    this.#configs.set(record)
    const { topics } = this.#changes
    if (record.resourceType === configResources.topic) topics.add(record.resourceName)
    else if (record.resourceName === '') {
      for (const name of this.#topicByName.keys()) topics.add(name)
    }
  }

  #existing(): PartitionRegistration[] {
    return this.#partitions.filter((registration) => registration !== undefined)
  }

  #takeChanges(): MetadataChanges {
    const changes = this.#changes
    this.#changes = noChanges()
    return changes
  }
}

/** More than any cluster may have: what a damaged record says isn't believed. */
const partitionIndexesMax = 100_000

function noChanges(): MetadataChanges {
  return { partitions: new Set(), topics: new Set() }
}

function unknown(offset: number, what: string): TidemarkError {
  return new TidemarkError('CORRUPT_MESSAGE', `metadata at offset ${offset}: ${what} is unknown`)
}
