import { describe, expect, it } from 'vitest'
import { AckRing, allocateAckRings } from '../../src/workers/ack-ring.ts'
import { countSteps, interrupting } from '../support/atomics-steps.ts'

function ringOf(capacity: number): { leader: AckRing; producer: AckRing } {
  const buffers = allocateAckRings(2, 3, capacity)
  return { leader: new AckRing(buffers, 1, 2), producer: new AckRing(buffers, 1, 2) }
}

function drained(ring: AckRing): number[][] {
  const acks: number[][] = []
  ring.drain((...ack) => acks.push(ack))
  return acks
}

describe('an ack ring', () => {
  it('hands on what was pushed, in order, negative and large numbers included', () => {
    const { leader, producer } = ringOf(4)
    const acks = [
      [1, 0, 2 ** 40 + 3],
      [2, -3, -1],
      [-5, 19, 0],
    ]
    for (const [ticket, error, offset] of acks) leader.push(ticket!, error!, offset!)
    expect(drained(producer)).toEqual(acks)
    expect(drained(producer)).toEqual([])
  })

  it('goes around many times, errors and offsets in turn', () => {
    const { leader, producer } = ringOf(4)
    for (let at = 0; at < 100; at++) {
      const ack = at % 2 === 0 ? [at, 0, at * 2 ** 31] : [at, 19, -1]
      leader.push(ack[0]!, ack[1]!, ack[2]!)
      if (at % 3 === 2) expect(drained(producer).at(-1)).toEqual(ack)
    }
  })

  it('full, it refuses loudly rather than overwrite', () => {
    const { leader, producer } = ringOf(4)
    for (let ticket = 0; ticket < 4; ticket++) leader.push(ticket, 0, ticket)
    expect(() => leader.push(4, 0, 4)).toThrow(/no more outstanding/)
    expect(drained(producer).map(([ticket]) => ticket)).toEqual([0, 1, 2, 3])
    leader.push(4, 0, 4)
    expect(drained(producer)).toEqual([[4, 0, 4]])
  })

  it('has room for the answer to what a visitor sends at once', () => {
    const { leader, producer } = ringOf(2)
    leader.push(0, 0, 0)
    leader.push(1, 0, 1)
    let sent = 2
    producer.drain(() => leader.push(sent++, 0, 0))
    expect(drained(producer).map(([ticket]) => ticket)).toEqual([2, 3])
  })

  it('shows an entry whole or not at all, wherever the reader looks in', () => {
    const push = (ring: AckRing) => ring.push(7, 19, 2 ** 33)
    const steps = countSteps(() => push(ringOf(4).leader))
    expect(steps).toBeGreaterThan(3)
    for (let at = 0; at < steps; at++) {
      const { leader, producer } = ringOf(4)
      const seen: number[][] = []
      interrupting(
        () => push(leader),
        at,
        () => seen.push(...drained(producer)),
      )
      expect([...seen, ...drained(producer)]).toEqual([[7, 19, 2 ** 33]])
    }
  })

  it('keeps the rings of other producers and brokers apart', () => {
    const buffers = allocateAckRings(2, 2, 4)
    const rings = [0, 1, 2, 3].map((at) => new AckRing(buffers, at >> 1, at & 1))
    for (const [at, ring] of rings.entries()) for (let n = 0; n < 4; n++) ring.push(at, n, at)
    for (const [at, ring] of rings.entries()) {
      expect(drained(ring)).toEqual([0, 1, 2, 3].map((n) => [at, n, at]))
    }
  })
})
