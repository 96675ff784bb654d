import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../../src/errors.ts'
import { brokerId, partitionIndex } from '../../../src/ids.ts'
import { InvariantViolation } from '../../../src/invariant.ts'
import { MetadataImage } from '../../../src/replication/controller/metadata-image.ts'
import type {
  MetadataRecord,
  PartitionChangeRecord,
  PartitionRecord,
} from '../../../src/replication/controller/metadata-records.ts'
import { contentsOf, topicIdOf } from './controller-harness.ts'

const one = brokerId(1)
const two = brokerId(2)

function partitionRecord(topicId: string, partitionId: number): PartitionRecord {
  return {
    type: 'partition',
    topicId,
    partitionId,
    replicas: [one, two],
    isr: [one, two],
    addingReplicas: [],
    removingReplicas: [],
    leader: one,
    leaderEpoch: 0,
    partitionEpoch: 0,
  }
}

const start: readonly MetadataRecord[] = [
  { type: 'topic', name: 't', topicId: topicIdOf(1) },
  partitionRecord(topicIdOf(1), 0),
  partitionRecord(topicIdOf(1), 1),
  {
    type: 'registerBroker',
    brokerId: one,
    brokerEpoch: 3,
    incarnationId: topicIdOf(9),
    fenced: true,
  },
]

function imageOf(records: readonly MetadataRecord[]): MetadataImage {
  const image = new MetadataImage()
  image.replayAll(0, records)
  return image
}

describe('metadata image', () => {
  it('tells which partitions an update touches', () => {
    const image = new MetadataImage()
    expect([...image.replayAll(0, start).partitions]).toEqual([0, 1])
    const change = { type: 'partitionChange', topicId: topicIdOf(1), partitionId: 1 } as const
    const { partitions } = image.replayAll(4, [change, change, { type: 'noOp' }])
    expect([...partitions]).toEqual([1])
    expect(image.endOffset).toBe(7)
  })

  it('every change: partition epoch + 1; leader epoch + 1 iff the leader is set', () => {
    const image = imageOf(start)
    const change = (fields: Partial<PartitionChangeRecord>) => {
      const { endOffset } = image
      const key = { type: 'partitionChange', topicId: topicIdOf(1), partitionId: 0 } as const
      image.replay({ ...key, ...fields }, endOffset)
      const { leaderEpoch, partitionEpoch } = image.partition(partitionIndex(0))!
      return [leaderEpoch, partitionEpoch]
    }
    expect(change({ isr: [one] })).toEqual([0, 1])
    expect(change({ leader: one })).toEqual([1, 2])
    expect(change({ leader: -1 as typeof one })).toEqual([2, 3])
    expect(change({ leaderRecoveryState: 1 })).toEqual([2, 4])
  })

  it('keeps the indexes of partitions whose topic is gone', () => {
    const image = imageOf([
      ...start,
      { type: 'config', resourceType: 2, resourceName: 't', name: 'retention.ms', value: '1' },
      { type: 'removeTopic', topicId: topicIdOf(1) },
      { type: 'topic', name: 't', topicId: topicIdOf(2) },
      partitionRecord(topicIdOf(2), 0),
    ])
    expect(image.partition(partitionIndex(0))).toBeUndefined()
    expect(image.partition(partitionIndex(2))).toMatchObject({ topicId: topicIdOf(2), index: 2 })
    expect(image.topicConfig('t', 'retention.ms')).toBeUndefined()
    expect(image.topic(topicIdOf(1))).toBeUndefined()
    const visited: number[] = []
    image.forEachPartition(({ index }) => visited.push(index))
    expect(visited).toEqual([2])
  })

  it("a topic's own setting stands before the default of the cluster; null removes it", () => {
    const name = 'unclean.leader.election.enable'
    const set = (resourceType: number, resourceName: string, value: string | null) =>
      ({ type: 'config', resourceType, resourceName, name, value }) as const
    const image = imageOf([...start, set(4, '', 'true'), set(2, 't', 'false')])
    expect(image.topicConfig('t', name)).toBe('false')
    expect(image.topicConfig('u', name)).toBe('true')
    image.replayAll(image.endOffset, [set(2, 't', null)])
    expect(image.topicConfig('t', name)).toBe('true')
    image.replayAll(image.endOffset, [set(4, '', null)])
    expect(image.topicConfig('t', name)).toBeUndefined()
  })

  it('reads the fencing records of older logs', () => {
    const image = imageOf([...start, { type: 'unfenceBroker', id: one, epoch: 3 }])
    expect(image.isActive(one)).toBe(true)
    expect(image.activeBrokers()).toEqual([1])
    image.replay({ type: 'fenceBroker', id: one, epoch: 3 }, image.endOffset)
    expect(image.isActive(one)).toBe(false)
    image.replay({ type: 'unregisterBroker', brokerId: one, brokerEpoch: 3 }, image.endOffset)
    expect(image.broker(one)).toBeUndefined()
  })

  it('in controlled shutdown: alive, not active', () => {
    const change = { type: 'brokerRegistrationChange', brokerId: one, brokerEpoch: 3 } as const
    const image = imageOf([
      ...start,
      { ...change, fenced: -1 },
      { ...change, inControlledShutdown: 1 },
    ])
    expect(image.isActive(one)).toBe(false)
    expect(image.aliveEpoch(one)).toBe(3)
  })

  it('takes no update with a gap, and none twice', () => {
    const image = imageOf(start)
    expect(() => image.replayAll(5, [{ type: 'noOp' }])).toThrow(InvariantViolation)
    expect(() => image.replayAll(3, [{ type: 'noOp' }])).toThrow(InvariantViolation)
  })

  it.each<[string, MetadataRecord, RegExp]>([
    ['a topic that exists', { type: 'topic', name: 't', topicId: topicIdOf(2) }, /topic t/],
    ['an id that exists', { type: 'topic', name: 'u', topicId: topicIdOf(1) }, /topic u/],
    ['a partition of no topic', partitionRecord(topicIdOf(2), 0), /topic id/],
    ['removal of no topic', { type: 'removeTopic', topicId: topicIdOf(2) }, /topic id/],
    [
      'a change of no partition',
      { type: 'partitionChange', topicId: topicIdOf(1), partitionId: 2 },
      /partition 2/,
    ],
    [
      'a recovery state that is none',
      { type: 'partitionChange', topicId: topicIdOf(1), partitionId: 0, leaderRecoveryState: 2 },
      /recovery state 2/,
    ],
    ['fencing of nobody', { type: 'fenceBroker', id: two, epoch: 3 }, /broker 2/],
    ['fencing of a former life', { type: 'fenceBroker', id: one, epoch: 2 }, /epoch 2/],
    [
      'a change of a former life',
      { type: 'brokerRegistrationChange', brokerId: one, brokerEpoch: 2, fenced: -1 },
      /epoch 2/,
    ],
  ])('%s is CORRUPT_MESSAGE and changes nothing', (_, record, message) => {
    const image = imageOf(start)
    const before = contentsOf(image)
    let caught: unknown
    try {
      image.replay(record, image.endOffset)
    } catch (error) {
      caught = error
    }
    expect(isTidemarkError(caught, 'CORRUPT_MESSAGE')).toBe(true)
    expect((caught as Error).message).toMatch(message)
    expect(contentsOf(image)).toEqual(before)
  })
})
