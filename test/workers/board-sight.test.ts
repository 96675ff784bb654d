import { describe, expect, it } from 'vitest'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { BoardSight } from '../../src/workers/board-sight.ts'
import { brokerState, ProgressBoard } from '../../src/workers/progress-board.ts'
import { allocateProgressBoard } from '../../src/workers/progress-board-layout.ts'
import { WorkerCluster } from '../support/worker-cluster.ts'

const leader = brokerId(1)
const follower = brokerId(3)

function sightOf(log = { logStartOffset: 0, logEndOffset: 0, sizeBytes: 0 }) {
  const shape = { brokers: 3, partitionsMax: 4, clients: 1 }
  const board = new ProgressBoard(allocateProgressBoard(shape, 1_000))
  const store = { has: () => true, log: () => log }
  return { board, sight: new BoardSight(board, leader, store as never) }
}

describe('what a leader sees of a follower', () => {
  it('are rates since the last note, out of the follower’s own counters', () => {
    const { board, sight } = sightOf()
    board.setState(follower, brokerState.running)
    board.setCounter(follower, 'diskReads', 1_000)
    board.setCounter(follower, 'writes', 50)
    sight.note(10_000)
    board.setCounter(follower, 'diskReads', 1_100)
    board.setCounter(follower, 'writes', 60)
    board.setCounter(follower, 'writeUs', 400_000)
    expect(sight.look(follower, 10_500)).toEqual({
      isThreadEnded: false,
      isLogFailed: false,
      throttleBytesPerSec: 0,
      isReadingFiles: true,
      fileReadsPerSec: 200,
      writingShare: 0.8,
      msPerWrite: 40,
    })
  })

  it.each([
    [0, 0, 0],
    [5_000, 0, 5_000],
    [0, 4_000, 4_000],
    [5_000, 4_000, 4_000],
  ])('is the lower limit: %i as a follower, %i for files', (throttle, catchUp, expected) => {
    const { board, sight } = sightOf()
    board.setThrottleBytesPerSec(follower, throttle)
    board.setCatchUpBytesPerSec(follower, catchUp)
    expect(sight.look(follower, 1).throttleBytesPerSec).toBe(expected)
  })

  it('is whether its thread is there', () => {
    const { board, sight } = sightOf()
    const ended = Object.entries(brokerState).filter(([, state]) => {
      board.setState(follower, state)
      return sight.look(follower, 1).isThreadEnded
    })
    expect(ended.map(([name]) => name)).toEqual(['dead', 'stopped', 'diskFailed'])
    board.setState(follower, brokerState.diskFailed)
    expect(sight.look(follower, 1).isLogFailed).toBe(true)
  })

  it('are bytes by the mean record, never more than the log has', () => {
    const { sight } = sightOf({ logStartOffset: 100, logEndOffset: 200, sizeBytes: 5_000 })
    const p = partitionIndex(0)
    expect([200, 150, 100, 0, 300].map((offset) => sight.bytesAfter(p, offset))).toEqual([
      0, 2_500, 5_000, 5_000, 0,
    ])
  })
})

describe('in a cluster', () => {
  it('a frozen follower is called frozen, with what it lacks', () => {
    const cluster = new WorkerCluster()
    cluster.run(50)
    cluster.frozen.add(3)
    cluster.produce(0, 5, 1_000)
    cluster.until('it left the ISR', () => !cluster.isr().includes(3))
    const events = cluster.news.flatMap((news) => news.events)
    const shrink = events.find(({ type }) => type === 'shrinkCommitted')
    expect(shrink).toMatchObject({
      left: [{ brokerId: 3, cause: 'frozen', lagRecords: 5, signs: { session: 'active' } }],
    })
    if (shrink?.type !== 'shrinkCommitted') return
    expect(shrink.left[0]!.lagBytes).toBeGreaterThan(5_000)
    expect(shrink.left[0]!.signs.silentMs).toBeGreaterThan(
      cluster.config['replica.lag.time.max.ms'] * 0.9,
    )
  })
})
