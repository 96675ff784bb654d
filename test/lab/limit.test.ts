import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Limit, type LimitOptions, LimitRun } from '../../src/lab/limit.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-limit-'))
})

afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

const small = (changes: Partial<LimitOptions> = {}): LimitOptions => ({
  directory,
  replicas: 3,
  partitions: 5,
  batchBytes: 4096,
  recordBytes: 100,
  roundBytesMax: 1_000_000,
  flush: { kind: 'os' },
  ...changes,
})

/** One round of all there may be. */
async function measureLimit(options: LimitOptions): Promise<Limit> {
  const run = await LimitRun.open(options)
  try {
    return await run.round(options.roundBytesMax)
  } finally {
    await run.close()
  }
}

describe('LimitRun', () => {
  it.each([
    ['many partitions', { partitions: 300 }],
    ['one partition, many batches a call', { partitions: 1 }],
    ['one replica', { replicas: 1 }],
    [
      'forced to disk after each call',
      { flush: { kind: 'batch' as const }, roundBytesMax: 40_000 },
    ],
    ['forced to disk every millisecond', { flush: { kind: 'interval' as const, ms: 1 } }],
  ])('writes all bytes and leaves nothing behind: %s', async (_, changes) => {
    const options = small(changes)
    const limit = await measureLimit(options)
    expect(limit.fileBytesPerReplica).toBeGreaterThanOrEqual(options.roundBytesMax)
    expect(limit.fileBytesPerReplica).toBeLessThan(options.roundBytesMax + options.batchBytes)
    expect(limit.bytesPerReplica).toBeGreaterThan(0.8 * limit.fileBytesPerReplica)
    expect(limit.bytesPerReplica).toBeLessThan(limit.fileBytesPerReplica)
    expect(limit.elapsedMs).toBeGreaterThan(0)
    expect(limit.bytesPerSec).toBeCloseTo((limit.bytesPerReplica * 1000) / limit.elapsedMs, 3)
    expect(readdirSync(directory)).toEqual([])
  })

  it('measures round after round, each into empty files', async () => {
    const run = await LimitRun.open(small({ partitions: 300 }))
    try {
      for (const totalBytes of [1_000_000, 50_000, 500_000]) {
        const { fileBytesPerReplica } = await run.round(totalBytes)
        expect(fileBytesPerReplica).toBeGreaterThanOrEqual(totalBytes)
        expect(fileBytesPerReplica).toBeLessThan(totalBytes + 4096)
        expect(writtenBytes()).toBe(0)
      }
      await expect(run.round(1_000_001)).rejects.toThrow('totalBytes 1000001')
    } finally {
      await run.close()
    }
    expect(readdirSync(directory)).toEqual([])
  })

  /** Stopping must not take as long as writing all of it would. */
  const endless = 1_000_000_000_000

  it.each([
    ['before its directory is made', () => true],
    ['before its threads have their files', () => readdirSync(directory).length === 1],
    ['while it writes', () => writtenBytes() > 0],
  ])('stops when told to, with the reason, and leaves nothing behind: %s', async (_, due) => {
    const stop = new AbortController()
    const measured = measureLimit(small({ roundBytesMax: endless, signal: stop.signal }))
    const watch = setInterval(
      () => !stop.signal.aborted && due() && stop.abort(new Error('enough')),
      1,
    )
    await expect(measured).rejects.toThrow('enough')
    clearInterval(watch)
    expect(readdirSync(directory)).toEqual([])
  })

  function writtenBytes(): number {
    const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    return files
      .filter((name) => name.endsWith('.log'))
      .reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)
  }

  it('names a directory that is not there', async () => {
    const missing = join(directory, 'missing')
    await expect(measureLimit(small({ directory: missing }))).rejects.toThrow(missing)
  })

  it.each([
    ['replicas', { replicas: 0 }],
    ['partitions', { partitions: 1.5 }],
    ['batchBytes', { batchBytes: 100 }],
    ['roundBytesMax', { roundBytesMax: -1 }],
    ['recordBytes', { recordBytes: 5000 }],
  ])('refuses a number out of range: %s', async (name, changes) => {
    await expect(measureLimit(small(changes))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(name),
    })
  })
})
