import { expect, it } from 'vitest'
import { InvariantWatch } from '../../src/cluster-invariants.ts'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { MetadataImage } from '../../src/replication/controller/metadata-image.ts'
import type { MetadataRecord } from '../../src/replication/controller/metadata-records.ts'
import type { InvariantViolation } from '../../src/replication/invariants/board-invariants.ts'
import { brokerState, ProgressBoard } from '../../src/workers/progress-board.ts'
import { allocateProgressBoard } from '../../src/workers/progress-board-layout.ts'

const topicId = Buffer.alloc(16, 7).toString('base64url')
const [one, two] = [brokerId(1), brokerId(2)]
const partition = partitionIndex(0)

/** Broker 1 leads in epoch 0, 2 follows, both in sync, both end at 10, committed is 10. */
function watched() {
  const board = new ProgressBoard(
    allocateProgressBoard({ brokers: 2, partitionsMax: 1, clients: 1 }, 0),
  )
  const image = new MetadataImage()
  image.replayAll(0, [
    { type: 'topic', name: 't', topicId },
    {
      type: 'partition',
      partitionId: 0,
      topicId,
      replicas: [one, two],
      isr: [one, two],
      removingReplicas: [],
      addingReplicas: [],
      leader: one,
      leaderEpoch: 0,
      partitionEpoch: 0,
    },
  ] satisfies MetadataRecord[])
  for (const id of [one, two]) board.setState(id, brokerState.running)
  board.setLedEpoch(one, partition, 0)
  board.setLogEndOffset(one, partition, 10)
  board.setLogEndOffset(two, partition, 10)
  board.setHighWatermark(one, partition, 10)
  const violations: InvariantViolation[] = []
  const watch = new InvariantWatch(board, (violation) => violations.push(violation))
  const look = (times: number) => {
    for (let count = 0; count < times; count++) watch.look(image)
    return violations.map(({ invariant }) => invariant)
  }
  return { board, image, look }
}

it('is quiet while all is well', () => {
  const { board, look } = watched()
  look(3)
  board.setLogEndOffset(one, partition, 12)
  expect(look(10)).toEqual([])
})

it('tells of a high watermark that went back, at once and once', () => {
  const { board, look } = watched()
  look(1)
  board.setHighWatermark(one, partition, 9)
  expect(look(1)).toEqual(['high-watermark-rises'])
  board.setHighWatermark(one, partition, 8)
  expect(look(1)).toEqual(['high-watermark-rises'])
})

it('tells of a high watermark above a member only when the metadata had time to come', () => {
  const { board, look } = watched()
  board.setLogEndOffset(two, partition, 9)
  expect(look(4)).toEqual([])
  expect(look(1)).toEqual(['high-watermark-on-members'])
})

it.each(['dead', 'starting'] as const)('asks nothing of a member that is %s', (state) => {
  const { board, look } = watched()
  board.setState(two, brokerState[state])
  board.setLogEndOffset(two, partition, 0)
  expect(look(10)).toEqual([])
  board.setState(two, brokerState.running)
  expect(look(5)).toEqual(['high-watermark-on-members'])
})

it('forgets a suspicion when the metadata explains it', () => {
  const { board, image, look } = watched()
  board.setLogEndOffset(two, partition, 9)
  look(4)
  image.replayAll(2, [{ type: 'partitionChange', partitionId: 0, topicId, isr: [one] }])
  expect(look(10)).toEqual([])
})

it('tells of two leaders of one epoch', () => {
  const { board, look } = watched()
  look(1)
  board.setLedEpoch(two, partition, 0)
  expect(look(1)).toEqual(['one-leader-an-epoch'])
})

it('tells of a leader that is not in sync', () => {
  const { image, look } = watched()
  image.replayAll(2, [{ type: 'partitionChange', partitionId: 0, topicId, isr: [two] }])
  expect(look(1)).toEqual(['in-sync-within-replicas'])
})
