import { describe, expect, it } from 'vitest'
import { causeOfLag, type LagSigns } from '../../src/replication/isr-cause.ts'
import type { FollowerSight } from '../../src/replication/lagging-replicas.ts'
import { b, c, Led, lagMaxMs, leader } from './led-fixture.ts'

/** A follower that fetches, and is a little slower than the log end moves. */
const slow: LagSigns = {
  isThreadEnded: false,
  isLogFailed: false,
  throttleBytesPerSec: 0,
  isReadingFiles: false,
  fileReadsPerSec: 0,
  writingShare: 0.3,
  msPerWrite: 0.1,
  session: 'active',
  isReplica: true,
  silentMs: 5,
  leaderRecordsPerSec: 1_000,
  followerRecordsPerSec: 900,
}
const writing = { writingShare: 0.9, msPerWrite: 50 }

describe('the cause', () => {
  it.each<[string, Partial<LagSigns>, string]>([
    ['fetches, too slowly', {}, 'slow'],
    ['fetches as fast as the log end moves, from memory', { followerRecordsPerSec: 1_000 }, 'slow'],
    ['has not fetched for half the limit', { silentMs: lagMaxMs / 2 }, 'slow'],
    ['has not fetched for longer', { silentMs: lagMaxMs / 2 + 1 }, 'frozen'],
    ['is silent within a long write', { silentMs: 2_000, ...writing }, 'disk'],
    ['writes slowly most of the time', writing, 'disk'],
    ['writes most of the time, quickly', { writingShare: 0.9, msPerWrite: 1 }, 'slow'],
    ['has a failed log', { isLogFailed: true, isThreadEnded: true }, 'disk'],
    ['is throttled', { throttleBytesPerSec: 1_000, isReadingFiles: true }, 'throttled'],
    ['is throttled, and frozen', { throttleBytesPerSec: 1_000, silentMs: 2_000 }, 'frozen'],
    ['reads files, and loses ground', { isReadingFiles: true }, 'notConverging'],
    ['reads files, and gains', { isReadingFiles: true, followerRecordsPerSec: 1_001 }, 'slow'],
    ['has ended', { isThreadEnded: true, silentMs: 2_000 }, 'dead'],
    ['is fenced', { session: 'fenced' }, 'dead'],
    ['shuts down', { session: 'shuttingDown', isThreadEnded: true }, 'shutDown'],
    ['is no replica any more', { isReplica: false, session: 'fenced' }, 'unassigned'],
  ])('of one that %s', (_, signs, cause) => {
    expect(causeOfLag({ ...slow, ...signs }, lagMaxMs)).toBe(cause)
  })
})

describe('events', () => {
  /** The follower c moves 300 records a second while the leader's end moves 1,000. */
  function falling(sight?: FollowerSight): Led {
    const led = new Led({ sight })
    for (let tick = 0; tick < 15; tick += 1) {
      led.nowMs += 100
      led.append((tick + 1) * 100)
      led.fetch(b, (tick + 1) * 100)
      led.fetch(c, (tick + 1) * 30)
      if (tick % 5 === 4) led.check()
    }
    return led
  }

  it('carry the cause, and the rates since the last check', () => {
    const [event] = falling().leaders.takeEvents()
    expect(event).toMatchObject({
      type: 'shrinkProposed',
      lagging: [
        {
          ...{ brokerId: c, cause: 'slow', logEndOffset: 450, lagRecords: 1_050 },
          signs: { silentMs: 0, leaderRecordsPerSec: 1_000, followerRecordsPerSec: 300 },
        },
      ],
    })
  })

  it('carry what the broker sees beside the fetches', () => {
    const noted: number[] = []
    const led = falling({
      note: (nowMs) => noted.push(nowMs),
      look: (follower) => ({
        ...slow,
        throttleBytesPerSec: follower === c ? 5_000 : 0,
      }),
      bytesAfter: (_, offset) => (1_500 - offset) * 10,
    })
    const [event] = led.leaders.takeEvents()
    expect(event).toMatchObject({
      lagging: [{ cause: 'throttled', lagBytes: 10_500, signs: { throttleBytesPerSec: 5_000 } }],
    })
    expect(noted).toHaveLength(3)
  })

  it('of a removal by the controller tell what befell the replica', () => {
    const led = new Led()
    led.append(5)
    led.world.of(c).isFenced = true
    led.metadata({ partitionEpoch: 11, inSyncReplicas: [leader, b] })
    led.world.of(b).isShuttingDown = true
    led.metadata({ partitionEpoch: 12, inSyncReplicas: [leader] })
    expect(led.leaders.takeEvents()).toMatchObject([
      { cause: 'controller', left: [{ brokerId: c, cause: 'dead', lagRecords: 5 }], joined: [] },
      { cause: 'controller', left: [{ brokerId: b, cause: 'shutDown' }] },
    ])
  })

  it('of another change than the proposed one do not carry its numbers', () => {
    const led = new Led()
    led.append(5)
    led.fetch(b, 5)
    led.nowMs += lagMaxMs + 1
    led.append(6)
    led.fetch(b, 6)
    expect(led.check()).toBe(1)
    led.world.of(b).isFenced = true
    led.metadata({ partitionEpoch: 11, inSyncReplicas: [leader, c] })
    const committed = led.leaders.takeEvents().at(-1)
    expect(committed).toMatchObject({ cause: 'controller', left: [{ brokerId: b, cause: 'dead' }] })
  })
})
