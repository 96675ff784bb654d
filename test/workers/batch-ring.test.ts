import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { limits } from '../../src/limits.ts'
import { allocateBatchRing, BatchRing, unitsBetween } from '../../src/workers/batch-ring.ts'
import { RingProducerActor, RingReaderActor, ringAt, unitsInUse } from '../support/ring-actors.ts'

const capacity = limits.ringBytesMin / 64
const batchBytesMax = capacity * 16 - 64
/** Ordinary, then just before positions turn negative, then just before they begin again at 0. */
const starts = [0, 0x7fff_ffff - capacity + 9, -capacity + 5] as const

type Move =
  | { readonly do: 'claim'; readonly by: number; readonly bytes: number }
  | { readonly do: 'commit' | 'abort'; readonly by: number }
  | { readonly do: 'take' | 'read'; readonly count: number }
  | { readonly do: 'reclaim' | 'detach' | 'attach' }

const by = fc.integer({ min: 0, max: 1 })
const bytes = fc.constantFrom(1, 63, 64, 65, 1_000, 20_000, batchBytesMax - 1, batchBytesMax)
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('claim' as const), by, bytes }) },
  { weight: 7, arbitrary: fc.record({ do: fc.constant('commit' as const), by }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const), by }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('take' as const, 'read' as const),
      count: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('reclaim' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('detach' as const, 'attach' as const) }),
  },
)

class Scene {
  readonly producers: RingProducerActor[]
  readonly leader: RingReaderActor
  readonly follower: RingReaderActor
  /** Ids in the order of their claims; undefined: aborted, or not committed yet. */
  readonly claimed: { id: number; isCommitted: boolean }[] = []
  attached = true
  #id = 0

  constructor(start: number) {
    const buffers = ringAt(start)
    this.producers = [new RingProducerActor(buffers, 0), new RingProducerActor(buffers, 1)]
    this.leader = new RingReaderActor(buffers)
    this.follower = new RingReaderActor(buffers)
  }

  play(each: Move): void {
    const { ring } = this.leader
    if (each.do === 'claim') {
      const producer = this.producers[each.by]!
      if (producer.holds) return
      const id = ++this.#id
      if (producer.tryClaim(id, each.bytes)) this.claimed.push({ id, isCommitted: false })
    } else if (each.do === 'commit' || each.do === 'abort') {
      const producer = this.producers[each.by]!
      if (!producer.holds) return
      if (each.do === 'commit') {
        producer.commit()
        this.claimed.find(({ id }) => id === producer.id)!.isCommitted = true
      } else producer.abort()
    } else if (each.do === 'take') this.leader.take(each.count)
    else if (each.do === 'read') {
      if (this.attached) this.follower.read(each.count)
    } else if (each.do === 'detach') this.attached = false
    else if (each.do === 'attach') {
      if (!this.attached) this.follower.position = ring.published
      this.attached = true
    } else ring.reclaim(this.attached ? this.follower.position : ring.published)
    const used = unitsBetween(ring.limit, ring.tail)
    if (used >= capacity) throw new Error(`${used} units in use`)
  }

  finish(): void {
    for (const producer of this.producers) {
      if (!producer.holds) continue
      producer.commit()
      this.claimed.find(({ id }) => id === producer.id)!.isCommitted = true
    }
    this.leader.take(Number.POSITIVE_INFINITY)
    if (this.attached) this.follower.read(Number.POSITIVE_INFINITY)
    this.leader.ring.reclaim(this.leader.ring.published)
  }
}

describe.each(starts)(
  'any order of claim, commit, take, read and reclaim, from position %i',
  (start) => {
    it('shows every committed batch whole and in the order of claims, and gives all space back', () => {
      fc.assert(
        fc.property(fc.array(move, { minLength: 30, maxLength: 250 }), (moves) => {
          const scene = new Scene(start)
          for (const each of moves) scene.play(each)
          scene.finish()
          const committed = scene.claimed.filter((each) => each.isCommitted).map(({ id }) => id)
          expect(scene.leader.ids).toEqual(committed)
          const seen = new Set(scene.follower.ids)
          expect(scene.follower.ids).toEqual(committed.filter((id) => seen.has(id)))
          if (!moves.some((each) => each.do === 'detach')) {
            expect(scene.follower.ids).toEqual(committed)
          }
          const { ring } = scene.leader
          expect([ring.limit, ring.published]).toEqual([ring.tail, ring.tail])
          expect(unitsInUse(ring)).toBe(0)
        }),
        { numRuns: 40 },
      )
    }, 60_000)
  },
)

describe('a full ring', () => {
  it.each(starts)('refuses a claim and nothing has changed, from position %i', (start) => {
    const buffers = ringAt(start)
    const producer = new RingProducerActor(buffers, 0)
    const leader = new RingReaderActor(buffers)
    let id = 0
    while (producer.tryClaim(++id, 5_000)) producer.commit()
    const before = [buffers.control, buffers.data].map((each) => Buffer.from(each.slice(0)))
    for (const size of [5_000, batchBytesMax]) expect(producer.tryClaim(id, size)).toBe(false)
    const after = [buffers.control, buffers.data].map((each) => Buffer.from(each.slice(0)))
    expect(after.map((each, at) => each.equals(before[at]!))).toEqual([true, true])
    expect(leader.take(Number.POSITIVE_INFINITY)).toBeGreaterThan(40)
    expect(leader.ids).toHaveLength(id - 1)
    expect(producer.tryClaim(id, 5_000)).toBe(false)
    leader.ring.reclaim(leader.ring.published)
    expect(producer.tryClaim(id, batchBytesMax)).toBe(true)
  })

  it('never fills to the last unit, so that the leader does not run into what it took', () => {
    const buffers = ringAt(0)
    const producer = new RingProducerActor(buffers, 0)
    const leader = new RingReaderActor(buffers)
    // Four frames of a quarter would fill it exactly.
    const taken = [1, 2, 3, 4].filter((id) => {
      const isClaimed = producer.tryClaim(id, batchBytesMax)
      if (isClaimed) producer.commit()
      return isClaimed
    })
    expect(taken).toEqual([1, 2, 3])
    expect(leader.take(100)).toBe(3)
    expect(producer.tryClaim(5, batchBytesMax - 64)).toBe(true)
    producer.commit()
    expect(unitsBetween(leader.ring.limit, leader.ring.tail)).toBe(capacity - 1)
    expect(leader.take(100)).toBe(1)
    expect(leader.ids).toEqual([1, 2, 3, 5])
  })

  it('a claim held up keeps back what came after it, and nothing else', () => {
    const buffers = ringAt(0)
    const [slow, quick] = [0, 1].map((slot) => new RingProducerActor(buffers, slot)) as [
      RingProducerActor,
      RingProducerActor,
    ]
    const leader = new RingReaderActor(buffers)
    quick.tryClaim(1, 100)
    quick.commit()
    slow.tryClaim(2, 100)
    quick.tryClaim(3, 100)
    quick.commit()
    leader.take(10)
    expect(leader.ids).toEqual([1])
    slow.commit()
    leader.take(10)
    expect(leader.ids).toEqual([1, 2, 3])
  })
})

describe('the life of a ring', () => {
  it('closed it refuses claims; a held one is still committed; reopened it begins empty in a new era', () => {
    const buffers = ringAt(0)
    const producer = new RingProducerActor(buffers, 0)
    const other = new RingProducerActor(buffers, 1)
    const { ring } = producer
    producer.tryClaim(1, 100)
    ring.close()
    expect([ring.closed, ring.isClaimed(), other.tryClaim(2, 100)]).toEqual([true, true, false])
    expect(() => ring.reopen()).toThrow(/closed and without claims/)
    producer.commit()
    expect(ring.isClaimed()).toBe(false)
    const { era, tail } = ring
    ring.reopen()
    expect([ring.era, ring.limit, ring.published, ring.tail]).toEqual([era + 1, tail, tail, tail])
    const leader = new RingReaderActor(buffers)
    expect(leader.take(10)).toBe(0)
    other.tryClaim(3, 200)
    other.commit()
    expect(leader.take(10)).toBe(1)
    expect(leader.ids).toEqual([3])
  })

  it('an open ring is not reset', () => {
    const ring = new BatchRing(ringAt(0))
    expect(() => ring.reopen()).toThrow(/closed and without claims/)
  })

  it.each([3 * limits.ringBytesMin, limits.ringBytesMin / 2, 2 * limits.ringBytesMax])(
    'a ring of %i bytes is refused',
    (size) => {
      expect(() => allocateBatchRing(size)).toThrow(/ring size/)
    },
  )

  it('a batch above its share of the ring is refused', () => {
    const ring = new BatchRing(ringAt(0))
    const claim = { position: 0, units: 0 }
    expect(() => ring.tryClaim(0, ring.batchBytesMax + 1, claim)).toThrow(/share of a ring/)
  })
})
