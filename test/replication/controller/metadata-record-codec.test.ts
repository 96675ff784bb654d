import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../../src/errors.ts'
import type { BrokerId } from '../../../src/ids.ts'
import { CompactWriter } from '../../../src/replication/controller/compact-writer.ts'
import {
  decodeMetadataRecord,
  encodeMetadataRecord,
  kafkaNameOf,
} from '../../../src/replication/controller/metadata-record-codec.ts'
import type { MetadataRecord } from '../../../src/replication/controller/metadata-records.ts'

const topicId = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex').toString('base64url')
const otherId = Buffer.from('f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff', 'hex').toString('base64url')

function bytesOf(record: MetadataRecord): Uint8Array {
  const writer = new CompactWriter()
  encodeMetadataRecord(record, writer)
  return writer.written().slice()
}

function hexOf(record: MetadataRecord): string {
  return Buffer.from(bytesOf(record)).toString('hex')
}

function decodeHex(hex: string): MetadataRecord {
  return decodeMetadataRecord(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
}

function ids(...values: number[]): readonly BrokerId[] {
  return values as BrokerId[]
}

/** Each as Kafka lays it out: frame version 1, api key, version, fields, tagged fields. */
const golden: readonly [string, MetadataRecord, string][] = [
  ['topic', { type: 'topic', name: 'ab', topicId }, `01 02 00  03 6162 ${hexUuid(topicId)} 00`],
  [
    'partition, lowest version',
    partitionRecord(),
    `01 03 00  00000007 ${hexUuid(topicId)} 03 00000001 00000002 02 00000001 01 01 00000001
     00000005 00000009 00`,
  ],
  [
    'partition with directories, recovering',
    { ...partitionRecord(), directories: [otherId], leaderRecoveryState: 1 },
    `01 03 01  00000007 ${hexUuid(topicId)} 03 00000001 00000002 02 00000001 01 01 00000001
     00000005 00000009 02 ${hexUuid(otherId)} 01 00 01 01`,
  ],
  [
    'partitionChange: ISR only',
    { type: 'partitionChange', partitionId: 1, topicId, isr: ids(3, 1) },
    `01 05 00  00000001 ${hexUuid(topicId)} 01  00 09 03 00000003 00000001`,
  ],
  [
    'partitionChange: leader lost',
    { type: 'partitionChange', partitionId: 1, topicId, leader: -1 as BrokerId },
    `01 05 00  00000001 ${hexUuid(topicId)} 01  01 04 ffffffff`,
  ],
  [
    'partitionChange: everything',
    {
      type: 'partitionChange',
      partitionId: 1,
      topicId,
      isr: ids(3),
      leader: 3 as BrokerId,
      replicas: ids(3),
      removingReplicas: ids(),
      addingReplicas: ids(),
      leaderRecoveryState: 1,
      eligibleLeaderReplicas: ids(2),
      lastKnownElr: ids(),
      directories: [otherId],
    },
    `01 05 02  00000001 ${hexUuid(topicId)} 09  00 05 02 00000003  01 04 00000003
     02 05 02 00000003  03 01 01  04 01 01  05 01 01  06 05 02 00000002  07 01 01
     08 11 02 ${hexUuid(otherId)}`,
  ],
  [
    'registerBroker',
    registration(),
    `01 00 00  00000002 ${hexUuid(topicId)} 0000000100000002 01 01 00 01 00`,
  ],
  [
    'registerBroker with all fields',
    {
      ...registration(),
      inControlledShutdown: true,
      isMigratingZkBroker: true,
      endPoints: [{ name: 'E', host: 'h', port: 65_535, securityProtocol: -1 }],
      features: [{ name: 'f', minSupportedVersion: 1, maxSupportedVersion: 2 }],
      rack: 'r',
      logDirs: [otherId],
      cordonedLogDirs: [],
    },
    `01 00 04  00000002 01 ${hexUuid(topicId)} 0000000100000002
     02 02 45 02 68 ffff ffff 00  02 02 66 0001 0002 00  02 72 01 01
     02  00 11 02 ${hexUuid(otherId)}  01 01 01`,
  ],
  [
    'brokerRegistrationChange: unfence',
    { type: 'brokerRegistrationChange', brokerId: 2 as BrokerId, brokerEpoch: 11, fenced: -1 },
    '01 11 00  00000002 000000000000000b 01 00 01 ff',
  ],
  [
    'brokerRegistrationChange: shutdown',
    {
      type: 'brokerRegistrationChange',
      brokerId: 2 as BrokerId,
      brokerEpoch: 11,
      inControlledShutdown: 1,
    },
    '01 11 01  00000002 000000000000000b 01 01 01 01',
  ],
  [
    'config, removed',
    { type: 'config', resourceType: 2, resourceName: 't', name: 'n', value: null },
    '01 04 00  02 02 74 02 6e 00 00',
  ],
  [
    'featureLevel',
    { type: 'featureLevel', name: 'metadata.version', featureLevel: 14 },
    '01 0c 00  11 6d657461646174612e76657273696f6e 000e 00',
  ],
  ['removeTopic', { type: 'removeTopic', topicId }, `01 09 00 ${hexUuid(topicId)} 00`],
  ['noOp', { type: 'noOp' }, '01 14 00 00'],
  ['beginTransaction', { type: 'beginTransaction', name: 'x' }, '01 17 00 01 00 02 02 78'],
  ['fenceBroker', fencing('fenceBroker'), '01 07 00 00000001 0000000000000003 00'],
  ['unfenceBroker', fencing('unfenceBroker'), '01 08 00 00000001 0000000000000003 00'],
]

function hexUuid(id: string): string {
  return Buffer.from(id, 'base64url').toString('hex')
}

function partitionRecord() {
  return {
    type: 'partition',
    partitionId: 7,
    topicId,
    replicas: ids(1, 2),
    isr: ids(1),
    removingReplicas: ids(),
    addingReplicas: ids(),
    leader: 1 as BrokerId,
    leaderEpoch: 5,
    partitionEpoch: 9,
  } as const
}

function registration() {
  return {
    type: 'registerBroker',
    brokerId: 2 as BrokerId,
    incarnationId: topicId,
    brokerEpoch: 2 ** 32 + 2,
    fenced: true,
  } as const
}

function fencing(type: 'fenceBroker' | 'unfenceBroker') {
  return { type, id: 1 as BrokerId, epoch: 3 } as const
}

describe('metadata records on disk', () => {
  it.each(golden)('%s has the bytes of the format', (_, record, hex) => {
    expect(hexOf(record)).toBe(hex.replaceAll(/\s/g, ''))
    expect(decodeMetadataRecord(bytesOf(record))).toStrictEqual(record)
  })

  it('what Kafka writes in higher versions with defaults reads as the same record', () => {
    const hex = `01 03 02  00000007 ${hexUuid(topicId)} 03 00000001 00000002 02 00000001 01 01
      00000001 00000005 00000009 01 02 01 01 01 02 01 01`.replaceAll(/\s/g, '')
    const record = decodeHex(hex)
    expect(record).toStrictEqual({
      ...partitionRecord(),
      eligibleLeaderReplicas: [],
      lastKnownElr: [],
    })
  })

  it('tagged fields of a later time are skipped', () => {
    expect(decodeHex('01 14 00 02 05 01 ff 63 02 0000')).toStrictEqual({ type: 'noOp' })
  })

  it('kinds of Kafka that mean nothing here are carried as they are', () => {
    const quota = decodeHex('01 0e 00 01 02 61 0000000000000000 00 00')
    expect(quota).toMatchObject({ type: 'opaque', apiKey: 14, version: 0 })
    expect(kafkaNameOf(quota)).toBe('ClientQuotaRecord')
    expect(hexOf(quota)).toBe('010e0001026100000000000000000000')
  })

  it('blocks of producer ids', () => {
    const hex = '010f000000000100000000000000020000000000000003' + '00'
    const producerIds = decodeHex(hex)
    const known = { type: 'producerIds', brokerId: 1, brokerEpoch: 2, nextProducerId: 3 }
    expect(producerIds).toEqual(known)
    expect(kafkaNameOf(producerIds)).toBe('ProducerIdsRecord')
    expect(hexOf(producerIds)).toBe(hex)
  })
})

describe('bytes that are no metadata record', () => {
  it.each([
    ['nothing', '', /frame version: 1 bytes/],
    ['frame version 0', '00 14 00 00', /frame version 0 is not 1/],
    ['a varint without end', '01 ff ff ff ff ff ff', /varint is longer/],
    ['a varint beyond 31 bits', '01 ff ff ff ff 0f', /beyond 2\^31/],
    ['a string longer than the rest', '01 0c 00 7f 61', /FeatureLevelRecord.name: 126 bytes/],
    ['a string that may not be null', '01 0c 00 00 0001 00', /name: null/],
    ['a string that is not UTF-8', '01 0c 00 02 ff 0001 00', /name: not UTF-8/],
    ['bytes after the end', '01 14 00 00 00', /NoOpRecord: 1 bytes too many/],
    ['tags out of order', '01 14 00 02 05 01 ff 05 00', /tag 5 after 5/],
    [
      'an array longer than the rest',
      `01 05 00 00000001 ${hexUuid(topicId)} 01 00 05 ff ff ff ff 07`,
      /isr: 2147483646 elements do not fit/,
    ],
    [
      'a tagged field smaller than its size',
      `01 05 00 00000001 ${hexUuid(topicId)} 01 05 02 01 01`,
      /leaderRecoveryState: 1 bytes too many/,
    ],
    [
      'a tagged field larger than its size',
      `01 05 00 00000001 ${hexUuid(topicId)} 01 01 03 00000001`,
      /leader: 4 bytes do not fit into 3/,
    ],
    ['an epoch beyond 2^53', '01 07 00 00000001 0020000000000000 00', /epoch: .* beyond 2\^53/],
  ])('%s', (_, hex, message) => {
    const error = catchError(() => decodeHex(hex))
    expect(isTidemarkError(error, 'CORRUPT_MESSAGE')).toBe(true)
    expect((error as Error).message).toMatch(message)
  })

  it.each([
    ['frame version 2', '02 14 00 00', /frame version 2/],
    ['an api key nobody knows', '01 63 00 00', /api key 99 is unknown/],
    ['a version of the future', '01 14 01 00', /NoOpRecord: version 1 is above 0/],
  ])('of a newer version, %s: UNSUPPORTED_VERSION', (_, hex, message) => {
    const error = catchError(() => decodeHex(hex))
    expect(isTidemarkError(error, 'UNSUPPORTED_VERSION')).toBe(true)
    expect((error as Error).message).toMatch(message)
  })

  it('every cut of every record is refused', () => {
    for (const [, record] of golden) {
      const bytes = bytesOf(record)
      for (let length = 0; length < bytes.length; length++) {
        const error = catchError(() => decodeMetadataRecord(bytes.subarray(0, length)))
        expect(isTidemarkError(error, 'CORRUPT_MESSAGE')).toBe(true)
      }
    }
  })

  it('any bytes are a record or a typed error, and never more', () => {
    const seeds = fc.constantFrom(...golden.map(([, record]) => bytesOf(record)))
    const flips = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 })
    fc.assert(
      fc.property(seeds, flips, (seed, changes) => {
        const bytes = seed.slice()
        for (const [place, value] of changes) bytes[place % bytes.length] = value
        try {
          const record = decodeMetadataRecord(bytes)
          expect(decodeMetadataRecord(bytesOf(record))).toStrictEqual(record)
        } catch (error) {
          const isNewer = isTidemarkError(error, 'UNSUPPORTED_VERSION')
          if (!isNewer && !isTidemarkError(error, 'CORRUPT_MESSAGE')) throw error
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('round trip', () => {
  it('of any partition change', () => {
    const brokers = fc.array(fc.integer({ min: -1, max: 2 ** 31 - 1 })) as fc.Arbitrary<BrokerId[]>
    const id = fc.uint8Array({ minLength: 16, maxLength: 16 }).map(base64url)
    const change = fc.record(
      {
        type: fc.constant('partitionChange' as const),
        partitionId: fc.nat(),
        topicId: id,
        isr: brokers,
        leader: fc.integer({ min: -1, max: 2 ** 31 - 1 }) as fc.Arbitrary<BrokerId>,
        replicas: brokers,
        leaderRecoveryState: fc.constantFrom(0, 1),
        directories: fc.array(id),
        eligibleLeaderReplicas: brokers,
      },
      { requiredKeys: ['type', 'partitionId', 'topicId'], noNullPrototype: true },
    )
    fc.assert(
      fc.property(change, (record) => {
        expect(decodeMetadataRecord(bytesOf(record))).toStrictEqual(record)
      }),
    )
  })

  it('of any name and any epoch', () => {
    const text = fc.string({ unit: 'binary' })
    fc.assert(
      fc.property(text, fc.maxSafeInteger(), (value, epoch) => {
        const config = {
          type: 'config',
          resourceType: 4,
          resourceName: value,
          name: value,
          value,
        } as const
        expect(decodeMetadataRecord(bytesOf(config))).toStrictEqual(config)
        const broker = { ...fencing('fenceBroker'), epoch }
        expect(decodeMetadataRecord(bytesOf(broker))).toStrictEqual(broker)
      }),
    )
  })
})

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}

function catchError(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}
