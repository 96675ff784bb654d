import { describe, expect, it } from 'vitest'
import { TopicIndexes } from '../../src/client/topic-indexes.ts'
import { type PartitionIndex, partitionIndex } from '../../src/ids.ts'

function topicOf(...indexes: number[]) {
  const partitions = new Map<number, PartitionIndex>()
  for (const [partition, index] of indexes.entries()) {
    partitions.set(partition, partitionIndex(index))
  }
  return { topicId: 'id', name: 't', partitions }
}

describe('indexes of a topic', () => {
  it('are in order of partitions, and none for a topic that does not exist', () => {
    const lists = new TopicIndexes()
    expect(lists.of(topicOf(5, 3, 4))).toEqual([5, 3, 4])
    expect(lists.of(undefined)).toBeUndefined()
  })

  it('are listed once, and again when partitions were added', () => {
    const lists = new TopicIndexes()
    const topic = topicOf(0, 1)
    const first = lists.of(topic)
    expect(lists.of(topic)).toBe(first)
    topic.partitions.set(2, partitionIndex(9))
    expect(lists.of(topic)).toEqual([0, 1, 9])
  })

  it('are those of the topic that has the name now', () => {
    const lists = new TopicIndexes()
    lists.of(topicOf(0, 1))
    expect(lists.of(topicOf(7, 8))).toEqual([7, 8])
  })
})
