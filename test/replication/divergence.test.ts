/**
 * Numbers are those of the conformance list; the cases come from Apache Kafka's `PartitionTest`.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { epochEndOf, type LeaderEpochEntry } from '../../src/log/leader-epochs.ts'
import { findDivergence } from '../../src/replication/divergence.ts'

function history(...entries: [leaderEpoch: number, startOffset: number][]): LeaderEpochEntry[] {
  return entries.map(([leaderEpoch, startOffset]) => ({ leaderEpoch, startOffset }))
}

/** What a leader answers to a follower that would fetch from an offset: diverging, or none. */
function answer(entries: LeaderEpochEntry[], latest: number, [epoch, offset]: number[]) {
  const end = epochEndOf(entries, epoch!, latest)
  const diverges = end.leaderEpoch < epoch! || end.endOffset < offset!
  return diverges ? [end.leaderEpoch, end.endOffset] : 'none'
}

describe('6. LastFetchedOffsetValidation', () => {
  const entries = history([0, 0], [3, 2], [4, 8], [7, 13], [9, 14], [10, 17])

  it.each([
    [
      [2, 5],
      [0, 2],
    ],
    [
      [0, 4],
      [0, 2],
    ],
    [
      [6, 6],
      [4, 13],
    ],
    [
      [5, 9],
      [4, 13],
    ],
    [
      [10, 18],
      [10, 17],
    ],
    [[0, 2], 'none'],
    [[7, 14], 'none'],
    [[9, 17], 'none'],
    [[10, 17], 'none'],
    // An epoch that the leader has not heard of: it knows nothing to say.
    [
      [11, 5],
      [-1, -1],
    ],
  ])('last epoch and offset %j: %j', (asked, expected) => {
    expect(answer(entries, 17, asked)).toEqual(expected)
  })

  it('after the log start has gone up to 5', () => {
    const later = history([3, 5], [4, 8], [7, 13], [9, 14], [10, 17])
    expect(answer(later, 17, [2, 8])).toEqual([2, 5])
    expect(answer(later, 17, [0, 5])).toBe('none')
    expect(answer(later, 17, [3, 5])).toBe('none')
  })
})

describe('58. truncation offsets', () => {
  const unknown = { leaderEpoch: -1, endOffset: -1 }

  /** A follower at 200 whose latest epoch is 5, and what it knows of the epoch that is named. */
  function cut(told: [number, number], own: [number, number] | undefined, logEndOffset = 200) {
    const divergence = findDivergence(
      {
        logEndOffset,
        highWatermark: 0,
        latestEpoch: 5,
        endOffsetFor: () =>
          own === undefined ? unknown : { leaderEpoch: own[0], endOffset: own[1] },
      },
      { leaderEpoch: told[0], endOffset: told[1] },
    )
    if (divergence.kind === 'none') return [logEndOffset, 'done']
    return [divergence.offset, divergence.isComplete ? 'done' : 'ask again']
  }

  it('the leader knows the epoch: where it ends there', () => {
    expect(cut([5, 156], [5, 200])).toEqual([156, 'done'])
    expect(cut([5, 172], [5, 200])).toEqual([172, 'done'])
  })

  it('the follower knows none up to the one that is named: the leader’s word, within its log', () => {
    expect(cut([4, 156], undefined)).toEqual([156, 'done'])
    expect(cut([4, 202], undefined)).toEqual([200, 'done'])
  })

  it('the follower knows only a lower one: to its end, and ask about that', () => {
    expect(cut([4, 155], [3, 120])).toEqual([120, 'ask again'])
    expect(cut([3, 101], [3, 120], 120)).toEqual([101, 'done'])
  })

  it('epoch by epoch downwards', () => {
    expect(cut([4, 140], [4, 149])).toEqual([140, 'done'])
    expect(cut([3, 130], [2, 129], 140)).toEqual([129, 'ask again'])
    expect(cut([2, 120], [1, 119], 129)).toEqual([119, 'ask again'])
  })
})

/** Offsets of a log as the epochs that wrote them. */
type Epochs = readonly number[]

function entriesOf(epochs: Epochs): LeaderEpochEntry[] {
  const found: LeaderEpochEntry[] = []
  for (const [offset, leaderEpoch] of epochs.entries()) {
    if (found.at(-1)?.leaderEpoch !== leaderEpoch) found.push({ leaderEpoch, startOffset: offset })
  }
  return found
}

/** Cuts as a follower does, round by round. @returns what is left, and the rounds it took */
function reconcile(leader: Epochs, given: Epochs): [Epochs, number] {
  let follower = given
  for (let rounds = 1; ; rounds += 1) {
    const own = entriesOf(follower)
    const latestEpoch = own.at(-1)?.leaderEpoch ?? -1
    const divergence = findDivergence(
      {
        logEndOffset: follower.length,
        highWatermark: 0,
        latestEpoch,
        endOffsetFor: (epoch) => epochEndOf(own, epoch, follower.length),
      },
      epochEndOf(entriesOf(leader), latestEpoch, leader.length),
    )
    if (divergence.kind === 'none') return [follower, rounds]
    follower = follower.slice(0, divergence.offset)
    if (divergence.isComplete || follower.length === 0) return [follower, rounds]
  }
}

describe('D1 (KAFKA-6361): reconciling', () => {
  it('keeps all that both have, and nothing else', () => {
    /** Both have the beginning; then each has tenures that the other doesn't know. */
    const tail = (first: number) =>
      fc
        .array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 4 })), { maxLength: 4 })
        .map((tenures) => {
          let epoch = first
          return tenures.flatMap(([step, records]) => {
            epoch += 2 * (step + 1)
            return Array<number>(records).fill(epoch)
          })
        })
    const shared = fc.array(fc.nat(3), { maxLength: 12 }).map((steps) => [...steps].sort())
    fc.assert(
      fc.property(shared, tail(4), tail(5), (common, leaderTail, followerTail) => {
        // Odd epochs are the follower's, even ones the leader's; the leader knows the latest.
        const leader = [...common, ...leaderTail, 100]
        const [kept, rounds] = reconcile(leader, [...common, ...followerTail])
        expect(kept.slice(0, common.length)).toEqual(common)
        expect(kept).toEqual(leader.slice(0, kept.length))
        expect(rounds).toBeLessThanOrEqual(followerTail.length + 2)
      }),
    )
  })
})
