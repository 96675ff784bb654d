/**
 * The layout of KRaft's metadata records, one table: kind → api key, highest version, fields in
 * order (Kafka 4.4: metadata/src/main/resources/common/metadata). Nobody else writes an api key
 * or a tag.
 *
 * A record value is
 *
 *     frame version (varint, 1) · api key (varint) · version (varint) · fields · tagged fields
 *
 * where a field with a `tag` stands among the tagged ones (count, then tag, size, value each) and
 * only if it isn't its default.
 */
import type { FieldCodecKind } from './field-codecs.ts'
import type { KnownMetadataRecord } from './metadata-records.ts'

export const frameVersion = 1

/** Of fields that Kafka doesn't know: its readers skip tags that a later version may have added. */
const ownTag = 10_000

/** `structs`: an array of messages with fields of their own. */
export type FieldKind = FieldCodecKind | 'structs'

export interface FieldSchema {
  readonly name: string
  readonly kind: FieldKind
  /** First version that has the field. */
  readonly since: number
  readonly tag?: number
  /** Present: the decoded record omits the field when it has this value. */
  readonly absentAs?: number | boolean | null | 'empty'
  /** Fields of each element of `structs`. */
  readonly fields?: readonly FieldSchema[]
}

export interface RecordSchema {
  readonly kafkaName: string
  readonly apiKey: number
  readonly versionMax: number
  readonly fields: readonly FieldSchema[]
}

type Kind = KnownMetadataRecord['type']
type FieldOf<K extends Kind> = Exclude<keyof Extract<KnownMetadataRecord, { type: K }>, 'type'>
type Details = Omit<Partial<FieldSchema>, 'name' | 'kind'>

function field(name: string, kind: FieldKind, details: Details = {}): FieldSchema {
  return { name, kind, since: 0, ...details }
}

/**
 * A schema whose fields are all those of the record, by name; order and layout stand in the call.
 */
function schema<K extends Kind>(
  kafkaName: string,
  apiKey: number,
  versionMax: number,
  fields: Record<FieldOf<K>, readonly [FieldKind, Details?]>,
): RecordSchema {
  const entries = Object.entries(fields) as [string, readonly [FieldKind, Details?]][]
  return {
    kafkaName,
    apiKey,
    versionMax,
    fields: entries.map(([name, [kind, details]]) => field(name, kind, details)),
  }
}

const endPointFields = [
  field('name', 'string'),
  field('host', 'string'),
  field('port', 'uint16'),
  field('securityProtocol', 'int16'),
]

const featureFields = [
  field('name', 'string'),
  field('minSupportedVersion', 'int16'),
  field('maxSupportedVersion', 'int16'),
]

export const recordSchemas: { readonly [K in Kind]: RecordSchema } = {
  registerBroker: schema<'registerBroker'>('RegisterBrokerRecord', 0, 4, {
    brokerId: ['int32'],
    isMigratingZkBroker: ['bool', { since: 2, absentAs: false }],
    incarnationId: ['uuid'],
    brokerEpoch: ['int64'],
    endPoints: ['structs', { absentAs: 'empty', fields: endPointFields }],
    features: ['structs', { absentAs: 'empty', fields: featureFields }],
    rack: ['nullableString', { absentAs: null }],
    fenced: ['bool'],
    inControlledShutdown: ['bool', { since: 1, absentAs: false }],
    logDirs: ['uuids', { since: 3, tag: 0, absentAs: 'empty' }],
    cordonedLogDirs: ['nullableUuids', { since: 4, tag: 1, absentAs: null }],
  }),
  unregisterBroker: schema<'unregisterBroker'>('UnregisterBrokerRecord', 1, 0, {
    brokerId: ['int32'],
    brokerEpoch: ['int64'],
  }),
  topic: schema<'topic'>('TopicRecord', 2, 0, {
    name: ['string'],
    topicId: ['uuid'],
  }),
  partition: schema<'partition'>('PartitionRecord', 3, 2, {
    partitionId: ['int32'],
    topicId: ['uuid'],
    replicas: ['int32s'],
    isr: ['int32s'],
    removingReplicas: ['int32s'],
    addingReplicas: ['int32s'],
    leader: ['int32'],
    leaderRecoveryState: ['int8', { tag: 0, absentAs: 0 }],
    leaderEpoch: ['int32'],
    partitionEpoch: ['int32'],
    directories: ['uuids', { since: 1, absentAs: 'empty' }],
    eligibleLeaderReplicas: ['nullableInt32s', { since: 2, tag: 1, absentAs: null }],
    lastKnownElr: ['nullableInt32s', { since: 2, tag: 2, absentAs: null }],
    partitionIndex: ['int32', { tag: ownTag, absentAs: -1 }],
  }),
  partitionChange: schema<'partitionChange'>('PartitionChangeRecord', 5, 2, {
    partitionId: ['int32'],
    topicId: ['uuid'],
    isr: ['nullableInt32s', { tag: 0, absentAs: null }],
    leader: ['int32', { tag: 1, absentAs: -2 }],
    replicas: ['nullableInt32s', { tag: 2, absentAs: null }],
    removingReplicas: ['nullableInt32s', { tag: 3, absentAs: null }],
    addingReplicas: ['nullableInt32s', { tag: 4, absentAs: null }],
    leaderRecoveryState: ['int8', { tag: 5, absentAs: -1 }],
    eligibleLeaderReplicas: ['nullableInt32s', { since: 2, tag: 6, absentAs: null }],
    lastKnownElr: ['nullableInt32s', { since: 2, tag: 7, absentAs: null }],
    directories: ['nullableUuids', { since: 1, tag: 8, absentAs: null }],
  }),
  config: schema<'config'>('ConfigRecord', 4, 0, {
    resourceType: ['int8'],
    resourceName: ['string'],
    name: ['string'],
    value: ['nullableString'],
  }),
  fenceBroker: schema<'fenceBroker'>('FenceBrokerRecord', 7, 0, {
    id: ['int32'],
    epoch: ['int64'],
  }),
  unfenceBroker: schema<'unfenceBroker'>('UnfenceBrokerRecord', 8, 0, {
    id: ['int32'],
    epoch: ['int64'],
  }),
  removeTopic: schema<'removeTopic'>('RemoveTopicRecord', 9, 0, {
    topicId: ['uuid'],
  }),
  featureLevel: schema<'featureLevel'>('FeatureLevelRecord', 12, 0, {
    name: ['string'],
    featureLevel: ['int16'],
  }),
  producerIds: schema<'producerIds'>('ProducerIdsRecord', 15, 0, {
    brokerId: ['int32'],
    brokerEpoch: ['int64'],
    nextProducerId: ['int64'],
  }),
  brokerRegistrationChange: schema<'brokerRegistrationChange'>(
    'BrokerRegistrationChangeRecord',
    17,
    3,
    {
      brokerId: ['int32'],
      brokerEpoch: ['int64'],
      fenced: ['int8', { tag: 0, absentAs: 0 }],
      inControlledShutdown: ['int8', { since: 1, tag: 1, absentAs: 0 }],
      logDirs: ['uuids', { since: 2, tag: 2, absentAs: 'empty' }],
      cordonedLogDirs: ['nullableUuids', { since: 3, tag: 3, absentAs: null }],
    },
  ),
  noOp: schema<'noOp'>('NoOpRecord', 20, 0, {
    partitionIndexesEnd: ['int32', { tag: ownTag, absentAs: 0 }],
  }),
  clearElr: schema<'clearElr'>('ClearElrRecord', 28, 0, { topicName: ['string'] }),
  beginTransaction: schema<'beginTransaction'>('BeginTransactionRecord', 23, 0, {
    name: ['nullableString', { tag: 0, absentAs: null }],
  }),
  endTransaction: schema<'endTransaction'>('EndTransactionRecord', 24, 0, {}),
  abortTransaction: schema<'abortTransaction'>('AbortTransactionRecord', 25, 0, {
    reason: ['nullableString', { tag: 0, absentAs: null }],
  }),
}

/** Kinds of Kafka's that are carried as they are: api key → name. */
export const opaqueRecordNames: ReadonlyMap<number, string> = new Map([
  [10, 'DelegationTokenRecord'],
  [11, 'UserScramCredentialRecord'],
  [14, 'ClientQuotaRecord'],
  [18, 'AccessControlEntryRecord'],
  [19, 'RemoveAccessControlEntryRecord'],
  [21, 'ZkMigrationStateRecord'],
  [22, 'RemoveUserScramCredentialRecord'],
  [26, 'RemoveDelegationTokenRecord'],
  [27, 'RegisterControllerRecord'],
  [29, 'UnregisterControllerRecord'],
])
