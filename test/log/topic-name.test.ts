import { describe, expect, it } from 'vitest'
import {
  checkTopicName,
  parsePartitionDirectoryName,
  partitionDirectoryName,
} from '../../src/log/topic-name.ts'

describe('topic names', () => {
  it.each(['a', 'A.b_c-9', '__cluster_metadata', '...', 'x'.repeat(249)])('%s is one', (topic) => {
    checkTopicName(topic)
    expect(parsePartitionDirectoryName(partitionDirectoryName({ topic, partition: 12 }))).toEqual({
      topic,
      partition: 12,
    })
  })

  it.each(['', '.', '..', 'a/b', '../x', 'a b', 'ä', 'a\0', 'x'.repeat(250)])(
    "'%s' is none",
    (topic) => {
      expect(() => checkTopicName(topic)).toThrow(
        expect.objectContaining({ code: 'INVALID_TOPIC_EXCEPTION' }),
      )
    },
  )

  it.each([
    't',
    't-',
    '-0',
    't-01',
    't-1x',
    't--1a',
    't-2147483648',
    't-0.0123456789abcdef0123456789abcdef-delete',
    't-0.0123456789abcdef0123456789abcdef-future',
  ])("'%s' is no partition's directory", (name) => {
    expect(parsePartitionDirectoryName(name)).toBeUndefined()
  })

  it('may contain what separates topic and partition', () => {
    expect(parsePartitionDirectoryName('a-1-2')).toEqual({ topic: 'a-1', partition: 2 })
    expect(parsePartitionDirectoryName('t-2147483647')?.partition).toBe(2 ** 31 - 1)
  })
})
