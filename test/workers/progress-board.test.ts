import { describe, expect, it } from 'vitest'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { ProgressBoard, readerState } from '../../src/workers/progress-board.ts'
import { allocateProgressBoard, brokerCounters } from '../../src/workers/progress-board-layout.ts'
import { countSteps, endingAt, stepping } from '../support/atomics-steps.ts'

const leader = brokerId(1)
const follower = brokerId(2)
const shape = { brokers: 3, partitionsMax: 5, clients: 2 }

function newBoard(): ProgressBoard {
  return new ProgressBoard(allocateProgressBoard(shape, 1_000))
}

interface Seen {
  readonly cursor: number
  readonly reports: number
  readonly pollTimeMs: number
}

/** What a leader does with a poll's words; undefined: it changed meanwhile. */
function snapshot(board: ProgressBoard): Seen | undefined {
  const sequence = board.pollSequence(follower)
  if ((sequence & 1) === 1) return undefined
  const cursor = board.cursor(leader, follower)
  const reports = board.reportsTail(leader, follower)
  const pollTimeMs = board.pollTimeMs(follower)
  return board.pollSequence(follower) === sequence ? { cursor, reports, pollTimeMs } : undefined
}

function poll(board: ProgressBoard, number: number): void {
  board.beginPoll(follower)
  board.setCursor(leader, follower, number * 100)
  board.tryReport(leader, follower, partitionIndex(number % 5), number)
  board.endPoll(follower, 1_000 + number)
}

function wordsOf(number: number): Seen {
  return { cursor: number * 100, reports: number, pollTimeMs: 1_000 + number }
}

describe('a poll', () => {
  it('is seen whole or not at all by a leader that looks in between any two stores', () => {
    const once = newBoard()
    poll(once, 1)
    const steps = countSteps(() => poll(once, 2))
    let torn = 0
    for (let at = 0; at < steps; at++) {
      const board = newBoard()
      poll(board, 1)
      let seen: Seen | undefined
      stepping(
        () => poll(board, 2),
        (operation) => {
          if (operation === at) seen = snapshot(board)
        },
      )
      if (seen === undefined) torn++
      else expect([wordsOf(1), wordsOf(2)]).toContainEqual(seen)
      expect(snapshot(board)).toEqual(wordsOf(2))
    }
    expect(torn).toBeGreaterThan(3)
  })

  it('that comes between any two loads of the leader is noticed', () => {
    const steps = countSteps(() => snapshot(newBoard()))
    for (let at = 0; at < steps; at++) {
      for (const polls of [1, 2]) {
        const board = newBoard()
        poll(board, 1)
        const seen = stepping(
          () => snapshot(board),
          (operation) => {
            if (operation !== at) return
            for (let each = 0; each < polls; each++) poll(board, 2 + each)
          },
        )
        if (seen !== undefined) {
          expect([wordsOf(1), wordsOf(1 + polls)]).toContainEqual(seen)
        }
      }
    }
  })

  it('in which its thread ended is settled, and a whole one stays as it is', () => {
    const board = newBoard()
    poll(board, 1)
    board.settlePoll(follower)
    expect(board.pollSequence(follower)).toBe(2)
    for (let at = 1; at < 6; at++) {
      endingAt(() => poll(board, 2), at)
      board.settlePoll(follower)
      expect(board.pollSequence(follower) & 1).toBe(0)
      expect(snapshot(board)).toBeDefined()
    }
  })
})

describe('reports', () => {
  it('go around, are refused when the ring is full, and lose nothing', () => {
    const board = newBoard()
    const seen: number[] = []
    let sent = 0
    for (let round = 0; round < 5; round++) {
      while (board.tryReport(leader, follower, partitionIndex(sent % 5), sent * 2 ** 20)) sent++
      expect(sent - seen.length).toBe(4_096)
      // Only those of polls up to now.
      const tail = (board.reportsTail(leader, follower) - 1_000 - round) | 0
      board.drainReports(leader, follower, tail, (partition, logEndOffset) => {
        expect(partition).toBe(seen.length % 5)
        seen.push(logEndOffset)
      })
    }
    board.drainReports(leader, follower, board.reportsTail(leader, follower), (_, logEndOffset) => {
      seen.push(logEndOffset)
    })
    expect(seen).toEqual(Array.from({ length: sent }, (_, number) => number * 2 ** 20))
  })
})

describe('words', () => {
  it('of brokers, partitions, readers and counters do not overlap', () => {
    const board = newBoard()
    const writes: [() => void, () => number, number][] = []
    let value = 2 ** 33
    const note = (set: (value: number) => void, get: () => number, large = true): void => {
      const mine = large ? ++value : value++ % 1_000
      writes.push([() => set(mine), get, mine])
    }
    for (const broker of [1, 2, 3].map(brokerId)) {
      note(
        (v) => board.setState(broker, v),
        () => board.state(broker),
        false,
      )
      note(
        (v) => board.setControl(broker, v),
        () => board.control(broker),
        false,
      )
      note(
        (v) => board.setBrokerEpoch(broker, v),
        () => board.brokerEpoch(broker),
        false,
      )
      note(
        (v) => board.setThrottleBytesPerSec(broker, v),
        () => board.throttleBytesPerSec(broker),
      )
      note(
        (v) => board.setCatchUpBytesPerSec(broker, v),
        () => board.catchUpBytesPerSec(broker),
      )
      for (const name of brokerCounters) {
        note(
          (v) => board.setCounter(broker, name, v),
          () => board.counter(broker, name),
        )
      }
      for (const partition of [0, 1, 2, 3, 4].map(partitionIndex)) {
        note(
          (v) => board.setLogEndOffset(broker, partition, v),
          () => board.logEndOffset(broker, partition),
        )
        note(
          (v) => board.setHighWatermark(broker, partition, v),
          () => board.highWatermark(broker, partition),
        )
        note(
          (v) => board.setLedEpoch(broker, partition, v),
          () => board.ledEpoch(broker, partition),
          false,
        )
        note(
          (v) => board.setFollowedEpoch(broker, partition, v),
          () => board.followedEpoch(broker, partition),
          false,
        )
      }
      for (const other of [1, 2, 3].map(brokerId)) {
        note(
          (v) => board.setCursor(broker, other, v),
          () => board.cursor(broker, other),
          false,
        )
      }
    }
    for (const partition of [0, 1, 2, 3, 4].map(partitionIndex)) {
      note(
        (v) => board.setRoute(partition, brokerId(v), 1),
        () => board.leader(partition),
        false,
      )
    }
    for (const [set] of writes) set()
    expect(writes.map(([, get]) => get())).toEqual(writes.map(([, , expected]) => expected))
  })

  it('begin as nobody: no leader, no epoch, no reader', () => {
    const board = newBoard()
    const partition = partitionIndex(4)
    expect(board.leader(partition)).toBe(-1)
    expect([board.ledEpoch(leader, partition), board.followedEpoch(leader, partition)]).toEqual([
      -1, -1,
    ])
    expect([board.brokerEpoch(follower), board.logEndOffset(leader, partition)]).toEqual([-1, 0])
    expect(board.readerState(leader, follower)).toBe(readerState.detached)
  })

  it('a reader’s state moves only from where it is said to be', () => {
    const board = newBoard()
    const { detached, attachRequested, idle, reading } = readerState
    expect(board.moveReader(leader, follower, idle, reading)).toBe(false)
    expect(board.moveReader(leader, follower, detached, attachRequested)).toBe(true)
    expect(board.readerState(leader, follower)).toBe(attachRequested)
    expect(board.readerState(follower, leader)).toBe(detached)
    board.forceReaderDetached(leader, follower)
    expect(board.moveReader(leader, follower, attachRequested, idle)).toBe(false)
  })
})
