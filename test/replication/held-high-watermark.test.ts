import { expect, it } from 'vitest'
import { b, c, Led, lagMaxMs, leader } from './led-fixture.ts'

it('a caught-up outsider that falls silent holds the high watermark no longer than the lag limit', () => {
  const led = new Led({ isr: [leader, b] })
  led.fetch(b, 0)
  led.fetch(c, 0) // outside the ISR, at the end: it might join
  led.refuse(led.request(), 'INELIGIBLE_REPLICA')
  led.append(1)
  led.nowMs += 10
  led.fetch(b, 1) // held at 0: c is caught up by time
  expect(led.highWatermark()).toBe(0)
  for (let half = 0; half < 20; half += 1) {
    // c is frozen; b polls on, nothing changes
    led.nowMs += lagMaxMs / 2
    led.poll(b)
    led.check()
  }
  expect(led.highWatermark()).toBe(1)
})
