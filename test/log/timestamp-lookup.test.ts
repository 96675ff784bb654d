/** Lookups by time against a plain search of all records, with good indexes and bad ones. */
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../src/errors.ts'
import type { Compression } from '../../src/log/batch-header.ts'
import type { PartitionLog } from '../../src/log/partition-log.ts'
import { encodeBatch, runOf } from '../support/batch-builder.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { openLog } from './log-fixture.ts'

interface Plain {
  readonly offset: number
  readonly timestampMs: number
  /** One past the last offset of its batch. */
  readonly batchEnd: number
}

const config = { segmentBytes: 700, indexIntervalBytes: 80 }

/** A log of one batch an array of times; returns what a reader would find in it. */
function fill(log: PartitionLog, batches: readonly number[][], compression: Compression): Plain[] {
  const plain: Plain[] = []
  for (const times of batches) {
    const records = times.map((timestampMs, at) => {
      const offset = log.logEndOffset + at
      plain.push({ offset, timestampMs, batchEnd: log.logEndOffset + times.length })
      return { key: null, value: Buffer.from('v'.repeat(at % 5)), timestampMs }
    })
    log.append(runOf([encodeBatch(records, { compression })]), 3)
  }
  return plain
}

function expectLookups(log: PartitionLog, plain: readonly Plain[]): void {
  const seen = plain.filter(({ offset }) => offset >= log.logStartOffset)
  const times = new Set(seen.flatMap(({ timestampMs }) => [timestampMs - 1, timestampMs]))
  for (const time of [...times, -5, 0, 1e9]) {
    const expected = seen.find(({ timestampMs }) => timestampMs >= time)
    expect(log.offsetForTimestamp(time), `time ${time}`).toEqual(answerOf(expected))
  }
  const newestMs = Math.max(-1, ...seen.map(({ timestampMs }) => timestampMs))
  const newest = seen.find(({ timestampMs }) => timestampMs === newestMs)
  expect(log.maxTimestampOffset()).toEqual(newestMs < 0 ? undefined : answerOf(newest))
}

function answerOf(record: Plain | undefined): unknown {
  if (record === undefined) return undefined
  return { offset: record.offset, timestampMs: record.timestampMs, leaderEpoch: 3 }
}

/** About rising, with steps back, ties, and records without a time. */
const batchesOfTimes = fc.array(
  fc.array(
    fc.oneof({ weight: 5, arbitrary: fc.nat(30) }, { weight: 1, arbitrary: fc.constant(-1) }),
    {
      minLength: 1,
      maxLength: 4,
    },
  ),
  { minLength: 1, maxLength: 40 },
)

describe('lookup by timestamp', () => {
  it('finds what a search of all records finds', () => {
    fc.assert(
      fc.property(
        batchesOfTimes,
        fc.boolean(),
        fc.nat(100),
        fc.constantFrom<Compression>('none', 'gzip'),
        (times, drift, start, compression) => {
          const batches = drift
            ? times.map((batch, at) => batch.map((time) => (time < 0 ? time : time + 4 * at)))
            : times
          const directory = temporaryDirectory()
          const log = openLog({ directory, config })
          const plain = fill(log, batches, compression)
          expectLookups(log, plain)
          log.advanceLogStart(Math.min(start, log.logEndOffset))
          expectLookups(log, plain)
          log.close()
          const again = openLog({ directory, config, cleanShutdown: true })
          expectLookups(again, plain)
          const more = fill(again, batches.slice(0, 3), compression)
          expectLookups(again, [...plain, ...more])
          const cut = Math.floor(again.logEndOffset / 2)
          again.truncateTo(cut)
          expectLookups(
            again,
            [...plain, ...more].filter(({ batchEnd }) => batchEnd <= cut),
          )
          again.close()
          fs.rmSync(directory, { recursive: true })
        },
      ),
      { numRuns: 60 },
    )
  })

  it('is right with any damage to the index files', () => {
    const rising = Array.from({ length: 60 }, (_, at) => [3 * at, 3 * at + (at % 7), 3 * at - 2])
    fc.assert(
      fc.property(
        fc.constantFrom('.index', '.timeindex'),
        fc.nat(5),
        fc.oneof(
          fc.record({ kind: fc.constant('flip' as const), at: fc.nat(), bit: fc.nat(7) }),
          fc.record({ kind: fc.constant('cut' as const), at: fc.nat(), bit: fc.constant(0) }),
          fc.record({ kind: fc.constant('zeros' as const), at: fc.nat(100), bit: fc.constant(0) }),
          fc.record({
            kind: fc.constant('none' as const),
            at: fc.constant(0),
            bit: fc.constant(0),
          }),
        ),
        (suffix, which, damage) => {
          const directory = temporaryDirectory()
          const log = openLog({ directory, config })
          const plain = fill(log, rising, 'none')
          log.close()
          const names = fs
            .readdirSync(directory)
            .filter((name) => name.endsWith(suffix))
            .sort()
          damageFile(path.join(directory, names[which % names.length]!), damage)
          const again = openLog({ directory, config, cleanShutdown: true })
          expectLookups(again, plain)
          again.close()
          fs.rmSync(directory, { recursive: true })
        },
      ),
      { numRuns: 100 },
    )
  })

  it('does not believe what the file of the last segment says of its newest time', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory, config: { indexIntervalBytes: 80 } })
    const plain = fill(log, [[100], [1], [2], [3], [4], [5]], 'none')
    log.close()
    const file = path.join(directory, `${'0'.repeat(20)}.timeindex`)
    const bytes = fs.readFileSync(file)
    expect(bytes.readBigInt64BE(0)).toBe(100n)
    bytes.writeBigInt64BE(50n, 0)
    fs.writeFileSync(file, bytes)
    const again = openLog({ directory, cleanShutdown: true })
    expectLookups(again, plain)
    expectLookups(again, [...plain, ...fill(again, [[101], [7]], 'none')])
  })

  it('finds nothing in an empty log', () => {
    const log = openLog()
    expect(log.offsetForTimestamp(0)).toBeUndefined()
    expect(log.maxTimestampOffset()).toBeUndefined()
  })

  it('refuses what is no number, and a closed log', () => {
    const log = openLog()
    expect(() => log.offsetForTimestamp(Number.NaN)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
    log.close()
    expect(() => log.offsetForTimestamp(0)).toThrow(
      expect.objectContaining({ code: 'BROKER_CLOSED' }),
    )
    expect(() => log.maxTimestampOffset()).toThrow(
      expect.objectContaining({ code: 'BROKER_CLOSED' }),
    )
  })

  it('names the file and position of a damaged batch it had to look into', () => {
    const directory = temporaryDirectory()
    const log = openLog({ directory, config })
    fill(log, [[1], [2]], 'none')
    log.close()
    const file = path.join(directory, `${'0'.repeat(20)}.log`)
    const bytes = fs.readFileSync(file)
    bytes[bytes.length - 1]! ^= 1
    fs.writeFileSync(file, bytes)
    const again = openLog({ directory, config, cleanShutdown: true })
    expect(again.offsetForTimestamp(1)).toMatchObject({ offset: 0 })
    let thrown: unknown
    try {
      again.offsetForTimestamp(2)
    } catch (cause) {
      thrown = cause
    }
    expect(isTidemarkError(thrown, 'CORRUPT_MESSAGE')).toBe(true)
    expect(String(thrown)).toContain(`${file} position ${bytes.length / 2}: crc`)
  })
})

function damageFile(
  file: string,
  { kind, at, bit }: { kind: 'flip' | 'cut' | 'zeros' | 'none'; at: number; bit: number },
): void {
  const bytes = fs.readFileSync(file)
  if (kind === 'none') fs.rmSync(file)
  else if (kind === 'cut') fs.truncateSync(file, at % (bytes.length + 1))
  else if (kind === 'zeros') fs.appendFileSync(file, Buffer.alloc(24 * (at + 1)))
  else if (bytes.length > 0) {
    bytes[at % bytes.length]! ^= 1 << bit
    fs.writeFileSync(file, bytes)
  }
}
