import { describe, expect, it } from 'vitest'
import { WakeLoop } from '../../src/client/wake-loop.ts'
import { Doorbell, doorbellWords } from '../../src/workers/doorbell.ts'

function loopWithBell() {
  const words = new Int32Array(new SharedArrayBuffer(doorbellWords * 4))
  const bell = new Doorbell(words, 0)
  return { bell, loop: new WakeLoop(bell), words }
}

/** Lets everything that is due on the event loop happen, file and timer callbacks included. */
const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0))

async function until(condition: () => boolean): Promise<void> {
  const limitMs = performance.now() + 5_000
  while (!condition()) {
    if (performance.now() > limitMs) throw new Error('did not come to pass within 5 s')
    await turn()
  }
}

describe('the wake loop', () => {
  it('calls every listener after a ring, and none after it was removed', async () => {
    const { bell, loop } = loopWithBell()
    const calls = { a: 0, b: 0 }
    const onA = () => void calls.a++
    const onB = () => void calls.b++
    loop.add(onA)
    loop.add(onB)
    const before = { ...calls }
    bell.ring()
    await until(() => calls.a > before.a && calls.b > before.b)
    loop.remove(onA)
    const { a, b } = calls
    bell.ring()
    await until(() => calls.b > b)
    expect(calls.a).toBe(a)
    loop.remove(onB)
  })

  it('loses no ring that comes while listeners run', async () => {
    const { bell, loop } = loopWithBell()
    const rings = 100
    let calls = 0
    const onWake = () => {
      if (++calls <= rings) bell.ring()
    }
    const startMs = performance.now()
    loop.add(onWake)
    await until(() => calls > rings)
    // By rings, not by the tenth of a second after which it wakes by itself.
    expect(performance.now() - startMs).toBeLessThan(rings * 50)
    loop.remove(onWake)
  })

  it('never holds up the event loop, however fast the bell is rung', async () => {
    const { bell, loop } = loopWithBell()
    let calls = 0
    const onWake = () => {
      // A bell that always rings again: without a turn in between this would never end.
      if (++calls < 100_000) bell.ring()
    }
    loop.add(onWake)
    for (let turns = 0; turns < 3; turns++) await turn()
    loop.remove(onWake)
    expect(calls).toBeGreaterThan(0)
    expect(calls).toBeLessThan(1_000)
  })

  it('wakes by itself for what is due by time', async () => {
    const { loop } = loopWithBell()
    let calls = 0
    const onWake = () => void calls++
    loop.add(onWake)
    await until(() => calls >= 3)
    loop.remove(onWake)
  })

  it('stops when nobody listens, and starts again', async () => {
    const { bell, loop, words } = loopWithBell()
    let calls = 0
    const onWake = () => {
      calls++
      loop.remove(onWake)
    }
    for (let round = 1; round <= 3; round++) {
      loop.add(onWake)
      await until(() => calls === round)
    }
    bell.ring()
    await turn()
    expect([calls, words[1]]).toEqual([3, 0])
  })

  it('takes listeners that others add while they are called', async () => {
    const { bell, loop } = loopWithBell()
    let inner = 0
    const onInner = () => void inner++
    const onOuter = () => loop.add(onInner)
    loop.add(onOuter)
    loop.wake()
    await until(() => inner > 0)
    loop.remove(onOuter)
    loop.remove(onInner)
    bell.ring()
  })
})
