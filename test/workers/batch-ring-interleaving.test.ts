import { describe, expect, it } from 'vitest'
import { limits } from '../../src/limits.ts'
import { countSteps, endingAt, interrupting, stepping } from '../support/atomics-steps.ts'
import { RingProducerActor, RingReaderActor, ringAt, unitsInUse } from '../support/ring-actors.ts'

const capacity = limits.ringBytesMin / 64

interface Actors {
  readonly first: RingProducerActor
  readonly second: RingProducerActor
  readonly third: RingProducerActor
  readonly leader: RingReaderActor
}

/** Positions at which a claim of 40 units fits, and at which it must go around. */
const places = { 'in the middle': 100, 'around the end': capacity - 10 } as const

function actorsAt(start: number): Actors {
  const buffers = ringAt(start)
  const [first, second, third] = [0, 1, 2].map((slot) => new RingProducerActor(buffers, slot))
  return { first: first!, second: second!, third: third!, leader: new RingReaderActor(buffers) }
}

const bytes = 39 * 64
const claimSteps = countSteps(() => actorsAt(0).first.tryClaim(1, bytes))

type Intrusion = (actors: Actors) => void
const intrusions: Readonly<Record<string, Intrusion>> = {
  'claims and commits': ({ second }) => {
    second.tryClaim(2, 500)
    second.commit()
  },
  'claims and aborts': ({ second }) => {
    second.tryClaim(2, 500)
    second.abort()
  },
  'claims and holds': ({ second }) => {
    second.tryClaim(2, 500)
  },
  'aborts, a third one claims and holds': ({ second, third }) => {
    second.tryClaim(2, 500)
    second.abort()
    third.tryClaim(3, 700)
  },
  'claims around the end, commits, and all is reclaimed': ({ second, leader }) => {
    second.tryClaim(2, 10_000)
    second.commit()
    leader.take(10)
    leader.ring.reclaim(leader.ring.published)
  },
  nothing: () => undefined,
}

/** Whatever is still held is committed; then everything must pass through. */
function expectToDrain({ first, second, third, leader }: Actors, lost: readonly number[]): void {
  for (const each of [first, second, third]) if (each.holds) each.commit()
  third.tryClaim(9, 300)
  third.commit()
  leader.take(1_000)
  const { ring } = leader
  expect(ring.published).toBe(ring.tail)
  expect(ring.isClaimed()).toBe(false)
  expect(leader.ids.at(-1)).toBe(9)
  expect(leader.ids.filter((id) => lost.includes(id))).toEqual([])
  ring.reclaim(ring.published)
  expect(unitsInUse(ring)).toBe(0)
}

describe.each(Object.entries(places))('a claim %s', (_, start) => {
  it.each(Object.entries(intrusions))('is whole wherever another producer %s', (_name, intrude) => {
    const steps = claimSteps + 4
    for (let at = 0; at < steps; at++) {
      const actors = actorsAt(start)
      const { first, leader } = actors
      interrupting(
        () => first.tryClaim(1, bytes),
        at,
        () => intrude(actors),
      )
      expect(first.holds).toBe(true)
      expectToDrain(actors, [])
      expect(leader.ids).toContain(1)
    }
  })

  it('never lies in a closed ring, wherever the ring is closed', () => {
    for (let at = 0; at <= claimSteps + 2; at++) {
      const { first, leader } = actorsAt(start)
      let isClaimedWhenClosed = false
      interrupting(
        () => first.tryClaim(1, bytes),
        at,
        () => {
          leader.ring.close()
          isClaimedWhenClosed = leader.ring.isClaimed()
        },
      )
      // Who closes and sees no claim may reset at once: then nobody may have claimed after.
      if (leader.ring.closed && first.holds) expect([at, isClaimedWhenClosed]).toEqual([at, true])
      if (first.holds) first.commit()
      expect(leader.ring.isClaimed()).toBe(false)
    }
  })
})

describe.each(Object.entries(places))('a producer that dies while it claims %s', (_, start) => {
  /** Claim and commit, the words of the header between them. */
  const work = ({ first }: Actors) => {
    first.tryClaim(1, bytes)
    first.commit()
  }
  const steps = countSteps(() => work(actorsAt(start))) + 8

  it.each(Object.entries(intrusions))('leaves no hole though another %s', (_name, intrude) => {
    for (let intrudeAt = 0; intrudeAt < claimSteps; intrudeAt++) {
      for (let dieAt = intrudeAt + 1; dieAt < steps; dieAt++) {
        const fresh = actorsAt(start)
        let isDead = false
        try {
          stepping(
            () => work(fresh),
            (operation) => {
              if (operation === intrudeAt) intrude(fresh)
              if (operation === dieAt) {
                isDead = true
                throw new Error('the thread ends')
              }
            },
          )
        } catch (error) {
          if (!isDead) throw error
        }
        if (!isDead) continue
        fresh.first.holds = false
        fresh.first.ring.repairAfterDeath(0)
        // What was repaired may pass at once, beside claims that are still held.
        fresh.leader.take(1_000)
        for (const each of [fresh.second, fresh.third]) if (each.holds) each.commit()
        fresh.first.ring.repairAfterDeath(0)
        expect(fresh.first.ring.needsRepair(0)).toBe(false)
        expectToDrain(fresh, [])
      }
    }
  })

  it('with a second one that dies in the same place', () => {
    for (let firstAt = 0; firstAt < claimSteps + 2; firstAt++) {
      for (let secondAt = 0; secondAt < claimSteps + 2; secondAt++) {
        const actors = actorsAt(start)
        const { first, second, leader } = actors
        endingAt(
          () =>
            interrupting(
              () => first.tryClaim(1, bytes),
              99,
              () => undefined,
            ),
          firstAt,
        )
        endingAt(() => second.tryClaim(2, 500), secondAt)
        first.holds = false
        second.holds = false
        for (let tries = 0; tries < 2; tries++) {
          leader.ring.repairAfterDeath(0)
          leader.ring.repairAfterDeath(1)
        }
        expectToDrain(actors, [1, 2])
      }
    }
  })
})
