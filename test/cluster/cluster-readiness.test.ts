import { describe, expect, it } from 'vitest'
import { readiness, service } from '../../src/cluster-readiness.ts'
import { brokerId, type PartitionIndex, partitionIndex } from '../../src/ids.ts'
import { MetadataImage } from '../../src/replication/controller/metadata-image.ts'
import type { MetadataRecord } from '../../src/replication/controller/metadata-records.ts'
import { brokerState, ProgressBoard } from '../../src/workers/progress-board.ts'
import { allocateProgressBoard } from '../../src/workers/progress-board-layout.ts'
import { topicIdOf } from '../replication/controller/controller-harness.ts'

const [one, two] = [brokerId(1), brokerId(2)]
const topicId = topicIdOf(1)

/** A board that counts how often somebody asks who leads. */
class CountingBoard extends ProgressBoard {
  looks = 0

  override ledEpoch(...args: Parameters<ProgressBoard['ledEpoch']>): number {
    this.looks += 1
    return super.ledEpoch(...args)
  }
}

function world(partitions: number) {
  const shape = { brokers: 2, partitionsMax: partitions, clients: 4 }
  const board = new CountingBoard(allocateProgressBoard(shape, 0))
  const image = new MetadataImage()
  const brokers = [one, two].map((id): MetadataRecord => {
    board.setBrokerEpoch(id, id)
    board.setState(id, brokerState.running)
    const incarnationId = topicIdOf(8 + id)
    return { type: 'registerBroker', brokerId: id, brokerEpoch: id, incarnationId, fenced: false }
  })
  const records = Array.from({ length: partitions }, (_, partitionId): MetadataRecord => {
    const nobody = { addingReplicas: [], removingReplicas: [] }
    const both = { replicas: [one, two], isr: [one, two], ...nobody }
    const epochs = { leaderEpoch: 0, partitionEpoch: 0 }
    return { type: 'partition', topicId, partitionId, ...both, leader: one, ...epochs }
  })
  image.replayAll(0, [...brokers, { type: 'topic', name: 't', topicId }, ...records])
  const running = new Set([one, two])
  const parts = { image, board, isRunning: (id: typeof one) => running.has(id) }
  const serve = (index: PartitionIndex, leaderEpoch = 0) => {
    board.setLedEpoch(one, index, leaderEpoch)
    board.setFollowedEpoch(two, index, leaderEpoch)
  }
  return { parts, board, image, running, serve }
}

describe('whether all partitions are served', () => {
  it('looks three times at each at most, however often it is asked meanwhile', () => {
    const { parts, board, serve } = world(200)
    const isReady = readiness(parts, [one, two])
    for (let index = 0; index < 200; index += 1) {
      expect(isReady()).toBe(false)
      serve(partitionIndex(index))
    }
    expect(isReady()).toBe(true)
    expect(board.looks).toBeLessThanOrEqual(3 * 200)
  })

  it('does not miss one that changed hands after it was looked at', () => {
    const { parts, image, serve } = world(3)
    const isReady = readiness(parts, [one, two])
    serve(partitionIndex(0))
    serve(partitionIndex(1))
    expect(isReady()).toBe(false)
    const change = { type: 'partitionChange', topicId, partitionId: 0, leader: one } as const
    image.replayAll(image.endOffset, [change])
    serve(partitionIndex(2))
    expect(isReady()).toBe(false)
    serve(partitionIndex(0), image.partition(partitionIndex(0))!.leaderEpoch)
    expect(isReady()).toBe(true)
  })

  it('waits for followers that run and are not frozen', () => {
    const { parts, board, running } = world(1)
    const isServed = service(parts, () => [partitionIndex(0)])
    expect(isServed()).toBe(false)
    board.setLedEpoch(one, partitionIndex(0), 0)
    expect(isServed()).toBe(false)
    board.setState(two, brokerState.paused)
    expect(isServed()).toBe(true)
    board.setState(two, brokerState.running)
    expect(isServed()).toBe(false)
    running.delete(two)
    expect(isServed()).toBe(true)
  })

  it('waits for a topic that is not known yet', () => {
    const { parts, serve } = world(1)
    let partitions: PartitionIndex[] | undefined
    const isServed = service(parts, () => partitions)
    serve(partitionIndex(0))
    expect(isServed()).toBe(false)
    partitions = [partitionIndex(0)]
    expect(isServed()).toBe(true)
  })

  it('is not ready before every broker is there in this life', () => {
    const { parts, board, serve } = world(1)
    serve(partitionIndex(0))
    board.setBrokerEpoch(two, 1)
    const isReady = readiness(parts, [one, two])
    expect(isReady()).toBe(false)
    board.setBrokerEpoch(two, 2)
    expect(isReady()).toBe(true)
  })

  it('does not wait for a partition that nobody can lead', () => {
    const { parts, image, serve } = world(2)
    serve(partitionIndex(0))
    const nobody = { leader: -1, isr: [brokerId(7)] } as const
    const change = { type: 'partitionChange', topicId, partitionId: 1, ...nobody } as const
    image.replayAll(image.endOffset, [change as unknown as MetadataRecord])
    expect(readiness(parts, [one, two])()).toBe(true)
  })
})
