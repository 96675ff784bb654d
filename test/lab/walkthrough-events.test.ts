import { describe, expect, it } from 'vitest'
import type { ClusterEvent } from '../../src/cluster-events.ts'
import { TidemarkError } from '../../src/errors.ts'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { WalkthroughEvents } from '../../src/lab/walkthrough-events.ts'

function fenced(broker: number): ClusterEvent {
  const event = { atMs: 1, kind: 'fenced' as const, brokerId: brokerId(broker), partitions: [] }
  return { type: 'controller', event: { ...event, detail: {} } }
}

describe('waiting for the story to go on', () => {
  it('takes the next event that fits, from the mark on, whether it has come or will', async () => {
    const events = new WalkthroughEvents(new AbortController().signal)
    events.take(fenced(1))
    events.mark()
    const waiting = events.controller('fenced')
    events.take(fenced(2))
    events.take(fenced(3))
    expect((await waiting).brokerId).toBe(2)
    expect((await events.controller('fenced', (e) => e.brokerId === 3)).brokerId).toBe(3)
    expect(events.since).toHaveLength(2)
  })

  it('ends with the failure of a thread, and when it is aborted', async () => {
    const abort = new AbortController()
    const events = new WalkthroughEvents(abort.signal)
    const aborted = expect(events.until('never', () => false)).rejects.toThrow(/abort/)
    abort.abort()
    await aborted
    const failing = new WalkthroughEvents(new AbortController().signal)
    const error = new TidemarkError('BROKER_NOT_AVAILABLE', 'broker 2 ended')
    failing.take({ type: 'failed', brokerId: brokerId(2), cause: 'error', error })
    await expect(failing.controller('fenced')).rejects.toBe(error)
  })

  it('keeps a broken invariant for the verdict, and goes on', async () => {
    const events = new WalkthroughEvents(new AbortController().signal)
    const violation = { invariant: 'one leader', partition: partitionIndex(0), detail: 'two' }
    events.take({ type: 'invariantViolated', ...violation })
    events.take(fenced(1))
    expect((await events.controller('fenced')).brokerId).toBe(1)
    expect(events.violations).toEqual(['one leader: two'])
  })
})
