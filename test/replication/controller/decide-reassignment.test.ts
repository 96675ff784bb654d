import { describe, expect, it } from 'vitest'
import { listReassignments } from '../../../src/replication/controller/decide-reassignment.ts'
import { ControllerHarness } from './controller-harness.ts'

function moving(target: readonly number[], replicas = [1, 2, 3]): ControllerHarness {
  const harness = new ControllerHarness().start(1, 2, 3, 4, 5)
  harness.createTopic('t', [replicas])
  expect(harness.reassign('t', 0, target)).toBe('NONE')
  return harness
}

function assignmentOf(harness: ControllerHarness) {
  const { replicas, addingReplicas: adding, removingReplicas: removing } = harness.partition(0)
  return { replicas, adding, removing }
}

describe('63. ReassignPartitions', () => {
  it('the target first, then those that go; replicas that are only added cost no leader epoch', () => {
    const harness = moving([4, 2, 3])
    expect(assignmentOf(harness)).toEqual({ replicas: [4, 2, 3, 1], adding: [4], removing: [1] })
    expect(harness.state(0)).toEqual({
      leader: 1,
      isr: [1, 2, 3],
      leaderEpoch: 0,
      partitionEpoch: 1,
    })
    expect(listReassignments(harness.image)).toEqual([harness.partition(0)])
  })

  it('the expand that completes it and drops the leader: written, and NEW_LEADER_ELECTED', () => {
    const harness = moving([4, 2, 3])
    const result = harness.proposeOne(0, [1, 2, 3, 4])
    expect(result).toMatchObject({
      error: 'NEW_LEADER_ELECTED',
      leader: 4,
      leaderEpoch: 1,
      partitionEpoch: 2,
      inSyncReplicas: [2, 3, 4],
    })
    expect(assignmentOf(harness)).toEqual({ replicas: [4, 2, 3], adding: [], removing: [] })
    expect(listReassignments(harness.image)).toEqual([])
  })

  it('waits for all that stay', () => {
    const harness = moving([4, 2, 3])
    expect(harness.proposeOne(0, [1, 2, 4]).error).toBe('NONE')
    expect(assignmentOf(harness).removing).toEqual([1])
    expect(harness.proposeOne(0, [1, 2, 3, 4]).error).toBe('NEW_LEADER_ELECTED')
  })

  it('with nothing to add and the rest in sync it is done at once; the leader epoch rises', () => {
    const harness = moving([2, 1])
    expect(assignmentOf(harness)).toEqual({ replicas: [2, 1], adding: [], removing: [] })
    expect(harness.state(0)).toEqual({ leader: 1, isr: [1, 2], leaderEpoch: 1, partitionEpoch: 1 })
  })

  it('a mere reorder changes who is preferred, and nobody’s leadership', () => {
    const harness = moving([3, 2, 1])
    expect(assignmentOf(harness)).toEqual({ replicas: [3, 2, 1], adding: [], removing: [] })
    expect(harness.state(0)).toMatchObject({ leader: 1, leaderEpoch: 0, partitionEpoch: 1 })
  })

  it('to what it is: no record', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    const { endOffset } = harness.log
    expect(harness.reassign('t', 0, [1, 2])).toBe('NONE')
    expect(harness.log.endOffset).toBe(endOffset)
  })

  it('another target while it runs: what was to go and is wanted again stays', () => {
    const harness = moving([4, 2, 3])
    expect(harness.reassign('t', 0, [1, 2, 3, 5])).toBe('NONE')
    expect(assignmentOf(harness)).toEqual({
      replicas: [1, 2, 3, 5, 4],
      adding: [5, 4],
      removing: [4],
    })
    expect(harness.proposeOne(0, [1, 2, 3, 5]).error).toBe('NONE')
    expect(assignmentOf(harness)).toEqual({ replicas: [1, 2, 3, 5], adding: [], removing: [] })
  })

  it('a larger and a smaller replication factor', () => {
    const harness = moving([1, 2, 3, 4])
    harness.proposeOne(0, [1, 2, 3, 4])
    expect(assignmentOf(harness)).toEqual({ replicas: [1, 2, 3, 4], adding: [], removing: [] })
    expect(harness.reassign('t', 0, [4])).toBe('NONE')
    expect(assignmentOf(harness)).toEqual({ replicas: [4], adding: [], removing: [] })
    expect(harness.state(0)).toMatchObject({ leader: 4, isr: [4], leaderEpoch: 1 })
  })

  it('an eligible leader that is removed is eligible no more', () => {
    const harness = new ControllerHarness().start(1, 2, 3)
    harness.createTopic('t', [[1, 2, 3]], { 'min.insync.replicas': '3' })
    harness.silence(3)
    expect(harness.eligible(0)).toMatchObject({ isr: [1, 2], elr: [3] })
    harness.reassign('t', 0, [1, 2])
    expect(harness.eligible(0)).toMatchObject({ isr: [1, 2], elr: [] })
  })
})

describe('64. CancelReassignPartitions', () => {
  it('replicas and in-sync replicas are as before', () => {
    const harness = moving([4, 5])
    harness.proposeOne(0, [1, 2, 3, 4])
    expect(harness.reassign('t', 0, null)).toBe('NONE')
    const { replicas, adding, removing } = assignmentOf(harness)
    expect([...replicas].sort()).toEqual([1, 2, 3])
    expect([adding, removing]).toEqual([[], []])
    // A replica left, so the leader epoch rises though the leader stays.
    expect(harness.state(0)).toMatchObject({ leader: 1, isr: [1, 2, 3], leaderEpoch: 1 })
  })

  it('also after the target was changed on the way', () => {
    const harness = moving([4, 2, 3])
    harness.reassign('t', 0, [5, 2])
    expect(harness.reassign('t', 0, null)).toBe('NONE')
    expect([...assignmentOf(harness).replicas].sort()).toEqual([1, 2, 3])
  })

  it('none is running: NO_REASSIGNMENT_IN_PROGRESS', () => {
    const harness = new ControllerHarness().start(1)
    harness.createTopic('t', [[1]])
    expect(harness.reassign('t', 0, null)).toBe('NO_REASSIGNMENT_IN_PROGRESS')
  })

  it('a leader that was only being added gives the leadership back', () => {
    const harness = moving([4, 5, 2])
    harness.proposeOne(0, [1, 2, 3, 4])
    harness.silence(1)
    expect(harness.state(0)).toMatchObject({ leader: 4, isr: [2, 3, 4] })
    harness.reassign('t', 0, null)
    expect(harness.state(0)).toMatchObject({ leader: 2, isr: [2, 3], leaderEpoch: 2 })
  })

  describe('none of those that would stay is in sync', () => {
    function stranded(configs: Readonly<Record<string, string>>): ControllerHarness {
      const harness = new ControllerHarness().start(1, 2, 3)
      harness.createTopic('t', [[1, 2]], configs)
      harness.reassign('t', 0, [3])
      harness.proposeOne(0, [1, 2])
      // 3 joins and leads alone, the two others were lost to it.
      harness.log.append([
        {
          type: 'partitionChange',
          topicId: harness.partition(0).topicId,
          partitionId: 0,
          isr: [harness.image.broker(3 as never)!.brokerId],
          leader: harness.image.broker(3 as never)!.brokerId,
        },
      ])
      harness.restart()
      return harness
    }

    it('INVALID_REPLICA_ASSIGNMENT, and nothing changed', () => {
      const harness = stranded({})
      const before = harness.partition(0)
      expect(harness.reassign('t', 0, null)).toBe('INVALID_REPLICA_ASSIGNMENT')
      expect(harness.partition(0)).toBe(before)
    })

    it('with unclean elections the first of them leads, recovering', () => {
      const harness = stranded({ 'unclean.leader.election.enable': 'true' })
      expect(harness.reassign('t', 0, null)).toBe('NONE')
      expect(harness.state(0)).toMatchObject({ leader: 1, isr: [1] })
      expect(harness.partition(0).leaderRecoveryState).toBe('recovering')
    })
  })
})

describe('bad input: its error, and nothing changed', () => {
  it.each([
    ['an unknown partition', 1, [1, 2], 'UNKNOWN_TOPIC_OR_PARTITION'],
    ['an unknown broker', 0, [1, 9], 'INVALID_REPLICA_ASSIGNMENT'],
    ['a broker twice', 0, [1, 1], 'INVALID_REPLICA_ASSIGNMENT'],
    ['nobody', 0, [], 'INVALID_REPLICA_ASSIGNMENT'],
    ['too many', 0, [1, 2, 3, 4, 5, 6, 7, 8, 9], 'INVALID_REPLICATION_FACTOR'],
  ])('%s', (_, partition, replicas, error) => {
    const harness = new ControllerHarness().start(1, 2, 3)
    harness.createTopic('t', [[1, 2]])
    const { endOffset } = harness.log
    expect(harness.reassign('t', partition, replicas)).toBe(error)
    expect(harness.log.endOffset).toBe(endOffset)
  })

  it('more replicas on the way than a partition may have', () => {
    const harness = new ControllerHarness().start(1, 2, 3, 4, 5, 6, 7, 8, 9)
    harness.createTopic('t', [[1, 2, 3, 4, 5]])
    expect(harness.reassign('t', 0, [6, 7, 8, 9])).toBe('INVALID_REPLICATION_FACTOR')
    expect(harness.reassign('t', 0, [6, 7, 8])).toBe('NONE')
  })

  it('a partition twice in one request: only the first counts', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1]])
    const named = { topic: 't', partition: 0 }
    const one = harness.image.broker(1 as never)!.brokerId
    const two = harness.image.broker(2 as never)!.brokerId
    const { results } = harness.administer({
      type: 'alterReassignments',
      partitions: [
        { ...named, replicas: [one, two] },
        { ...named, replicas: [two] },
      ],
    })
    expect(results.map(({ error }) => error)).toEqual(['NONE', 'INVALID_REQUEST'])
    expect(harness.partition(0).addingReplicas).toEqual([2])
  })
})
