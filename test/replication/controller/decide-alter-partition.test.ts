import { describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../../src/errors.ts'
import { type BrokerId, partitionIndex } from '../../../src/ids.ts'
import { proposalRejections } from '../../../src/replication/controller/decide-alter-partition.ts'
import type { AlterPartitionItem } from '../../../src/replication/messages.ts'
import { ControllerHarness, incarnation } from './controller-harness.ts'

const partition = 0

/**
 * A cluster whose partition 0 has leader 1, ISR {1, 2, 3}, replicas {1, 2, 3} and epochs above 0,
 * so that lower ones exist. Broker 4 is no replica.
 */
function cluster(): ControllerHarness {
  const harness = new ControllerHarness().start(1, 2, 3, 4)
  harness.createTopic('t', [[2, 1, 3]])
  harness.silence(2)
  harness.start(2)
  expect(harness.proposeOne(partition, [1, 3, 2]).error).toBe('NONE')
  expect(harness.state(partition)).toMatchObject({ leader: 1, leaderEpoch: 1, partitionEpoch: 2 })
  return harness
}

function without(
  item: AlterPartitionItem,
  change: (epochs: AlterPartitionItem) => Partial<AlterPartitionItem>,
): AlterPartitionItem {
  return { ...item, ...change(item) }
}

type Fault = (item: AlterPartitionItem) => Partial<AlterPartitionItem>

const member = (broker: number, epoch = -1) => ({
  brokerId: broker as BrokerId,
  brokerEpoch: epoch,
})

/** Every reason to refuse, in the order in which they are looked at; what makes each true. */
const reasons: readonly [string, ErrorCode, Fault][] = [
  ['leader epoch ahead', 'NOT_CONTROLLER', (i) => ({ leaderEpoch: i.leaderEpoch + 1 })],
  ['partition epoch ahead', 'NOT_CONTROLLER', (i) => ({ partitionEpoch: i.partitionEpoch + 1 })],
  ['leader epoch behind', 'FENCED_LEADER_EPOCH', (i) => ({ leaderEpoch: i.leaderEpoch - 1 })],
  ['sender is not the leader', 'INVALID_REQUEST', () => ({})],
  [
    'partition epoch behind',
    'INVALID_UPDATE_VERSION',
    (i) => ({ partitionEpoch: i.partitionEpoch - 1 }),
  ],
  [
    'a member that is no replica',
    'INVALID_REQUEST',
    () => ({ newInSyncReplicas: [member(1), member(4)] }),
  ],
  ['the leader is not in it', 'INVALID_REQUEST', () => ({ newInSyncReplicas: [member(2)] })],
  [
    'recovering with two members',
    'INVALID_REQUEST',
    () => ({
      leaderRecoveryState: 'recovering',
      newInSyncReplicas: [member(1), member(2)],
    }),
  ],
  [
    'from recovered to recovering',
    'INVALID_REQUEST',
    () => ({ leaderRecoveryState: 'recovering', newInSyncReplicas: [member(1)] }),
  ],
  [
    'a member of a former life',
    'INELIGIBLE_REPLICA',
    () => ({ newInSyncReplicas: [member(1), member(2, 1)] }),
  ],
]

const notLeader = 3

describe('60. the order of rejections', () => {
  it('has a case for each', () => {
    expect(reasons.map(([, error]) => error)).toEqual(proposalRejections.map(({ error }) => error))
  })

  it.each(reasons.map(([name, error, fault], place) => ({ name, error, fault, place })))(
    '$name alone: $error, and nothing changes',
    ({ error, fault, place }) => {
      const harness = cluster()
      const before = harness.state(partition)
      const { endOffset } = harness.log
      const item = without(harness.item(partition, [1, 2]), fault)
      const sender = place === notLeader ? 2 : 1
      const { items } = harness.propose(sender, [item])
      expect(items[0]).toMatchObject({ partition, error })
      expect(harness.state(partition)).toEqual(before)
      expect(harness.log.endOffset).toBe(endOffset)
      expect(harness.controller.takeEvents().at(-1)).toMatchObject({ kind: 'rejected', error })
    },
  )

  const pairs = reasons.flatMap(([first, error, firstFault], a) =>
    reasons.slice(a + 1).map(([second, , secondFault], distance) => ({
      name: `${first} + ${second}`,
      error,
      // The first one's fields stand last: where both need the same field only the first is there.
      fault: (item: AlterPartitionItem) => ({ ...secondFault(item), ...firstFault(item) }),
      sender: a === notLeader || a + 1 + distance === notLeader ? 2 : 1,
    })),
  )

  it.each(pairs)('$name: $error', ({ error, fault, sender }) => {
    const harness = cluster()
    const item = without(harness.item(partition, [1, 2]), fault)
    expect(harness.propose(sender, [item]).items[0].error).toBe(error)
  })

  it.each([
    ['a duplicate', [member(1), member(2), member(2)]],
    ['a negative id', [member(1), member(-1)]],
    ['empty', []],
  ])('%s is no ISR: INVALID_REQUEST', (_, newInSyncReplicas) => {
    const harness = cluster()
    expect(harness.proposeOne(partition, [], { newInSyncReplicas }).error).toBe('INVALID_REQUEST')
  })

  it.each([-1, 1, 2 ** 40])('partition %i is unknown: UNKNOWN_TOPIC_OR_PARTITION', (index) => {
    const harness = cluster()
    const item = { ...harness.item(partition, [1]), partition: partitionIndex(index) }
    expect(harness.propose(1, [item]).items).toEqual([
      {
        partition: index,
        error: 'UNKNOWN_TOPIC_OR_PARTITION',
        leader: -1,
        leaderEpoch: -1,
        partitionEpoch: -1,
        inSyncReplicas: [],
        leaderRecoveryState: 'recovered',
      },
    ])
  })

  it('a partition whose topic is gone: UNKNOWN_TOPIC_ID', () => {
    const harness = cluster()
    const item = harness.item(partition, [1])
    const { topicId } = harness.partition(partition)
    harness.log.append([{ type: 'removeTopic', topicId }])
    const restarted = new ControllerHarness(harness.log)
    const { items } = restarted.propose(1, [item])
    expect(items[0].error).toBe('UNKNOWN_TOPIC_ID')
  })
})

describe('accepted proposals', () => {
  it('59. ShrinkAndExpandIsr', () => {
    const harness = new ControllerHarness().start(1, 2, 3)
    harness.createTopic('t', [[1, 2, 3]])
    expect(harness.proposeOne(0, [1, 2])).toEqual({
      partition: 0,
      error: 'NONE',
      leader: 1,
      leaderEpoch: 0,
      partitionEpoch: 1,
      inSyncReplicas: [1, 2],
      leaderRecoveryState: 'recovered',
    })
    expect(harness.state(0)).toEqual({
      leader: 1,
      isr: [1, 2],
      leaderEpoch: 0,
      partitionEpoch: 1,
    })
    expect(harness.proposeOne(0, [1, 2, 3])).toMatchObject({
      error: 'NONE',
      leaderEpoch: 0,
      partitionEpoch: 2,
    })
    expect(harness.state(0)).toMatchObject({ isr: [1, 2, 3], partitionEpoch: 2 })
  })

  it('no difference: no record, the present state, the same epoch', () => {
    const harness = cluster()
    const { endOffset } = harness.log
    const { partitionEpoch } = harness.partition(partition)
    expect(harness.proposeOne(partition, [1, 3, 2])).toMatchObject({
      error: 'NONE',
      partitionEpoch,
    })
    expect(harness.log.endOffset).toBe(endOffset)
  })

  it('a proposal sent again after its answer was lost: INVALID_UPDATE_VERSION', () => {
    const harness = cluster()
    const item = harness.item(partition, [1, 2])
    expect(harness.propose(1, [item]).items[0].error).toBe('NONE')
    const after = harness.state(partition)
    expect(harness.propose(1, [item]).items[0].error).toBe('INVALID_UPDATE_VERSION')
    expect(harness.state(partition)).toEqual(after)
  })

  it('the same partition twice in a request: the second has an old epoch', () => {
    const harness = cluster()
    const first = harness.item(partition, [1, 2])
    const second = harness.item(partition, [1, 3])
    const { items } = harness.propose(1, [first, second])
    expect(items.map(({ error }) => error)).toEqual(['NONE', 'INVALID_UPDATE_VERSION'])
    expect(harness.state(partition)).toMatchObject({ isr: [1, 2], partitionEpoch: 3 })
  })

  it('one partition refused does not touch the others; one append for all', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic(
      't',
      Array.from({ length: 1_000 }, () => [1, 2]),
    )
    const items = Array.from({ length: 1_000 }, (_, index) =>
      harness.item(index, [1], index === 500 ? { leaderEpoch: 7 } : {}),
    )
    const { appendCount } = harness.log
    const results = harness.propose(1, items).items
    expect(harness.log.appendCount).toBe(appendCount + 1)
    expect(results.filter(({ error }) => error === 'NONE')).toHaveLength(999)
    expect(results[500]).toMatchObject({ partition: 500, error: 'NOT_CONTROLLER' })
    expect(harness.state(499).isr).toEqual([1])
    expect(harness.state(500).isr).toEqual([1, 2])
    const [committed, rejected] = harness.controller.takeEvents().slice(-2)
    expect(committed).toMatchObject({ kind: 'committed', brokerId: 1 })
    expect(committed.partitions).toHaveLength(999)
    expect(rejected).toMatchObject({
      kind: 'rejected',
      partitions: [500],
      error: 'NOT_CONTROLLER',
      detail: { proposedLeaderEpoch: 7, leaderEpoch: 0 },
    })
  })
})

describe('61. members that may not join', () => {
  const ineligible: [string, (harness: ControllerHarness) => AlterPartitionItem][] = [
    [
      'fenced',
      (harness) => {
        harness.silence(2)
        return harness.item(0, [1, 2])
      },
    ],
    [
      'shutting down',
      (harness) => {
        harness.createTopic('led-by-2', [[2, 1]])
        expect(harness.heartbeat(2, { wantShutDown: true }).shouldShutDown).toBe(false)
        return harness.item(0, [1, 2])
      },
    ],
    [
      'of another epoch',
      (harness) => harness.item(0, [], { newInSyncReplicas: [member(1), member(2, 1)] }),
    ],
  ]

  it.each(ineligible)('%s: INELIGIBLE_REPLICA', (_, prepare) => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    expect(harness.proposeOne(0, [1]).error).toBe('NONE')
    const item = prepare(harness)
    const before = harness.state(0)
    expect(harness.propose(1, [item]).items[0].error).toBe('INELIGIBLE_REPLICA')
    expect(harness.state(0)).toEqual(before)
  })

  it('accepted once it is unfenced', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    harness.silence(2)
    expect(harness.proposeOne(0, [1, 2]).error).toBe('INELIGIBLE_REPLICA')
    harness.heartbeat(2)
    expect(harness.proposeOne(0, [1, 2]).error).toBe('NONE')
    expect(harness.state(0).isr).toEqual([1, 2])
  })

  it('epoch -1 is not compared', () => {
    const harness = cluster()
    const newInSyncReplicas = [member(1, -1), member(2, -1)]
    expect(harness.proposeOne(partition, [], { newInSyncReplicas }).error).toBe('NONE')
  })

  it('a replica that rebooted cannot join on the merits of its former life (KAFKA-14617)', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[1, 2]])
    expect(harness.proposeOne(0, [1]).error).toBe('NONE')
    const delayed = harness.item(0, [1, 2])
    harness.register(2, { incarnationId: incarnation(2, 2), previousIncarnationEnded: true })
    expect(harness.heartbeat(2).isFenced).toBe(false)
    expect(harness.propose(1, [delayed]).items[0].error).toBe('INELIGIBLE_REPLICA')
    expect(harness.state(0).isr).toEqual([1])
  })

  it('a broker in controlled shutdown that still fetches stays out (KIP-841)', () => {
    const harness = new ControllerHarness().start(1, 2)
    harness.createTopic('t', [[2, 1]])
    harness.heartbeat(2, { wantShutDown: true })
    expect(harness.state(0)).toMatchObject({ leader: 1, isr: [1] })
    expect(harness.proposeOne(0, [1, 2]).error).toBe('INELIGIBLE_REPLICA')
  })
})

describe('62. the sender', () => {
  it.each([
    ['an epoch of another life', 1, 99],
    ['an id that is not registered', 9, 5],
    ['not registered, epoch -1', 9, -1],
  ])('%s: STALE_BROKER_EPOCH for the whole request', (_, sender, brokerEpoch) => {
    const harness = cluster()
    const before = harness.state(partition)
    const item = harness.item(partition, [1])
    const response = harness.propose(sender, [item], { brokerEpoch })
    expect(response).toMatchObject({ error: 'STALE_BROKER_EPOCH', items: [] })
    expect(harness.state(partition)).toEqual(before)
  })

  it('epochs ahead of a controller that is behind: NOT_CONTROLLER (KAFKA-14154)', () => {
    const harness = cluster()
    const ahead = { leaderEpoch: 5, partitionEpoch: 9 }
    expect(harness.proposeOne(partition, [1], ahead).error).toBe('NOT_CONTROLLER')
  })
})
