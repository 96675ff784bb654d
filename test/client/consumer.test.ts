import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConsumeOptions } from '../../src/client/consumer.ts'
import { brokerId, partitionIndex } from '../../src/ids.ts'
import { ConsumerFixture, collect, labelOf } from './consumer-fixture.ts'
import { outcomeOf } from './leader-stub.ts'

/** Until what was started has come to rest as far as it can: file reads included. */
async function settle(isSettled: () => boolean): Promise<void> {
  const untilMs = performance.now() + 10_000
  while (!isSettled()) {
    if (performance.now() > untilMs) throw new Error('did not come to pass within 10 s')
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

describe('where it begins and ends', () => {
  const filled = () => {
    const fixture = new ConsumerFixture()
    fixture.append('a', 'b', 'c')
    fixture.append('d')
    fixture.append('e', 'f')
    fixture.commit()
    return fixture
  }

  it.each<[Partial<ConsumeOptions>, string[]]>([
    [{}, ['0:a', '1:b', '2:c', '3:d', '4:e', '5:f']],
    [{ from: 'earliest' }, ['0:a', '1:b', '2:c', '3:d', '4:e', '5:f']],
    [{ from: 0, until: 1 }, ['0:a']],
    [{ from: 2 }, ['2:c', '3:d', '4:e', '5:f']],
    [{ from: 1, until: 5 }, ['1:b', '2:c', '3:d', '4:e']],
    [{ from: 3, until: 3 }, []],
    [{ from: 5, until: 2 }, []],
  ])('%j', async (options, expected) => {
    expect(await collect(filled().consume({ until: 6, ...options }))).toEqual(expected)
  })

  it('earliest is where the log starts by now', async () => {
    const fixture = filled()
    fixture.startAt(2)
    expect(await collect(fixture.consume({ until: 4 }))).toEqual(['2:c', '3:d'])
  })

  it.each([
    [999, '0:a'],
    [1_001, '2:c'],
    [2_000, '2:c'],
    [2_001, '3:d'],
    [9_999, '4:e'],
  ])('the time %d leads to %s', async (timestampMs, expected) => {
    const fixture = new ConsumerFixture()
    fixture.append('a', 'b')
    fixture.appendAt(2_000, 'c')
    fixture.appendAt(3_000, 'd')
    fixture.commit(4)
    const records = fixture.consume({ from: { timestampMs } })
    const next = outcomeOf(records.next().then(({ value }) => labelOf(value!)))
    const isWaiting = () => Atomics.load(fixture.board.words, fixture.watchWord) === 1
    await settle(() => isWaiting() || next.value !== undefined)
    // What is too late for all that is committed begins with what is committed next.
    fixture.appendAt(4_000, 'e')
    fixture.commit(5)
    await settle(() => next.value !== undefined)
    expect(next.value).toBe(expected)
    await records.return()
  })

  it.each([
    ['below the log start', 1],
    ['beyond the log end', 7],
  ])('48. FetchBeyondHighWatermark: %s is out of range', async (_, from) => {
    const fixture = filled()
    fixture.startAt(2)
    fixture.commit(4)
    await expect(fixture.consume({ from }).next()).rejects.toMatchObject({
      code: 'OFFSET_OUT_OF_RANGE',
      message: expect.stringContaining(`t-0: offset ${from}, the log holds 2 to 6`),
    })
  })

  it('48. FetchBeyondHighWatermark: between it and the log end it waits', async () => {
    const fixture = filled()
    fixture.commit(4)
    const records = fixture.consume({ from: 5 })
    const next = outcomeOf(records.next().then(({ value }) => value?.offset))
    await settle(() => Atomics.load(fixture.board.words, fixture.watchWord) === 1)
    expect(next.value).toBeUndefined()
    fixture.commit(6)
    await settle(() => next.value !== undefined)
    expect(next.value).toBe(5)
    await records.return()
  })

  it('what retention takes away while it is read is told', async () => {
    const fixture = filled()
    const records = fixture.consume({ from: 0, readBytes: 100 })
    expect((await records.next()).value?.offset).toBe(0)
    fixture.startAt(5)
    const rest = async () => {
      for await (const { offset } of records) if (offset > 2) throw new Error(`read ${offset}`)
    }
    await expect(rest()).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' })
  })

  it('latest is what is committed from now on', async () => {
    const fixture = filled()
    fixture.commit(4)
    const records = fixture.consume({ from: 'latest' })
    const next = outcomeOf(records.next().then(({ value }) => value?.offset))
    await settle(() => Atomics.load(fixture.board.words, fixture.watchWord) === 1)
    expect(next.value).toBeUndefined()
    fixture.commit(6)
    await settle(() => next.value !== undefined)
    expect(next.value).toBe(4)
    await records.return()
  })

  it('crosses segments', async () => {
    const fixture = new ConsumerFixture(200)
    const values = Array.from({ length: 60 }, (_, at) => `value-${at}`)
    for (const value of values) fixture.append(value)
    fixture.commit()
    expect(fixture.logs[0].segmentCount).toBeGreaterThan(5)
    const all = values.map((value, offset) => `${offset}:${value}`)
    expect(await collect(fixture.consume({ until: 60 }))).toEqual(all)
    expect(await collect(fixture.consume({ from: 31, until: 60 }))).toEqual(all.slice(31))
  })
})

describe('what it may see', () => {
  it('is never a record at or above the high watermark, wherever the batches end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 8 }),
        fc.nat(),
        async (sizes, pick) => {
          const fixture = new ConsumerFixture()
          for (const size of sizes) fixture.append(...Array<string>(size).fill('x'))
          // Committed is committed by the batch.
          const ends = sizes.map((_, at) => sizes.slice(0, at + 1).reduce((a, b) => a + b))
          const highWatermark = ends[pick % ends.length]
          fixture.commit(highWatermark)
          const stop = new AbortController()
          const seen: string[] = []
          const done = collectUntil(fixture.consume({ signal: stop.signal }), seen)
          await settle(() => Atomics.load(fixture.board.words, fixture.watchWord) === 1)
          stop.abort()
          await done
          expect(seen).toHaveLength(highWatermark)
        },
      ),
      { numRuns: 25 },
    )
  })

  it('grows as the high watermark does, without a gap and without a record twice', async () => {
    const fixture = new ConsumerFixture()
    const seen: string[] = []
    const done = collectUntil(fixture.consume({ until: 30 }), seen)
    for (let offset = 0; offset < 30; offset++) {
      fixture.append(`v${offset}`)
      await settle(() => Atomics.load(fixture.board.words, fixture.watchWord) === 1)
      expect(seen).toHaveLength(offset)
      fixture.commit()
      await settle(() => seen.length === offset + 1)
    }
    await done
    expect(seen).toEqual(Array.from({ length: 30 }, (_, offset) => `${offset}:v${offset}`))
    expect(Atomics.load(fixture.board.words, fixture.watchWord)).toBe(0)
  })

  it('is whole also when a batch is larger than a read', async () => {
    const fixture = new ConsumerFixture(1_000_000)
    fixture.append('small')
    fixture.append('x'.repeat(40_000))
    fixture.append('after')
    fixture.commit()
    const records = await collect(fixture.consume({ readBytes: 100, until: 3 }))
    expect(records.map((label) => label.length)).toEqual([7, 40_002, 7])
  })

  it('is refused when its bytes are damaged', async () => {
    const fixture = new ConsumerFixture()
    fixture.append('first')
    fixture.append('second')
    fixture.commit()
    const [file] = logFiles(fixture)
    const bytes = fs.readFileSync(file)
    bytes[bytes.length - 3] ^= 1
    fs.writeFileSync(file, bytes)
    await expect(collect(fixture.consume({ until: 2 }))).rejects.toMatchObject({
      code: 'CORRUPT_MESSAGE',
      message: expect.stringContaining('t-0'),
    })
  })
})

describe('a change of leader', () => {
  it('is followed: the rest is read from the new one', async () => {
    const fixture = new ConsumerFixture()
    fixture.append('a')
    fixture.append('b')
    fixture.commit(1)
    const seen: string[] = []
    const done = collectUntil(fixture.consume({ until: 2 }), seen)
    await settle(() => seen.length === 1)
    fixture.commit(2, 2)
    const [segment] = logFiles(fixture)
    fs.rmSync(segment)
    fixture.lead(2)
    await done
    expect(seen).toEqual(['0:a', '1:b'])
  })

  it('waits while nobody leads, and while the new high watermark is still behind', async () => {
    const fixture = new ConsumerFixture()
    fixture.append('a')
    fixture.append('b')
    fixture.commit(1)
    const seen: string[] = []
    const done = collectUntil(fixture.consume({ until: 2 }), seen)
    await settle(() => seen.length === 1)
    fixture.lead(-1)
    fixture.commit(2, 2)
    await settle(() => Atomics.load(fixture.board.words, fixture.watchWord) === 0)
    expect(seen).toHaveLength(1)
    fixture.board.setHighWatermark(brokerId(2), partitionIndex(0), 0)
    fixture.lead(2)
    await settle(() => Atomics.load(fixture.board.words, fixture.watchWord) === 1)
    expect(seen).toHaveLength(1)
    fixture.commit(2, 2)
    await done
    expect(seen).toEqual(['0:a', '1:b'])
  })
})

describe('stopping', () => {
  it('by its signal ends the iteration, also while it waits', async () => {
    const fixture = new ConsumerFixture()
    const stop = new AbortController()
    const seen = collect(fixture.consume({ signal: stop.signal }))
    await settle(() => Atomics.load(fixture.board.words, fixture.watchWord) === 1)
    stop.abort()
    expect(await seen).toEqual([])
    expect(Atomics.load(fixture.board.words, fixture.watchWord)).toBe(0)
  })

  it('by a signal that was given before gives nothing', async () => {
    const fixture = new ConsumerFixture()
    fixture.append('a')
    fixture.commit()
    expect(await collect(fixture.consume({ signal: AbortSignal.abort() }))).toEqual([])
  })

  it('ends with the cluster, whether it waits for records or for a leader', async () => {
    const fixture = new ConsumerFixture()
    const waiting = outcomeOf(collect(fixture.consume()))
    await settle(() => Atomics.load(fixture.board.words, fixture.watchWord) === 1)
    fixture.closed.abort()
    await settle(() => waiting.value !== undefined)
    expect(waiting.value).toBe('BROKER_CLOSED')
    fixture.lead(-1)
    await expect(collect(fixture.consume())).rejects.toMatchObject({ code: 'BROKER_CLOSED' })
  })

  it('in the middle closes the file', async () => {
    const fixture = new ConsumerFixture()
    fixture.append('a', 'b')
    fixture.commit()
    for await (const record of fixture.consume()) {
      expect(record.offset).toBe(0)
      break
    }
    const open = fs.readdirSync('/proc/self/fd').filter((fd) => {
      const file = `/proc/self/fd/${fd}`
      return fs.existsSync(file) && fs.readlinkSync(file).startsWith(fixture.directory)
    })
    // The logs' own descriptors stay: one each at most.
    expect(open.length).toBeLessThanOrEqual(2)
  })
})

describe('bad input', () => {
  it.each<[object, RegExp]>([
    [{ from: -1 }, /from = -1: an offset from 0, earliest, latest/],
    [{ from: 0.5 }, /from = 0\.5/],
    [{ from: 'newest' }, /from = newest/],
    [{ until: Number.NaN }, /until = NaN/],
    [{ readBytes: 0 }, /readBytes = 0: .*1 to/],
    [{ readBytes: 1e12 }, /readBytes = 1000000000000/],
  ])('%j is refused at once', async (options, message) => {
    const fixture = new ConsumerFixture()
    expect(() => fixture.consume(options)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(message),
      }),
    )
  })
})

async function collectUntil(
  records: AsyncIterable<{ offset: number; value: Uint8Array | null }>,
  seen: string[],
): Promise<void> {
  for await (const { offset, value } of records) {
    seen.push(`${offset}:${Buffer.from(value ?? []).toString()}`)
  }
}

/** Segments of broker 1. */
function logFiles(fixture: ConsumerFixture): string[] {
  const directory = path.join(fixture.directory, 'broker-1', 't-0')
  const names = fs.readdirSync(directory).filter((name) => name.endsWith('.log'))
  return names.sort().map((name) => path.join(directory, name))
}
