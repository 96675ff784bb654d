/**
 * Numbers are those of the conformance list, from Apache Kafka's tests of its fetchers.
 *
 * 52 (DelayedFetch) doesn't apply: no fetch waits at a leader. A follower polls, and what it polls
 * it reads by itself; a leader that leads no more simply publishes nothing. 58b: a follower keeps
 * no lag of its own, whoever wants it compares two words; that a truncation leaves the high
 * watermark alone is case 57.
 */
import { describe, expect, it } from 'vitest'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'
import { endedBehind } from '../support/worker-leaders.ts'
import { expectSameLogs } from '../support/worker-logs.ts'

const p0 = partitionIndex(0)
const p1 = partitionIndex(1)

/** As the broker asks it itself when it is told to stop in good order. */
function wantShutDown(cluster: WorkerCluster, broker: number): void {
  cluster.controller.handle(-2, {
    type: 'brokerHeartbeat',
    correlationId: 1,
    brokerId: brokerId(broker),
    brokerEpoch: cluster.node(broker).link.brokerEpoch,
    metadataOffset: cluster.controller.image.endOffset,
    wantFence: false,
    wantShutDown: true,
  })
}

describe('a follower', () => {
  it('51. ReplicasAreStoppedWhileInControlledShutdown: but where it is in sync', () => {
    const cluster = new WorkerCluster({
      assignments: [
        [1, 2, 3],
        [3, 1, 2],
      ],
    })
    cluster.run(100)
    const followed = (broker: number, partition = p0) =>
      cluster.board.followedEpoch(brokerId(broker), partition)
    expect(followed(3)).toBe(cluster.registration(0).leaderEpoch)
    wantShutDown(cluster, 3)
    cluster.run(20)
    expect([cluster.isr(0), cluster.isr(1)]).toEqual([
      [1, 2],
      [1, 2],
    ])
    // Out of both: it fetches neither, neither the one that it followed nor the one that it led.
    expect([followed(3), followed(3, p1)]).toEqual([-1, -1])
    cluster.produce(0, 2)
    cluster.settle()
    expect([cluster.logEndOffset(2), cluster.logEndOffset(3)]).toEqual([2, 0])
    // Whoever isn't leaving goes on.
    expect(followed(2)).toBe(cluster.registration(0).leaderEpoch)
  })

  it('53. UNKNOWN_LEADER_EPOCH: takes nothing of a leader it has not heard of, until it has', () => {
    const cluster = new WorkerCluster({
      config: { 'broker.session.timeout.ms': 500, 'broker.heartbeat.interval.ms': 50 },
    })
    cluster.run(100)
    cluster.produce(0, 2)
    cluster.settle()
    cluster.cutOff.add(2)
    cluster.frozen.add(1)
    cluster.until('3 leads', () => cluster.leader() === 3, 5_000)
    cluster.run(50)
    cluster.produce(0, 3)
    cluster.settle()
    cluster.run(200)
    expect([cluster.logEndOffset(3), cluster.logEndOffset(2)]).toEqual([5, 2])
    cluster.cutOff.clear()
    cluster.frozen.clear()
    cluster.converge()
    expectSameLogs(cluster)
  })

  it('55. FollowerFetchOutOfRange race: a partition that it follows no more is not emptied', () => {
    const cluster = endedBehind(2)
    cluster.node(1).store.advanceLogStart(p0, 3)
    cluster.start(3)
    const node = cluster.node(3)
    // A limit that is new each time has let nothing through yet.
    let limit = 0
    cluster.until('it knows that it is behind', () => {
      cluster.board.setThrottleBytesPerSec(brokerId(3), 1 + (limit++ % 2))
      return node.followed.behind.length > 0
    })
    cluster.board.setThrottleBytesPerSec(brokerId(3), 0)
    // What a role change does before anything else.
    node.followed.stop(p0)
    for (let step = 0; step < 5; step++) cluster.step(3)
    expect(cluster.logEndOffset(3)).toBe(1)
    expect(cluster.news.flatMap(({ catchUpNotes }) => catchUpNotes)).toEqual([])
  })
})
