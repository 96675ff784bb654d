import { describe, expect, it } from 'vitest'
import { brokerId } from '../../src/ids.ts'
import type { ControllerRequest } from '../../src/replication/messages.ts'
import { readerState } from '../../src/workers/progress-board.ts'
import { topicName } from '../support/worker-brokers.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { expectSameLogs } from '../support/worker-logs.ts'

const follower = brokerId(2)
const roundMs = 5
const lagMaxMs = 1_000

/**
 * A follower of partition 0 that lacks what went through the ring while it was detached; partition
 * 1 is others', partition 2 is led by another and followed by it.
 */
function clusterWithOneBehind(): WorkerCluster {
  const assignments = [
    [1, 2, 3],
    [1, 3, 4],
    [1, 3, 2],
  ]
  const config = { 'replica.lag.time.max.ms': lagMaxMs }
  const cluster = new WorkerCluster({ brokers: 4, assignments, config })
  cluster.run(100)
  cluster.board.moveReader(brokerId(1), follower, readerState.idle, readerState.detached)
  cluster.frozen.add(follower)
  for (let batch = 0; batch < 5; batch++) cluster.produce(0, 1, 100, 1)
  cluster.step(1)
  cluster.frozen.delete(follower)
  expect(cluster.logEndOffset(1)).toBe(5)
  expect(cluster.logEndOffset(follower)).toBe(0)
  return cluster
}

function decide(cluster: WorkerCluster, request: ControllerRequest): void {
  const { endOffset } = cluster.controller.image
  cluster.controller.handle(-1, request)
  expect(cluster.controller.image.endOffset).toBeGreaterThan(endOffset)
}

function changeSettings(cluster: WorkerCluster, round: number): void {
  const changes = { 'retention.ms': String(1_000_000 + round) }
  decide(cluster, { type: 'alterConfigs', correlationId: 1, topic: topicName, changes })
}

/** Of a partition that the follower has nothing to do with. */
function changeOthers(cluster: WorkerCluster, round: number): void {
  const { leader, leaderEpoch } = cluster.registration(1)
  const replicas = (round % 2 === 0 ? [1, 4, 3] : [1, 3, 4]).map(brokerId)
  const partitions = [{ topic: topicName, partition: 1, replicas }]
  decide(cluster, { type: 'alterReassignments', correlationId: 1, partitions })
  expect(cluster.registration(1)).toMatchObject({ leader, leaderEpoch })
}

function changeLeader(cluster: WorkerCluster, round: number): void {
  const replicas = (round % 2 === 0 ? [3, 1, 2] : [1, 3, 2]).map(brokerId)
  const partitions = [{ topic: topicName, partition: 2, replicas }]
  decide(cluster, { type: 'alterReassignments', correlationId: 1, partitions })
  const all = { election: 'preferred', partitions: undefined } as const
  decide(cluster, { type: 'electLeaders', correlationId: 1, ...all })
}

describe('a partition that is behind is read', () => {
  it.each([
    ['settings', changeSettings],
    ['other partitions', changeOthers],
  ] as const)('though %s change in every step', (_, change) => {
    const cluster = clusterWithOneBehind()
    for (let round = 0; round < 20; round++) {
      change(cluster, round)
      cluster.clock.advance(roundMs)
      cluster.round()
    }
    expect(cluster.logEndOffset(follower)).toBe(5)
    cluster.converge()
    expectSameLogs(cluster)
  })

  it('after the partitions that change hands, but does not wait for them for ever', () => {
    const cluster = clusterWithOneBehind()
    const startMs = cluster.clock.nowMs()
    let readAtMs = -1
    for (let round = 0; round < 200; round++) {
      changeLeader(cluster, round)
      cluster.clock.advance(roundMs)
      cluster.round()
      if (readAtMs < 0 && cluster.logEndOffset(follower) > 0) readAtMs = cluster.clock.nowMs()
    }
    expect(readAtMs - startMs).toBeGreaterThan(lagMaxMs / 2)
    expect(readAtMs - startMs).toBeLessThan(lagMaxMs / 2 + 10 * roundMs)
    expect(cluster.isr()).toEqual([1, 2, 3])
    cluster.converge()
    expectSameLogs(cluster)
  })
})
