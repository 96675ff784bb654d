import { beforeEach, describe, expect, it } from 'vitest'
import { ControllerHarness, contentsOf } from './controller-harness.ts'

const unclean = 'unclean.leader.election.enable'
const minimum = 'min.insync.replicas'

let harness: ControllerHarness

beforeEach(() => {
  harness = new ControllerHarness().start(1, 2, 3)
  harness.createTopic('t', [[1, 2, 3]], { [minimum]: '2' })
})

/** Settings of the topic as the metadata has them. */
function settingsOf(topic: string): Record<string, string> {
  return Object.fromEntries(harness.image.config(2, topic))
}

describe('settings', () => {
  it('change one by one, null takes one away; what stays the same is no record', () => {
    const start = harness.image.endOffset
    expect(harness.configure('t', { [minimum]: '2', 'retention.ms': '1000' })).toBe('NONE')
    expect(harness.image.endOffset).toBe(start + 1)
    expect(settingsOf('t')).toEqual({ [minimum]: '2', 'retention.ms': '1000' })
    expect(harness.configure('t', { [minimum]: null, 'segment.ms': null })).toBe('NONE')
    expect(harness.image.endOffset).toBe(start + 2)
    expect(settingsOf('t')).toEqual({ 'retention.ms': '1000' })
    expect(harness.configure('t', {})).toBe('NONE')
    expect(harness.image.endOffset).toBe(start + 2)
  })

  it.each([
    ['a topic that isn’t there', 'u', { [minimum]: '1' }, 'UNKNOWN_TOPIC_OR_PARTITION'],
    ['a setting that isn’t', 't', { 'min.insync': '1' }, 'INVALID_CONFIG'],
    ['no number', 't', { [minimum]: 'two' }, 'INVALID_CONFIG'],
    ['a number out of range', 't', { [minimum]: '0' }, 'INVALID_CONFIG'],
    ['more in sync than replicas', 't', { [minimum]: '4' }, 'INVALID_CONFIG'],
    ['one good, one bad', 't', { 'retention.ms': '5', [unclean]: 'maybe' }, 'INVALID_CONFIG'],
    ['a default that none is given for', undefined, { 'retention.ms': '5' }, 'INVALID_CONFIG'],
    ['a bad default', undefined, { [minimum]: '0' }, 'INVALID_CONFIG'],
  ])('refuses %s, and leaves all as it was', (_, topic, changes, error) => {
    const before = contentsOf(harness.image)
    expect(harness.configure(topic, changes)).toBe(error)
    expect(contentsOf(harness.image)).toEqual(before)
  })
})

describe('what a setting means for who leads is put right in the same batch', () => {
  /** 3 is eligible and 2 too; 1 leads alone. */
  function shrunk(): void {
    harness.silence(2, 3)
    expect(harness.eligible(0)).toMatchObject({ leader: 1, isr: [1] })
    expect(harness.eligible(0).elr).not.toEqual([])
  }

  it('a smaller minimum: nobody outside the in-sync replicas is eligible', () => {
    shrunk()
    const { appendCount } = harness.log
    expect(harness.configure('t', { [minimum]: '1' })).toBe('NONE')
    expect(harness.log.appendCount).toBe(appendCount + 1)
    expect(harness.eligible(0)).toMatchObject({ leader: 1, isr: [1], elr: [] })
  })

  it('the same as a default: for topics without a setting of their own', () => {
    harness.createTopic('own', [[1, 2, 3]], { [minimum]: '2' })
    harness.configure(undefined, { [minimum]: '2' })
    harness.configure('t', { [minimum]: null })
    shrunk()
    expect(harness.configure(undefined, { [minimum]: '1' })).toBe('NONE')
    expect(harness.eligible(0).elr).toEqual([])
    expect(harness.eligible(1).elr).not.toEqual([])
  })

  it('unclean elections allowed: who is there leads, and it is counted', () => {
    harness.configure('t', { [minimum]: '1' })
    harness.proposeOne(0, [1])
    harness.silence(1)
    expect(harness.eligible(0)).toMatchObject({ leader: -1, isr: [], elr: [1] })
    harness.controller.takeEvents()
    const { appendCount } = harness.log
    expect(harness.configure('t', { [unclean]: 'true' })).toBe('NONE')
    expect(harness.log.appendCount).toBe(appendCount + 1)
    expect(harness.eligible(0)).toMatchObject({ leader: 2, isr: [2] })
    expect(harness.partition(0).leaderRecoveryState).toBe('recovering')
    expect(harness.controller.takeEvents()).toMatchObject([
      { kind: 'elected', brokerId: 0, detail: { elected: 1, leaderless: 0, unclean: 1 } },
    ])
  })

  it('another setting moves nobody', () => {
    shrunk()
    const before = harness.partition(0)
    expect(harness.configure('t', { 'retention.ms': '7' })).toBe('NONE')
    expect(harness.partition(0)).toBe(before)
  })
})
