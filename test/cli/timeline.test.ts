import { existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { timelinePage } from '../../src/cli/timeline-page.ts'
import { timeScale } from '../../src/cli/timeline-scale.ts'
import { timelineLines } from '../../src/cli/timeline-text.ts'
import { readTimeline } from '../../src/log-tools/timeline.ts'
import { copyOfKafkas, kafkaMetadata } from '../log-tools/timeline-logs.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { tidemark } from './tidemark-process.ts'

describe('the text', () => {
  it('has each change with what it stood on, and how long each replica was out', () => {
    const lines = [...timelineLines(readTimeline(kafkaMetadata, { topic: 'isr', partition: 2 }))]
    expect(lines).toEqual(
      expect.arrayContaining([
        '  2026-11-30 16:27:01.964  epoch 1, controller 1, from offset 0',
        '  2026-11-30 16:28:56.647  broker 3 registered, epoch 73',
        '  2026-11-30 16:27:51.683  3 joined after 10.7 s: proposed by the leader',
        '      leader 2, in sync 1, 2, 3; leader epoch 0, partition epoch 2, offset 65',
        '  2026-11-30 16:29:01.625  2 left; 1 elected out of the in-sync replicas: broker 2 shutting down',
        '  broker 3 out 3 times, 79.2 s in all, longest 63.5 s, still out at the end',
        'storms (20 changes or more within 5 s): none',
        '  isr-2: broker 3 left 3 times, 2026-11-30 16:27:40.956 to 2026-11-30 16:28:59.130',
      ]),
    )
  })

  it('names topics without a change in one line', () => {
    const timeline = readTimeline(kafkaMetadata)
    const lines = [...timelineLines(timeline)]
    expect(lines).toContain('1 partition without a change: removed')
  })
})

describe('the page', () => {
  it('draws a bar for each state of each replica, and loads nothing', () => {
    const page = timelinePage(readTimeline(kafkaMetadata, { topic: 'isr', partition: 2 }))
    const bars = (look: string) => page.split(`<rect class="${look}" x=`).length - 1
    // Eight states of three replicas; the leader is in sync too.
    expect(bars('leads') + bars('in-sync') + bars('out-of-sync')).toBe(24)
    expect(bars('leads')).toBe(7)
    expect(bars('out-of-sync')).toBe(4 + 2 + 2)
    expect(bars('offline')).toBe(1)
    expect(page).toContain('default-src &#39;none&#39;')
    expect(page).not.toMatch(/https?:\/\/(?!www\.w3\.org)|<script|<link|url\((?!#)/)
  })
})

describe('the scale', () => {
  it('keeps order, stays within its width, and cuts quiet stretches', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(10 ** 9), { minLength: 1, maxLength: 60 }),
        fc.array(fc.nat(10 ** 9), { maxLength: 20 }),
        (times, asked) => {
          const scale = timeScale(times, 100, 1_000)
          const places = [...times, ...asked].sort((a, b) => a - b).map(scale.x)
          for (const [at, x] of places.entries()) {
            expect(x).toBeGreaterThanOrEqual(at === 0 ? 100 : places[at - 1]!)
            expect(x).toBeLessThanOrEqual(1_100.000_001)
          }
          expect(scale.breaks.length).toBeLessThanOrEqual(12)
        },
      ),
    )
  })

  it('gives a busy second room beside a quiet day', () => {
    const busy = Array.from({ length: 50 }, (_, at) => at * 20)
    const { x, breaks, ticks } = timeScale([...busy, 86_400_000], 0, 1_000)
    expect(breaks).toMatchObject([{ fromMs: 980, toMs: 86_400_000 }])
    expect(x(980) - x(0)).toBeGreaterThan(900)
    expect(ticks.length).toBeGreaterThan(5)
  })
})

describe('tidemark log timeline', () => {
  it('prints one JSON document, writes the page, and succeeds', { timeout: 60_000 }, async () => {
    const home = temporaryDirectory()
    const args = ['log', 'timeline', kafkaMetadata, '--topic', 'isr', '--json', '--html', 'a.html']
    const { code, stdout, stderr } = await tidemark(args, home)
    expect([code, stderr]).toEqual([0, ''])
    const document = JSON.parse(stdout)
    expect(document).toMatchObject({ schemaVersion: 1, endOffset: 103, faults: [] })
    expect(document.partitions).toHaveLength(3)
    expect(readFileSync(path.join(home, 'a.html'), 'utf8')).toContain('isr-2')
  })

  it('tells what there is of a log that is cut, and fails', { timeout: 60_000 }, async () => {
    const { directory, file } = copyOfKafkas()
    truncateSync(file, 6_000)
    const { code, stdout } = await tidemark(['log', 'timeline', directory], path.dirname(directory))
    expect(code).toBe(1)
    expect(stdout).toMatch(/isr-2: replicas 2, 3, 1/)
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^NOT WHOLE: .*at position 5837: expected/)
  })

  it.each([
    [['/nothing'], /\/nothing: no such directory/],
    [[kafkaMetadata, '--partition', 'x'], /--partition x: must be a whole number/],
    [[kafkaMetadata, '--topic', 'x'], /--topic x: no such topic/],
    [[kafkaMetadata, '--html', 'folder'], /--html folder: .*must be a file that can be written/],
    [[], /missing required argument 'directory'/],
  ])('bad usage %j costs one line', { timeout: 60_000 }, async (args, message) => {
    const home = temporaryDirectory()
    mkdirSync(path.join(home, 'folder'))
    const { code, stdout, stderr } = await tidemark(['log', 'timeline', ...args], home)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr.trimEnd()).toMatch(message)
    expect(stderr.trimEnd()).not.toContain('\n')
    expect(existsSync(path.join(home, 'a.html'))).toBe(false)
  })
})
