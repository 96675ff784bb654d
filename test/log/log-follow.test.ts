/** Following the end of a log: nothing missed, nothing twice, and an end to every wait. */
import { describe, expect, it } from 'vitest'
import { SeededRandom } from '../../src/lab/statistics-random.ts'
import { Log } from '../../src/log/log.ts'
import type { FollowOptions } from '../../src/log/log-options.ts'
import type { LogRecord } from '../../src/log/record.ts'
import { FaultyFileSystem } from '../support/faulty-file-system.ts'
import { MemoryFileSystem } from '../support/memory-file-system.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const codeOf = (code: string) => expect.objectContaining({ name: 'TidemarkError', code })
const turn = () => new Promise((resolve) => setImmediate(resolve))

function append(log: Log, ...values: readonly string[]): void {
  log.append(values.map((value) => ({ value })))
}

/** Takes what a follower gives it, until that ends. */
class Taker {
  readonly seen: string[] = []
  readonly ended: Promise<void>

  constructor(log: Log, options: FollowOptions = {}) {
    this.ended = this.#take(log.follow(options))
  }

  async #take(records: AsyncIterable<LogRecord>): Promise<void> {
    for await (const { offset, value } of records) {
      this.seen.push(`${offset}:${Buffer.from(value!).toString()}`)
    }
  }

  async until(count: number): Promise<void> {
    while (this.seen.length < count) await turn()
  }
}

describe('following a log', () => {
  it('gives what comes from now on, to each follower, across segments', async () => {
    const log = await Log.open(temporaryDirectory(), { 'segment.bytes': 16_384 })
    append(log, 'before')
    const [a, b] = [new Taker(log), new Taker(log, { fromOffset: 0 })]
    const expected: string[] = []
    for (let at = 1; at <= 60; at += 1) {
      append(log, `${at} `.repeat(200))
      expected.push(`${at}:${`${at} `.repeat(200)}`)
      if (at % 7 === 0) await a.until(at)
    }
    await a.until(60)
    await b.until(61)
    expect(log.segmentCount).toBeGreaterThan(1)
    expect(a.seen).toEqual(expected)
    expect(b.seen).toEqual(['0:before', ...expected])
  })

  it('begins at a time', async () => {
    const log = await Log.open(temporaryDirectory())
    log.append([5, 6, 7].map((timestampMs) => ({ value: `${timestampMs}`, timestampMs })))
    const [some, none] = [
      new Taker(log, { fromTimestamp: 6 }),
      new Taker(log, { fromTimestamp: 8 }),
    ]
    await some.until(2)
    append(log, 'new')
    await some.until(3)
    await none.until(1)
    expect(some.seen).toEqual(['1:6', '2:7', '3:new'])
    expect(none.seen).toEqual(['3:new'])
  })

  it('leaves the event loop to others while there is much to read', async () => {
    const log = await Log.open(temporaryDirectory())
    for (let at = 0; at < 20; at += 1) append(log, 'x'.repeat(100_000))
    const taker = new Taker(log, { fromOffset: 0 })
    await turn()
    expect(taker.seen.length).toBeLessThan(20)
    await taker.until(20)
  })
})

describe('the end of following', () => {
  it('by the signal: before, while it waits, and between two records', async () => {
    const log = await Log.open(temporaryDirectory())
    append(log, 'a', 'b', 'c')
    await new Taker(log, { fromOffset: 0, signal: AbortSignal.abort() }).ended

    const waiting = new AbortController()
    const taker = new Taker(log, { fromOffset: 0, signal: waiting.signal })
    await taker.until(3)
    await turn()
    waiting.abort()
    await taker.ended
    append(log, 'd')
    await turn()
    expect(taker.seen).toEqual(['0:a', '1:b', '2:c'])

    const between = new AbortController()
    const seen: number[] = []
    for await (const { offset } of log.follow({ fromOffset: 0, signal: between.signal })) {
      seen.push(offset)
      if (offset === 1) between.abort()
    }
    expect(seen).toEqual([0, 1])
  })

  it('leaves no listener behind at the signal', async () => {
    const log = await Log.open(temporaryDirectory())
    const { signal } = new AbortController()
    const counts = { added: 0, removed: 0 }
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...call: Parameters<typeof add>) => {
      counts.added += 1
      add(...call)
    }
    signal.removeEventListener = (...call: Parameters<typeof remove>) => {
      counts.removed += 1
      remove(...call)
    }
    const taker = new Taker(log, { signal })
    for (let at = 1; at <= 5; at += 1) {
      append(log, `${at}`)
      await taker.until(at)
      await turn()
    }
    expect(counts.added).toBeGreaterThan(1)
    expect(counts.removed).toBe(counts.added - 1)
  })

  it('by whoever breaks out of the loop', async () => {
    const log = await Log.open(temporaryDirectory())
    append(log, 'a', 'b')
    for await (const { offset } of log.follow({ fromOffset: 0 })) {
      if (offset === 0) break
    }
    await log.close()
  })

  it('when the log is closed', async () => {
    const log = await Log.open(temporaryDirectory())
    const taker = new Taker(log)
    await turn()
    await log.close()
    await expect(taker.ended).rejects.toEqual(codeOf('BROKER_CLOSED'))
  })

  it('when the records it wants are removed or cut off', async () => {
    const log = await Log.open(temporaryDirectory())
    append(log, 'a', 'b')
    const removed = log.follow({ fromOffset: 0 })
    log.deleteRecordsBefore(2)
    await expect(removed.next()).rejects.toEqual(codeOf('OFFSET_OUT_OF_RANGE'))
    append(log, 'c', 'd')
    const cut = new Taker(log, { fromOffset: 2 })
    await cut.until(2)
    await turn()
    log.truncateTo(3)
    await expect(cut.ended).rejects.toEqual(codeOf('OFFSET_OUT_OF_RANGE'))
    expect(cut.seen.slice(0, 2)).toEqual(['2:c', '3:d'])
  })

  it('when the log fails, after all that is in it', async () => {
    const disk = new FaultyFileSystem(new MemoryFileSystem(), new SeededRandom(1))
    const log = await Log.open('/log', {}, { fs: disk })
    append(log, 'a')
    const taker = new Taker(log, { fromOffset: 0 })
    await taker.until(1)
    await turn()
    disk.roomBytes = 10
    expect(() => append(log, 'b')).toThrow(codeOf('KAFKA_STORAGE_ERROR'))
    await expect(taker.ended).rejects.toEqual(codeOf('KAFKA_STORAGE_ERROR'))
    const again = new Taker(log, { fromOffset: 0 })
    await expect(again.ended).rejects.toEqual(codeOf('KAFKA_STORAGE_ERROR'))
    expect(again.seen).toEqual(['0:a'])
  })
})
