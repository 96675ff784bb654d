/**
 * Producers with acks=all: Apache Kafka's `DelayedProduce` and `Partition.checkEnoughReplicas…`.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorNumber } from '../../src/errors.ts'
import { type PartitionIndex, partitionIndex } from '../../src/ids.ts'
import { WaitingAcks } from '../../src/replication/waiting-acks.ts'
import { b, Led, lagMaxMs, leader, p0, registration, startMs } from './led-fixture.ts'

const later = startMs + 60_000

describe('waiting producers', () => {
  it('complete in order as the high watermark passes them', () => {
    const led = new Led({ replicas: [leader, b] })
    led.append(30)
    for (const [ticket, end] of [10, 20, 30].entries()) {
      led.leaders.wait(p0, end, 0, ticket, later, end - 10)
    }
    led.fetch(b, 19)
    expect(led.takeCompleted()).toEqual([{ ticket: 0, error: 0, baseOffset: 0 }])
    led.fetch(b, 30)
    expect(led.takeCompleted().map(({ ticket }) => ticket)).toEqual([1, 2])
    expect(led.takeCompleted()).toEqual([])
    expect(led.leaders.counters.acksWaiting).toBe(0)
  })

  it('complete at once when the high watermark is there already', () => {
    const led = new Led({ replicas: [leader] })
    led.append(10)
    led.leaders.wait(p0, 10, 0, 1, later)
    expect(led.takeCompleted()).toMatchObject([{ ticket: 1, error: 0 }])
  })

  it('46. ClearPurgatoryOnBecomingFollower', () => {
    const led = new Led({ replicas: [leader, b], partitions: 2 })
    led.append(10)
    led.leaders.wait(p0, 5, 0, 1, later)
    led.leaders.wait(p0, 10, 0, 2, later)
    led.leaders.makeFollower(registration(p0, { leader: b, leaderEpoch: 6, partitionEpoch: 11 }))
    const error = errorNumber('NOT_LEADER_OR_FOLLOWER')
    expect(led.takeCompleted()).toMatchObject([
      { ticket: 1, error },
      { ticket: 2, error },
    ])
    led.leaders.wait(p0, 10, 0, 3, later)
    expect(led.takeCompleted()).toMatchObject([{ ticket: 3, error }])
  })

  it('time out, and not before', () => {
    const led = new Led({ replicas: [leader, b] })
    led.append(30)
    led.leaders.wait(p0, 10, 0, 1, startMs + 300)
    led.leaders.wait(p0, 20, 0, 2, startMs + 100)
    led.leaders.wait(p0, 30, 0, 3, startMs + 200)
    led.leaders.expire(startMs + 99)
    expect(led.takeCompleted()).toEqual([])
    led.leaders.expire(startMs + 100)
    const error = errorNumber('REQUEST_TIMED_OUT')
    expect(led.takeCompleted()).toMatchObject([{ ticket: 2, error }])
    led.leaders.expire(startMs + 250)
    expect(led.takeCompleted()).toMatchObject([{ ticket: 3, error }])
    led.leaders.wait(p0, 30, 0, 4, later)
    led.fetch(b, 30)
    expect(led.takeCompleted()).toMatchObject([
      { ticket: 1, error: 0 },
      { ticket: 4, error: 0 },
    ])
    expect(led.leaders.counters.acksExpired).toBe(2)
  })

  it('that are committed already do not time out', () => {
    const led = new Led({ replicas: [leader, b] })
    led.append(10)
    led.leaders.wait(p0, 10, 0, 1, startMs + 100)
    led.fetch(b, 10)
    led.leaders.expire(startMs + 500)
    expect(led.takeCompleted()).toMatchObject([{ ticket: 1, error: 0 }])
  })

  it('time out, not 20, when the ISR falls below the minimum while they wait', () => {
    const led = new Led({ minInSync: 2 })
    led.append(10)
    led.leaders.wait(p0, 10, 0, 1, startMs + 5_000)
    led.nowMs += lagMaxMs + 1
    led.check()
    led.accept(led.request())
    expect(led.describe().inSyncReplicas).toEqual([leader])
    expect(led.takeCompleted()).toEqual([])
    led.leaders.expire(startMs + 5_000)
    expect(led.takeCompleted()).toMatchObject([{ error: errorNumber('REQUEST_TIMED_OUT') }])
  })

  it('get 20 when it was committed and the ISR is below the minimum at the check', () => {
    const led = new Led({ replicas: [leader, b] })
    led.append(10)
    led.fetch(b, 10)
    led.metadata({ replicas: [leader, b], partitionEpoch: 11, inSyncReplicas: [leader] }, 2)
    led.leaders.wait(p0, 10, 0, 1, later)
    const error = errorNumber('NOT_ENOUGH_REPLICAS_AFTER_APPEND')
    expect(led.takeCompleted()).toMatchObject([{ ticket: 1, error }])
  })

  it('are checked after the append against the maximal ISR', () => {
    const led = new Led({ replicas: [leader, b] })
    led.append(10)
    led.fetch(b, 10)
    led.metadata({ replicas: [leader, b], partitionEpoch: 11, inSyncReplicas: [leader] }, 2)
    led.poll(b)
    expect(led.describe().isrState).toBe('pendingExpand')
    led.leaders.wait(p0, 10, 0, 1, later)
    expect(led.takeCompleted()).toMatchObject([{ ticket: 1, error: 0 }])
  })
})

interface Waiter {
  readonly partition: number
  readonly requiredOffset: number
  readonly ticket: number
  readonly deadlineMs: number
}

/** What should have happened, by walking plain lists. */
class ModelAcks {
  waiting: Waiter[] = []
  done = new Map<number, number>()

  settle(highWatermarks: number[]): void {
    this.#finish((waiter) => waiter.requiredOffset <= highWatermarks[waiter.partition], 0)
  }

  expire(nowMs: number, highWatermarks: number[]): void {
    this.settle(highWatermarks)
    this.#finish((waiter) => waiter.deadlineMs <= nowMs, errorNumber('REQUEST_TIMED_OUT'))
  }

  fail(partition: number, highWatermarks: number[]): void {
    this.settle(highWatermarks)
    this.#finish((waiter) => waiter.partition === partition, 6)
  }

  #finish(isOver: (waiter: Waiter) => boolean, error: number): void {
    for (const waiter of this.waiting.filter(isOver)) this.done.set(waiter.ticket, error)
    this.waiting = this.waiting.filter((waiter) => !isOver(waiter))
  }
}

describe('the pool', () => {
  const partitionCount = 3
  const partitions = fc.nat({ max: partitionCount - 1 })
  const step = fc.oneof(
    fc.record({ kind: fc.constant('wait' as const), partition: partitions, ms: fc.nat(50) }),
    fc.record({ kind: fc.constant('wait' as const), partition: partitions, ms: fc.nat(50) }),
    fc.record({ kind: fc.constant('advance' as const), partition: partitions, ms: fc.nat(4) }),
    fc.record({ kind: fc.constant('expire' as const), partition: partitions, ms: fc.nat(9) }),
    fc.record({ kind: fc.constant('fail' as const), partition: partitions, ms: fc.nat(9) }),
    fc.record({ kind: fc.constant('take' as const), partition: partitions, ms: fc.nat(9) }),
  )

  it('equals plain lists, whatever is waited for, advanced, expired and failed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const highWatermarks = new Array<number>(partitionCount).fill(0)
        const endOffsets = new Array<number>(partitionCount).fill(0)
        const acks = new WaitingAcks(partitionCount, {
          highWatermark: (partition) => highWatermarks[partition],
          hasEnoughReplicas: () => true,
        })
        const model = new ModelAcks()
        const done = new Map<number, number>()
        const take = () => {
          acks.takeCompleted({ completed: (_, ticket, error) => void done.set(ticket, error) })
          model.settle(highWatermarks)
        }
        let nowMs = 0
        for (const [ticket, { kind, partition, ms }] of steps.entries()) {
          const index = partitionIndex(partition)
          if (kind === 'wait') {
            endOffsets[partition] += 1
            const requiredOffset = endOffsets[partition]
            acks.wait(index, requiredOffset, 0, ticket, nowMs + ms, 0)
            model.waiting.push({ partition, requiredOffset, ticket, deadlineMs: nowMs + ms })
          } else if (kind === 'advance') {
            const target = Math.min(endOffsets[partition], highWatermarks[partition] + ms)
            highWatermarks[partition] = target
            acks.highWatermarkMoved(index, target)
          } else if (kind === 'expire') {
            nowMs += ms
            acks.expire(nowMs)
            model.expire(nowMs, highWatermarks)
          } else if (kind === 'fail') {
            acks.failAll(index, 6)
            model.fail(partition, highWatermarks)
          } else take()
        }
        take()
        expect([...done].sort(byTicket)).toEqual([...model.done].sort(byTicket))
        expect(acks.waitingCount).toBe(model.waiting.length)
      }),
      { numRuns: 500 },
    )
  })

  it('grows and loses nobody', () => {
    const acks = new WaitingAcks(1, { highWatermark: () => 0, hasEnoughReplicas: () => true })
    const partition: PartitionIndex = partitionIndex(0)
    for (let ticket = 1; ticket <= 5_000; ticket += 1) {
      acks.wait(partition, ticket, 0, ticket, later, 0)
    }
    acks.failAll(partition, 6)
    const tickets: number[] = []
    acks.takeCompleted({ completed: (_, ticket) => void tickets.push(ticket) })
    expect(tickets).toEqual(Array.from({ length: 5_000 }, (_, place) => place + 1))
  })
})

function byTicket(left: [number, number], right: [number, number]): number {
  return left[0] - right[0]
}
