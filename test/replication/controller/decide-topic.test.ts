import { describe, expect, it } from 'vitest'
import { ControllerHarness, topicIdOf } from './controller-harness.ts'

describe('creating a topic', () => {
  it('ISR: the active brokers in order of the replicas; the first leads; epochs 0', () => {
    const harness = new ControllerHarness().start(1, 2, 3)
    harness.silence(2)
    const response = harness.createTopic('t', [
      [2, 3, 1],
      [1, 2, 3],
    ])
    expect(response).toMatchObject({ error: 'NONE', detail: '', topicId: topicIdOf(1) })
    expect(harness.partition(0)).toEqual({
      index: 0,
      topicId: topicIdOf(1),
      topic: 't',
      partition: 0,
      replicas: [2, 3, 1],
      inSyncReplicas: [3, 1],
      addingReplicas: [],
      removingReplicas: [],
      leader: 3,
      leaderRecoveryState: 'recovered',
      leaderEpoch: 0,
      partitionEpoch: 0,
      eligibleLeaderReplicas: [],
      lastKnownLeader: [],
    })
    expect(harness.state(1)).toMatchObject({ leader: 1, isr: [1, 3] })
  })

  it('indexes are dense, in order of creation, across topics', () => {
    const harness = new ControllerHarness().start(1)
    harness.createTopic('a', [[1], [1]])
    harness.createTopic('b', [[1]])
    expect([0, 1, 2].map((index) => harness.partition(index).topic)).toEqual(['a', 'a', 'b'])
    expect(harness.image.partitionIndexesEnd).toBe(3)
    expect(harness.image.topicNamed('b')?.partitions).toEqual(new Map([[0, 2]]))
    expect(harness.image.partitionOf(topicIdOf(1), 1)?.index).toBe(1)
  })

  it('its settings are in the image', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]], { 'min.insync.replicas': '2', 'segment.ms': '5000' })
    expect(harness.image.topicConfig('t', 'min.insync.replicas')).toBe('2')
    expect(harness.image.topicConfig('t', 'segment.ms')).toBe('5000')
    expect(harness.image.topicConfig('t', 'segment.bytes')).toBeUndefined()
  })

  it.each([
    ['', 'INVALID_TOPIC_EXCEPTION', /empty/],
    ['.', 'INVALID_TOPIC_EXCEPTION', /'\.' or/],
    ['..', 'INVALID_TOPIC_EXCEPTION', /or '\.\.'/],
    ['__cluster_metadata', 'INVALID_REQUEST', /__cluster_metadata/],
    ['x'.repeat(250), 'INVALID_TOPIC_EXCEPTION', /249/],
    ['a b', 'INVALID_TOPIC_EXCEPTION', /'a b'.*letters/],
    ['ä', 'INVALID_TOPIC_EXCEPTION', /letters/],
    ['a/b', 'INVALID_TOPIC_EXCEPTION', /letters/],
    ['here.it_is', 'TOPIC_ALREADY_EXISTS', /here\.it_is/],
    ['here_it.is', 'INVALID_TOPIC_EXCEPTION', /collides with 'here\.it_is'/],
  ])("topic '%s' is refused: %s", (topic, error, detail) => {
    const harness = new ControllerHarness().start(1)
    harness.createTopic('here.it_is', [[1]])
    const { endOffset } = harness.log
    const response = harness.createTopic(topic, [[1]])
    expect(response).toMatchObject({ error, topicId: '' })
    expect(response.detail).toMatch(detail)
    expect(harness.log.endOffset).toBe(endOffset)
  })

  it.each<[string, number[][], string, RegExp]>([
    ['no partitions', [], 'INVALID_PARTITIONS', /0 partitions; allowed are 1 to 3/],
    ['more than there is room for', [[1], [1], [1], [1]], 'INVALID_PARTITIONS', /4 partitions/],
    ['a partition without replica', [[1], []], 'INVALID_REPLICA_ASSIGNMENT', /partition 1/],
    ['unequal factors', [[1], [1, 2]], 'INVALID_REPLICA_ASSIGNMENT', /partition 1.*1 replicas/],
    ['a broker twice', [[1, 1]], 'INVALID_REPLICA_ASSIGNMENT', /\[1,1\].*twice/],
    ['an unknown broker', [[1, 9]], 'INVALID_REPLICA_ASSIGNMENT', /broker 9/],
    ['only fenced brokers', [[3]], 'INVALID_REPLICA_ASSIGNMENT', /no broker is active/],
    [
      'too many replicas',
      [[1, 2, 3, 4, 5, 6, 7, 8, 9]],
      'INVALID_REPLICATION_FACTOR',
      /factor 9; at most 8/,
    ],
  ])('%s is refused', (_, assignments, error, detail) => {
    const harness = new ControllerHarness(undefined, 3).start(1, 2)
    harness.register(3)
    const { endOffset } = harness.log
    const response = harness.createTopic('t', assignments)
    expect(response.error).toBe(error)
    expect(response.detail).toMatch(detail)
    expect(harness.log.endOffset).toBe(endOffset)
  })

  it.each([
    ['unclean.leader.election.enable', 'yes'],
    ['min.insync.replicas', '0'],
    ['min.insync.replicas', '1.5'],
  ])('%s = %s is refused', (name, value) => {
    const harness = new ControllerHarness().start(1)
    const response = harness.createTopic('t', [[1]], { [name]: value })
    expect(response.error).toBe('INVALID_CONFIG')
    expect(response.detail).toContain(name)
    expect(response.detail).toContain(value)
  })
})
