import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type LagLines,
  type ReadOrder,
  RoundRobinOrder,
  SmallestLagOrder,
  SortedOrder,
} from '../../src/lab/catch-up-model-order.ts'

interface Move {
  /** Milliseconds that pass, and bytes that the read takes; removed when `ends`. */
  readonly ms: number
  readonly bytes: number
  readonly ends: boolean
}

const moves = fc.array(
  fc.record({
    ms: fc.double({ min: 0, max: 10, noNaN: true }),
    bytes: fc.integer({ min: 0, max: 400 }),
    ends: fc.boolean(),
  }),
  { maxLength: 120, size: 'max' },
)

/** Plays the moves; says of each choice its lag and the smallest lag there was. */
function play(order: ReadOrder, lines: LagLines, members: Set<number>, played: readonly Move[]) {
  const choices: { chosen: number; lagBytes: number; smallestBytes: number }[] = []
  const lagOf = (member: number, nowMs: number) =>
    lines.baseBytes[member]! + lines.arrivalBytesPerMs[member]! * nowMs
  let nowMs = 0
  for (const { ms, bytes, ends } of played) {
    if (order.count === 0) break
    const chosen = order.next(nowMs)
    const smallestBytes = Math.min(...[...members].map((member) => lagOf(member, nowMs)))
    choices.push({ chosen, lagBytes: lagOf(chosen, nowMs), smallestBytes })
    lines.baseBytes[chosen] = lines.baseBytes[chosen]! - bytes
    nowMs += ms
    if (!ends) continue
    order.removeCurrent()
    members.delete(chosen)
    expect(order.count).toBe(members.size)
  }
  return choices
}

describe('smallest lag first', () => {
  const partition = fc.record({ bytes: fc.nat({ max: 3000 }), rate: fc.nat({ max: 100 }) })
  const partitions = fc.array(partition, { minLength: 1, maxLength: 60, size: 'max' })

  test('rates of their own: each choice is the smallest lag, as a plain search finds it', () => {
    fc.assert(
      fc.property(partitions, moves, (load, played) => {
        const lines = {
          baseBytes: Float64Array.from(load, ({ bytes }) => bytes),
          arrivalBytesPerMs: Float64Array.from(load, ({ rate }) => rate),
        }
        const members = new Set(load.keys())
        const order = new SmallestLagOrder(Int32Array.from(members), lines)
        for (const { lagBytes, smallestBytes } of play(order, lines, members, played)) {
          expect(Math.abs(lagBytes - smallestBytes)).toBeLessThan(1e-6)
        }
      }),
    )
  })

  test('one rate for all: the same', () => {
    fc.assert(
      fc.property(partitions, moves, (load, played) => {
        const lines = {
          baseBytes: Float64Array.from(load, ({ bytes }) => bytes),
          arrivalBytesPerMs: new Float64Array(load.length).fill(load[0]!.rate),
        }
        const members = new Set(load.keys())
        const order = new SortedOrder(Int32Array.from(members), lines)
        for (const { lagBytes, smallestBytes } of play(order, lines, members, played)) {
          expect(Math.abs(lagBytes - smallestBytes)).toBeLessThan(1e-6)
        }
      }),
    )
  })
})

test('round robin goes by number, skips who is not behind and who is done', () => {
  const order = new RoundRobinOrder(Int32Array.of(1, 2, 5, 6), 8)
  expect([order.next(), order.next(), order.next()]).toEqual([1, 2, 5])
  order.removeCurrent()
  expect([order.next(), order.next(), order.next(), order.next()]).toEqual([6, 1, 2, 6])
  order.removeCurrent()
  order.next()
  order.removeCurrent()
  expect([order.count, order.next(), order.next()]).toEqual([1, 2, 2])
  order.removeCurrent()
  expect(order.count).toBe(0)
})
