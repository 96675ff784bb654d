/**
 * Faults that Apache Kafka had, by the letter and number under which this project lists them and
 * by their tickets: the smallest steps that showed each, and what must come out instead.
 */
import { expect, it } from 'vitest'
import {
  b,
  c,
  Led,
  lagMaxMs,
  leader,
  ledWithLaggard,
  p0,
  startMs,
} from '../replication/led-fixture.ts'

const later = startMs + 60_000

it('B1 (KAFKA-12686): metadata does not free the sender, and the late answer is nobody’s', () => {
  const led = ledWithLaggard()
  led.nowMs += lagMaxMs + 1
  led.check()
  const request = led.request()
  led.metadata({ partitionEpoch: 11, inSyncReplicas: [leader, b, c] })
  expect(led.check()).toBe(0)
  expect(led.describe().isrState).toBe('committed')
  led.accept(request)
  expect(led.describe()).toMatchObject({ inSyncReplicas: [leader, b, c], partitionEpoch: 11 })
  expect(led.leaders.counters.isrShrinks).toBe(0)
  expect(led.check()).toBe(1)
  expect(led.request().items[0].partitionEpoch).toBe(11)
})

it('B3 (KAFKA-13091): moves the high watermark and releases who waits', () => {
  const led = ledWithLaggard()
  led.leaders.wait(p0, 10, 0, 77, startMs + 60_000, 5)
  led.nowMs += lagMaxMs + 1
  led.check()
  expect(led.takeCompleted()).toEqual([])
  led.accept(led.request())
  expect(led.takeCompleted()).toEqual([{ ticket: 77, error: 0, baseOffset: 5 }])
})

it('B4 (KAFKA-13254): a visitor may append, fetch and wait again', () => {
  const led = new Led({ replicas: [leader] })
  const seen: number[] = []
  led.append(1)
  led.leaders.wait(p0, 1, 0, 1, later)
  const visited = led.leaders.takeCompleted({
    completed: (_, ticket) => {
      seen.push(ticket)
      if (ticket === 5) return
      led.append(ticket + 1)
      led.leaders.wait(p0, ticket + 1, 0, ticket + 1, later)
    },
  })
  expect(seen).toEqual([1, 2, 3, 4, 5])
  expect(visited).toBe(5)
})

it('B5 (KAFKA-14154): NOT_CONTROLLER is not final, it goes to the next controller', () => {
  const led = new Led({ isr: [leader], logEndOffset: 10 })
  led.fetch(b, 10)
  const request = led.request()
  led.refuse(request, 'NOT_CONTROLLER')
  expect(led.describe().isrState).toBe('pendingExpand')
  expect(led.leaders.counters.failedIsrUpdates).toBe(0)
  expect(led.hasRequest()).toBe(false)
  led.nowMs += 50
  const again = led.request()
  expect(again.items[0]).toBe(request.items[0])
  led.accept(again)
  expect(led.describe().inSyncReplicas).toEqual([leader, b])
})
