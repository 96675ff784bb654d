import { beforeEach, describe, expect, it } from 'vitest'
import type { BrokerId } from '../../../src/ids.ts'
import { ControllerHarness, contentsOf } from './controller-harness.ts'
import { MemoryMetadataLog } from './memory-metadata-log.ts'

let harness: ControllerHarness

beforeEach(() => {
  harness = new ControllerHarness(new MemoryMetadataLog(), 5).start(1, 2, 3)
  harness.createTopic('t', [[1, 2]])
  harness.createTopic('u', [[3]])
})

function grow(topic: string, count: number, ...assignments: number[][]): string {
  return harness.administer({
    type: 'createPartitions',
    topic,
    count,
    assignments: assignments as unknown as readonly (readonly BrokerId[])[],
  }).error
}

describe('more partitions', () => {
  it('are numbered on, and get the next indexes of the cluster', () => {
    expect(grow('t', 3, [2, 3], [3, 1])).toBe('NONE')
    const partitions = [0, 2, 3].map((index) => harness.partition(index))
    expect(partitions.map(({ topic, partition }) => [topic, partition])).toEqual([
      ['t', 0],
      ['t', 1],
      ['t', 2],
    ])
    expect(harness.state(2)).toEqual({ leader: 2, isr: [2, 3], leaderEpoch: 0, partitionEpoch: 0 })
    expect(harness.state(3)).toMatchObject({ leader: 3, isr: [3, 1] })
  })

  it.each([
    ['an unknown topic', 'v', 2, [[1, 2]], 'UNKNOWN_TOPIC_OR_PARTITION'],
    ['as many as there are', 't', 1, [], 'INVALID_PARTITIONS'],
    ['fewer', 't', 0, [], 'INVALID_PARTITIONS'],
    ['half of one', 't', 1.5, [[1, 2]], 'INVALID_PARTITIONS'],
    ['more than there is room for', 't', 5, Array(4).fill([1, 2]), 'INVALID_PARTITIONS'],
    ['too few assignments', 't', 3, [[1, 2]], 'INVALID_REPLICA_ASSIGNMENT'],
    [
      'too many assignments',
      't',
      2,
      [
        [1, 2],
        [2, 3],
      ],
      'INVALID_REPLICA_ASSIGNMENT',
    ],
    ['another factor', 't', 2, [[1, 2, 3]], 'INVALID_REPLICA_ASSIGNMENT'],
    ['a broker twice', 't', 2, [[1, 1]], 'INVALID_REPLICA_ASSIGNMENT'],
    ['a broker that never was', 't', 2, [[1, 4]], 'INVALID_REPLICA_ASSIGNMENT'],
  ])('refuses %s, and leaves all as it was', (_, topic, count, assignments, error) => {
    const before = contentsOf(harness.image)
    expect(grow(topic, count, ...assignments)).toBe(error)
    expect(contentsOf(harness.image)).toEqual(before)
  })

  it('the last for which there is room', () => {
    expect(grow('t', 4, ...Array(3).fill([1, 2]))).toBe('NONE')
    expect(grow('t', 5, [1, 2])).toBe('INVALID_PARTITIONS')
  })
})

describe('the end of a topic', () => {
  it('takes partitions and settings with it; nothing more can be asked of it', () => {
    harness.configure('t', { 'retention.ms': '5' })
    const proposal = harness.item(0, [1])
    expect(harness.administer({ type: 'deleteTopic', topic: 't' }).error).toBe('NONE')
    expect(harness.partition(0)).toBeUndefined()
    expect(harness.image.topicNamed('t')).toBeUndefined()
    const gone = 'UNKNOWN_TOPIC_OR_PARTITION'
    expect(harness.administer({ type: 'deleteTopic', topic: 't' }).error).toBe(gone)
    expect(grow('t', 2, [1, 2])).toBe(gone)
    expect(harness.configure('t', { 'retention.ms': '6' })).toBe(gone)
    expect(harness.reassign('t', 0, [3])).toBe(gone)
    expect(harness.elect('preferred', ['t', 0])).toEqual([gone])
    expect(harness.propose(1, [proposal]).items[0]!.error).toBe('UNKNOWN_TOPIC_ID')
  })

  it('leaves its name for another, which has none of its settings', () => {
    const { topicId } = harness.image.topicNamed('t')!
    harness.configure('t', { 'retention.ms': '5' })
    harness.administer({ type: 'deleteTopic', topic: 't' })
    expect(harness.createTopic('t', [[2, 3]]).error).toBe('NONE')
    expect(harness.image.topicNamed('t')!.topicId).not.toBe(topicId)
    expect([...harness.image.config(2, 't')]).toEqual([])
    const live = contentsOf(harness.image)
    harness.restart()
    expect(contentsOf(harness.image)).toEqual(live)
  })
})
