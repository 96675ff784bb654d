import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Doorbell, ringDoorbell } from '../../src/workers/doorbell.ts'
import { interrupting, stepping } from '../support/atomics-steps.ts'

interface Scene {
  readonly words: Int32Array
  readonly bell: Doorbell
}

function newScene(): Scene {
  const words = new Int32Array(new SharedArrayBuffer(8))
  return { words, bell: new Doorbell(words, 0) }
}

describe('a wake-up is not lost', () => {
  it('when it comes before any operation of the way to sleep', () => {
    // 0: the look at the bell, 1: the parked word, 2: the wait itself.
    for (let at = 0; at < 3; at++) {
      const { words, bell } = newScene()
      let work = 0
      let waited = ''
      const wait = Atomics.wait
      interrupting(
        () => {
          const seen = bell.read()
          if (work > 0) return
          bell.park(seen, 0)
          waited = Atomics.load(words, 0) === seen ? 'slept' : 'awake'
        },
        at,
        () => {
          work++
          ringDoorbell(words, 0)
        },
      )
      expect(Atomics.wait).toBe(wait)
      expect([at, work, waited === 'slept']).toEqual([at, 1, false])
    }
  })

  it('the ringer notifies whoever went to sleep before it changed the bell', () => {
    // The owner sets the parked word and compares the bell before each operation of the ringer.
    for (const parkAt of [0, 1]) {
      const { words, bell } = newScene()
      let notifications = 0
      let sleeps = false
      const notify = Atomics.notify
      Atomics.notify = (() => notifications++) as unknown as typeof notify
      const seen = bell.read()
      stepping(
        () => ringDoorbell(words, 0),
        (operation) => {
          if (operation !== parkAt) return
          Atomics.store(words, 1, 1)
          sleeps = bell.read() === seen
        },
      )
      Atomics.notify = notify
      expect([parkAt, sleeps, notifications > 0]).toEqual([parkAt, parkAt === 0, true])
    }
  })

  it('asynchronously: a bell that rang before the wait resolves at once', async () => {
    const { bell } = newScene()
    const seen = bell.read()
    bell.ring()
    const before = performance.now()
    await bell.parkAsync(seen, 10_000)
    expect(performance.now() - before).toBeLessThan(5_000)
  })

  it('asynchronously: a ring ends the wait', async () => {
    const { words, bell } = newScene()
    const parked = bell.parkAsync(bell.read(), 20_000)
    expect(Atomics.load(words, 1)).toBe(1)
    ringDoorbell(words, 0)
    const before = performance.now()
    await parked
    expect(performance.now() - before).toBeLessThan(10_000)
    expect(Atomics.load(words, 1)).toBe(0)
  })

  it('an awake owner costs no notify', () => {
    const { words } = newScene()
    let notifications = 0
    const notify = Atomics.notify
    Atomics.notify = (() => notifications++) as unknown as typeof notify
    ringDoorbell(words, 0)
    Atomics.notify = notify
    expect(notifications).toBe(0)
  })
})

describe('between real threads', () => {
  const rounds = 20_000
  /** The other thread's half, by the same order of operations as the class under test. */
  const ponger = `
    const { workerData: words } = require('node:worker_threads')
    const ring = (base) => {
      Atomics.add(words, base, 1)
      if (Atomics.load(words, base + 1) !== 0) Atomics.notify(words, base)
    }
    let done = 0
    while (done < ${rounds}) {
      const seen = Atomics.load(words, 2)
      if (Atomics.load(words, 4) > done) {
        done++
        Atomics.store(words, 5, done)
        ring(0)
        continue
      }
      Atomics.store(words, 3, 1)
      if (Atomics.wait(words, 2, seen, 20000) === 'timed-out') throw new Error('lost at ' + done)
      Atomics.store(words, 3, 0)
    }
  `

  it('twenty thousand times there and back, and no wait runs into its time limit', async () => {
    // Bell and parked word of ours (0, 1) and theirs (2, 3), what was sent (4) and answered (5).
    const words = new Int32Array(new SharedArrayBuffer(24))
    const bell = new Doorbell(words, 0)
    const worker = new Worker(ponger, { eval: true, workerData: words })
    onTestFinished(async () => {
      await worker.terminate()
    })
    await once(worker, 'online')
    const startMs = performance.now()
    for (let round = 1; round <= rounds; round++) {
      Atomics.store(words, 4, round)
      ringDoorbell(words, 2)
      for (;;) {
        const seen = bell.read()
        if (Atomics.load(words, 5) === round) break
        bell.park(seen, 20_000)
        if (performance.now() - startMs > 25_000) throw new Error(`stuck in round ${round}`)
      }
    }
    expect(Atomics.load(words, 5)).toBe(rounds)
  }, 30_000)
})
