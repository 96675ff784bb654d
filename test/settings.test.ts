import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  clusterConfig,
  standaloneConfig,
  topicConfig,
  topicConfigFromEntries,
} from '../src/config.ts'
import { flag, oneOf, ranging, readSettings, suchThat, whole } from '../src/settings.ts'

const settings = {
  count: whole(5, 1, 10),
  open: whole(0, -1),
  ratio: ranging(0.5, 0, 1),
  isOn: flag(true),
  kind: oneOf('a', ['a', 'b']),
  even: suchThat(whole(2, 0, 8), (value) => value % 2 === 0, 'even'),
} as const
const defaults = { count: 5, open: 0, ratio: 0.5, isOn: true, kind: 'a', even: 2 }
const read = (input: unknown) => readSettings(settings, input, 'things')

describe('settings', () => {
  it('are the defaults where nothing is given, or undefined', () => {
    expect(read({})).toEqual(defaults)
    expect(read({ count: undefined, kind: 'b' })).toEqual({ ...defaults, kind: 'b' })
    expect(Object.isFrozen(read({}))).toBe(true)
  })

  it('take both ends of a range and nothing beyond', () => {
    const number = fc.oneof(fc.integer({ min: -3, max: 14 }), fc.double())
    fc.assert(
      fc.property(number, (count) => {
        const isAllowed = Number.isInteger(count) && count >= 1 && count <= 10
        if (isAllowed) expect(read({ count }).count).toBe(count)
        else expect(() => read({ count })).toThrow(/things: count = .*: must be a whole number/)
      }),
    )
    for (const count of [1, 10]) expect(read({ count }).count).toBe(count)
    for (const ratio of [0, 1]) expect(read({ ratio }).ratio).toBe(ratio)
  })

  it.each([
    [{ count: 0 }, 'things: count = 0: must be a whole number from 1 to 10'],
    [{ count: '5' }, 'things: count = "5": must be a whole number from 1 to 10'],
    [{ count: null }, 'things: count = null: must be a whole number from 1 to 10'],
    [{ open: -2 }, 'things: open = -2: must be a whole number from -1 on'],
    [{ open: 2 ** 53 }, 'things: open = 9007199254740992: must be a whole number from -1 on'],
    [{ open: Infinity }, 'things: open = Infinity: must be a whole number from -1 on'],
    [{ ratio: 1.01 }, 'things: ratio = 1.01: must be a number from 0 to 1'],
    [{ ratio: Number.NaN }, 'things: ratio = NaN: must be a number from 0 to 1'],
    [{ isOn: 1 }, 'things: isOn = 1: must be true or false'],
    [{ kind: 'c' }, 'things: kind = "c": must be one of "a", "b"'],
    [{ even: 3 }, 'things: even = 3: must be even'],
    [{ even: 9 }, 'things: even = 9: must be a whole number from 0 to 8'],
    [{ counts: 1, kinds: 2 }, 'things: unknown setting counts, kinds'],
    [{ toString: 1 }, 'things: unknown setting toString'],
    [[], 'things: []: must be an object of settings'],
    [null, 'things: null: must be an object of settings'],
    ['count', 'things: "count": must be an object of settings'],
  ])('refuse %j', (input, message) => {
    expect(() => read(input)).toThrow(expect.objectContaining({ code: 'INVALID_CONFIG', message }))
  })
})

describe('configuration', () => {
  it('has Kafka’s defaults for a topic, and keeps everything of a log alone', () => {
    const week = 7 * 24 * 3_600_000
    expect(topicConfig()).toMatchObject({ 'retention.ms': week, 'min.insync.replicas': 1 })
    expect(topicConfig()['segment.bytes']).toBe(2 ** 30)
    const alone = standaloneConfig()
    expect(alone).toMatchObject({ 'retention.ms': -1, 'compression.type': 'none' })
    expect(alone).not.toHaveProperty(['min.insync.replicas'])
    expect(() => standaloneConfig({ 'min.insync.replicas': 1 } as object)).toThrow(/unknown/)
    expect(clusterConfig()['isr.expand.criterion']).toBe('log.end.offset')
  })

  it('refuses lags of compaction that contradict each other', () => {
    const lags = { 'min.compaction.lag.ms': 5, 'max.compaction.lag.ms': 4 }
    const message = /max\.compaction\.lag\.ms = 4: must not be less than min/
    expect(() => topicConfig(lags)).toThrow(message)
    expect(() => standaloneConfig(lags)).toThrow(message)
    expect(topicConfig({ ...lags, 'max.compaction.lag.ms': 5 })).toMatchObject({})
  })

  it('reads text of the metadata log by what it looks like', () => {
    const entries = { 'retention.ms': '-1', 'min.cleanable.dirty.ratio': '0.25' }
    const texts = {
      ...entries,
      'unclean.leader.election.enable': 'true',
      'cleanup.policy': 'compact',
    }
    expect(topicConfigFromEntries(new Map(Object.entries(texts)))).toMatchObject({
      'retention.ms': -1,
      'min.cleanable.dirty.ratio': 0.25,
      'unclean.leader.election.enable': true,
      'cleanup.policy': 'compact',
    })
    const bad = new Map([['retention.ms', 'soon']])
    expect(() => topicConfigFromEntries(bad)).toThrow(/retention\.ms = "soon"/)
  })
})
