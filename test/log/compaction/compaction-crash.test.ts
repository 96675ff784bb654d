/**
 * The power goes between any two calls of a compaction to the disk, or in the middle of one: the
 * log must be what it was before or what it is after, and be whole.
 */
import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../../src/errors.ts'
import { SeededRandom } from '../../../src/lab/statistics-random.ts'
import { segmentBases } from '../../../src/log/file-names.ts'
import type { PartitionLog } from '../../../src/log/partition-log.ts'
import { checkSealedIndexes } from '../../crash/index-checks.ts'
import { FaultyFileSystem } from '../../support/faulty-file-system.ts'
import { compact, contents, directory, newDisk, openKeyed, put, roll } from './keyed-log.ts'

/** Records without their offsets, by key, in order. */
function valuesOf(labels: readonly string[]): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const label of labels) {
    const [key, value] = label.slice(label.indexOf(':') + 1).split('=') as [string, string]
    values.set(key, [...(values.get(key) ?? []), value])
  }
  return values
}

function latestOf(labels: readonly string[]): Map<string, string> {
  return new Map([...valuesOf(labels)].map(([key, values]) => [key, values.at(-1)!]))
}

function fill(log: PartitionLog, round: string): void {
  for (let at = 0; at < 9; at += 1) {
    put(log, [`a=${round}${at} k${at % 7}=${round}${at}`, `k${at % 3}=${round}x${at}`])
  }
  roll(log)
}

interface Life {
  readonly seed: number
  readonly calls: number
  readonly recoveryPoint: 'zero' | 'end'
}

/** So that small segments become one. */
const larger = { segmentBytes: 1_200 }

/** Returns whether the compaction came to its end before the power went. */
function live({ seed, calls, recoveryPoint }: Life): boolean {
  const disk = newDisk()
  const fs = new FaultyFileSystem(disk, new SeededRandom(seed, 1))
  const small = openKeyed(fs)
  fill(small, 'flushed')
  small.close()
  const log = openKeyed(fs, { cleanShutdown: true, config: larger })
  const flushedEnd = log.logEndOffset
  // Some of what is compacted isn't on disk yet.
  fill(log, 'late')
  put(log, ['last=1', 'a=last'])
  const before = contents(log)
  const written = valuesOf(before)
  const flushed = latestOf(before.filter((label) => Number.parseInt(label, 10) < flushedEnd))
  fs.callsToPowerCut = calls
  let isDone = false
  try {
    compact(fs, log, { nowMs: 5_000 })
    log.flush()
    isDone = true
  } catch (error) {
    const isPower = isTidemarkError(error, 'KAFKA_STORAGE_ERROR') || `${error}`.includes('EPOWER')
    if (!isPower) throw error
  }
  disk.crash(new SeededRandom(seed, 2))
  fs.clearFaults()
  const stated = recoveryPoint === 'zero' ? 0 : flushedEnd
  const again = openKeyed(fs, { recoveryPoint: stated, config: larger })
  const after = contents(again)
  const name = `seed ${seed}, ${calls} calls`
  expect(again.logEndOffset, name).toBeGreaterThanOrEqual(flushedEnd)
  expect(before, name).toEqual(expect.arrayContaining(after))
  const latest = latestOf(after)
  for (const [key, value] of flushed) {
    const all = written.get(key)!
    const found = all.indexOf(latest.get(key) ?? 'nothing')
    expect(found, `${name}: ${key}`).toBeGreaterThanOrEqual(all.indexOf(value))
  }
  expect(() => checkSealedIndexes(disk, directory), name).not.toThrow()
  const names = disk.list(directory)!
  expect(names.filter((each) => /\.(cleaned|swap|deleted)$/.test(each))).toEqual([])
  // The next life compacts as if nothing had been.
  again.flush()
  compact(fs, again, { nowMs: 6_000 })
  expect(latestOf(contents(again))).toEqual(latest)
  expect(segmentBases(disk.list(directory)!).length).toBeGreaterThan(0)
  return isDone
}

describe('a crash within a compaction', () => {
  it.each(['zero', 'end'] as const)(
    'loses nothing; recovery point at %s',
    (recoveryPoint) => {
      let calls = 0
      let lives = 0
      for (let isDone = false; !isDone; calls += 1) {
        for (let luck = 0; luck < 2; luck += 1) {
          isDone = live({ seed: 1 + calls * 100 + luck, calls, recoveryPoint })
          lives += 1
        }
      }
      // Less would mean that hardly anything was tried.
      expect(lives).toBeGreaterThan(100)
    },
    60_000,
  )
})
